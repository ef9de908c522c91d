// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The emulator's part for GPUs of compute capability 9.0: boxes of tensors,
// barriers that count their bytes, and products of a warpgroup, under the names
// of cc/kernels/cuda/hopper_device.cu.h.
//
// It follows the PTX ISA's words and tables, not a GPU: they are what is tested
// by it. Boxes arrive, and products are made, at once in Order::kAhead; in
// Order::kTogether when they are waited for.
#ifndef TF_BLOCKSPARSE_CC_TESTING_CUDA_HOPPER_H_
#define TF_BLOCKSPARSE_CC_TESTING_CUDA_HOPPER_H_

#include <cstdint>
#include <string>

#include "cc/base/dtype.h"
#include "cc/testing/cuda_emulator.h"

#define __grid_constant__

namespace blocksparse {
namespace cuda {

// What the driver makes of a view of a matrix of 16-bit numbers.
struct TensorMap {
  const void* base;
  int64_t lines;
  int64_t length;
};

}  // namespace cuda

namespace emulator {

// What a matrix descriptor says (PTX ISA 9.0, "Matrix Descriptor Format"), in
// bytes.
struct MatrixDescription {
  uint32_t address;
  uint32_t leading;
  uint32_t stride;
  int base_offset;
  int swizzle;  // 1: 128 bytes
};
MatrixDescription DescriptionOf(uint64_t descriptor);

// Where a swizzle of 128 bytes puts what is at an address ("Swizzle<3, 4, 3>":
// 3 bits from bit 4 on are crossed with those 3 higher).
uint32_t SwizzledAddress(uint32_t address);

// The address of element (side, depth) of 16 bits, by the canonical layouts of
// 128-byte swizzling ("Strides"), where T is 8 elements:
//   K-major:  Swizzle<3,4,3> o ((8,m),(T,2k)):((8T,SBO),(1,T))
//   MN-major: Swizzle<3,4,3> o ((T,8,m),(8,k)):((1,T,LBO),(8T,SBO))
uint32_t AddressOf(const MatrixDescription& matrix, bool k_major, int side,
                   int depth);

void InitBarrier(uint32_t barrier, int arrivals);
void ArriveExpecting(uint32_t barrier, uint32_t bytes);
void WaitBarrier(uint32_t barrier, int parity);
void StartBox(uint32_t shared, const cuda::TensorMap& map, int32_t along,
              int32_t line, uint32_t barrier);

// A warp's part of wgmma.mma_async.m64nNk16: 16 x right x 16.
struct GroupOperand {
  uint64_t left;
  uint64_t right;
  float* sums;
  int sides;  // to the right
  bool left_k_major;
  bool right_k_major;
};
template <typename T>
void StartMultiply(void* const (&operands)[32]);
void CommitMultiplies(void* const (&operands)[32]);
template <int kPending>
void WaitMultiplies(void* const (&operands)[32]);

}  // namespace emulator

namespace cuda {

inline void InitBarrier(uint32_t barrier, int arrivals) {
  emulator::InitBarrier(barrier, arrivals);
}
inline void FenceBarriers() {}
inline void ArriveExpecting(uint32_t barrier, uint32_t bytes) {
  emulator::ArriveExpecting(barrier, bytes);
}
inline void WaitBarrier(uint32_t barrier, int parity,
                        const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
  if (!emulator::IsRemoved("WaitBarrier", file, line)) {
    emulator::WaitBarrier(barrier, parity);
  }
}
inline void CopyBox(uint32_t shared, const TensorMap& map, int32_t along,
                    int32_t line, uint32_t barrier) {
  emulator::StartBox(shared, map, along, line, barrier);
}

inline void FenceMultiplies() {}
template <int kCount>
inline void KeepSumsHere(float (&)[kCount]) {}
template <typename T, bool kLeftAlong, bool kRightAlong, int kCount>
inline void StartMultiply(uint64_t left, uint64_t right,
                          float (&sums)[kCount]) {
  emulator::GroupOperand operand = {left,       right,      sums,
                                    2 * kCount, kLeftAlong, kRightAlong};
  emulator::WaitForWarp(emulator::StartMultiply<T>, &operand);
}
inline void CommitMultiplies() {
  emulator::WaitForWarp(emulator::CommitMultiplies, nullptr);
}
template <int kPending>
inline void WaitMultiplies(const char* file = __builtin_FILE(),
                           int line = __builtin_LINE()) {
  if (!emulator::IsRemoved("WaitMultiplies", file, line)) {
    emulator::WaitForWarp(emulator::WaitMultiplies<kPending>, nullptr);
  }
}

// Refuses what cuTensorMapEncodeTiled refuses.
template <typename View>
inline std::string MakeTensorMap(const View& view, TensorMap* map) {
  constexpr int64_t kMost = int64_t{1} << 32;
  if (reinterpret_cast<uintptr_t>(view.base) % 16 != 0 || view.lines < 1 ||
      view.lines > kMost || view.length < 1 || view.length > kMost ||
      view.length % 8 != 0) {
    return "there is no tensor map of such a matrix";
  }
  *map = {view.base, view.lines, view.length};
  return std::string();
}

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TESTING_CUDA_HOPPER_H_
