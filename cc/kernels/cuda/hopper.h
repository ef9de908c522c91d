// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What the kernels for compute capability 9.0 agree on with its hardware, in
// plain numbers, for hosts and devices: boxes, swizzle, matrix descriptors,
// and the tensors that boxes are cut from.
//
// Source: PTX ISA 9.0, 5.5 "Tensors" and 9.7.15.5 "Asynchronous wgmma
// instructions using wgmma.mma_async", with its tables of canonical layouts;
// the CUDA driver API's cuTensorMapEncodeTiled.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_HOPPER_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_HOPPER_H_

#include <cstddef>
#include <cstdint>

#include "cc/kernels/cuda/arguments.h"

#ifdef __CUDACC__
#define BLOCKSPARSE_HOST_DEVICE __host__ __device__
#else
#define BLOCKSPARSE_HOST_DEVICE
#endif

namespace blocksparse {
namespace cuda {

// Operands move in boxes of 64 lines of 64 numbers of 16 bits. A line is as
// long as the widest swizzle, and a box holds 64 places of a side by a step's
// depth, whichever of the two its lines go along.
constexpr int32_t kBoxSide = 64;
constexpr int32_t kBoxLineBytes = 128;
constexpr int32_t kBoxBytes = kBoxSide * kBoxLineBytes;

// The pattern of the swizzle: 8 lines. Boxes begin at multiples of it, or the
// pattern of what is copied would not be that of what is multiplied.
constexpr uint32_t kSwizzleBytes = 8 * kBoxLineBytes;

// The swizzle of 128 bytes: 16-byte piece i of line j is where piece (i xor
// j % 8) would be. Of an address: bits 4 to 6 are crossed with bits 7 to 9.
BLOCKSPARSE_HOST_DEVICE inline uint32_t Swizzled(uint32_t address) {
  return address ^ ((address >> 7 & 7) << 4);
}

// Bits of a matrix descriptor: 0-13 the address, 16-29 the leading and 32-45
// the stride dimension's byte offset, each without its low 4 bits of 18; 62-63
// the swizzle, of which 1 is that of 128 bytes. The base offset, bits 49-51, is
// 0 for patterns that begin at multiples of their size.
//
// With boxes one after the other, 8 lines are kSwizzleBytes from the next 8:
// the stride, whether lines are places of the side and go along the depth
// ("K-major"), or the other way round ("MN-major"). The latter have a second
// offset, from 64 places of the side to the next 64, which is a box; of the
// former it is not used, "assumed to be 1".
BLOCKSPARSE_HOST_DEVICE inline uint64_t MatrixDescriptor(uint32_t address,
                                                         bool along) {
  const uint64_t leading = along ? 1 : kBoxBytes >> 4;
  return uint64_t{(address & 0x3ffff) >> 4} | leading << 16 |
         uint64_t{kSwizzleBytes >> 4} << 32 | uint64_t{1} << 62;
}

// A step of both operands, in boxes one after the other.
constexpr uint32_t StageBytes(int left, int right) {
  return static_cast<uint32_t>((left + right) / kBoxSide * kBoxBytes);
}

// All steps at once, a barrier for each, and what aligning them may cost of
// memory that begins at a multiple of 128 bytes.
constexpr uint32_t kBarrierBytes = 8;
constexpr size_t HopperSharedBytes(int left, int right, int stages) {
  return kSwizzleBytes - 128 + stages * StageBytes(left, right) +
         (stages * kBarrierBytes + 15) / 16 * 16;
}

// How many bytes further the next 16 of the depth are, an instruction's: along
// a line, or 16 lines on.
BLOCKSPARSE_HOST_DEVICE inline uint32_t NextDepth(bool along) {
  return along ? 32 : 16 * kBoxLineBytes;
}

// A matrix in global memory, its numbers of 16 bits one after the other.
struct TensorView {
  const void* base;  // at a multiple of 16 bytes
  bool bfloat16;     // else float16
  int64_t lines;
  int64_t length;  // of a line, a multiple of 8
};

// The operands of a product: first the left one, then the right one.
struct TensorViews {
  TensorView left;
  TensorView right;
};

// A limit of coordinates, which are int32.
constexpr int64_t kMostCoordinates = int64_t{1} << 31;

inline TensorView DenseView(const void* base, bool bfloat16, int64_t rows,
                            int64_t features, bool features_first) {
  return features_first ? TensorView{base, bfloat16, features, rows}
                        : TensorView{base, bfloat16, rows, features};
}

// x, and all blocks below each other.
inline TensorViews ViewsOf(const MatmulArguments& p, bool bfloat16) {
  const int64_t block_inputs =
      p.transpose ? p.target_block : p.source_block.value;
  return {DenseView(p.x, bfloat16, p.rows, p.source_features, p.features_first),
          {p.blocks, bfloat16, p.nnz * block_inputs, p.block_outputs}};
}

// a and b.
inline TensorViews ViewsOf(const SampledMatmulArguments& p, bool bfloat16) {
  return {DenseView(p.a, bfloat16, p.rows, p.inputs, p.features_first),
          DenseView(p.b, bfloat16, p.rows, p.outputs, p.features_first)};
}

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_HOPPER_H_
