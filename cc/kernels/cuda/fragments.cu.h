// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Operands in shared memory as tensor cores want them, and what a warp loads
// of them for mma.sync: its fragments, of 16 places of the left or 8 of the
// right side. Which lane holds what is in cc/testing/cuda_fragments.h.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_FRAGMENTS_CU_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_FRAGMENTS_CU_H_

#include "cc/kernels/cuda/device.cu.h"

namespace blocksparse {
namespace cuda {

// A step of an operand: [side][depth] if memory goes on along the depth, else
// [depth][side].
template <typename T, int kSide_, int kDepth_, bool kAlong_>
struct SharedStep {
  static constexpr int kSide = kSide_;
  static constexpr int kDepth = kDepth_;
  static constexpr bool kAlong = kAlong_;
  static constexpr int kLine = kAlong ? kDepth : kSide;
  static constexpr int kPiece = 16 / static_cast<int>(sizeof(T));  // of a copy

  // Numbers from one line to the next, so that what a warp reads at once lies
  // in different banks. ldmatrix reads 16 bytes of 8 lines: those of 16 bytes
  // are as they should be, longer ones need a gap of as many. 32-bit numbers
  // are read 4 of 8 lines along the depth, which needs the same, and 8 of 4
  // lines else, which needs one of 32 bytes unless lines are as long.
  static constexpr bool kWide = sizeof(T) == 4 && !kAlong;
  static constexpr int kRead = kWide ? 2 * kPiece : kPiece;
  static constexpr int kPitch = kLine == kRead ? kLine : kLine + kRead;
  static constexpr int kElements = (kAlong ? kSide : kDepth) * kPitch;

  static __device__ __forceinline__ int Place(int side, int depth) {
    return kAlong ? side * kPitch + depth : depth * kPitch + side;
  }
};

// 16-bit numbers.
template <typename Step, typename T>
struct Fragments {
  // The depth of one instruction, and the type that it is named by.
  static constexpr int kDepth = 16;
  using Type = T;

  static __device__ __forceinline__ void LoadLeft(const T* step, int side,
                                                  int depth,
                                                  uint32_t (&fragments)[4]) {
    // 8 sides, the next 8, and both again 8 deeper.
    const int matrix = ThreadIndex() % 32 / 8;
    Load(step, side + matrix % 2 * 8, depth + matrix / 2 * 8, fragments);
  }

  // Of kTiles times 8 sides.
  template <int kTiles>
  static __device__ __forceinline__ void LoadRight(
      const T* step, int side, int depth, uint32_t (&fragments)[kTiles][2]) {
    // 8 sides, the same 8 deeper, and both again for the next 8.
    const int matrix = ThreadIndex() % 32 / 8;
    if constexpr (kTiles == 1) {
      Load(step, side, depth + matrix % 2 * 8, fragments[0]);
    } else {
#pragma unroll
      for (int tile = 0; tile < kTiles; tile += 2) {
        uint32_t four[4];
        Load(step, side + (tile + matrix / 2) * 8, depth + matrix % 2 * 8,
             four);
#pragma unroll
        for (int i = 0; i < 4; ++i) fragments[tile + i / 2][i % 2] = four[i];
      }
    }
  }

 private:
  // Each lane names a line of a matrix. What is loaded goes on along the depth,
  // so a matrix that does not is transposed on the way.
  template <int kCount>
  static __device__ __forceinline__ void Load(const T* step, int side,
                                              int depth,
                                              uint32_t (&fragments)[kCount]) {
    const int line = ThreadIndex() % 8;
    const int place = Step::kAlong ? Step::Place(side + line, depth)
                                   : Step::Place(side, depth + line);
    LoadMatrices<kCount, !Step::kAlong>(step + place, fragments);
  }
};

// float32, rounded to TF32. ldmatrix moves 16-bit numbers, so it is no use for
// lines along the side; these loads do for both.
template <typename Step>
struct Fragments<Step, float> {
  static constexpr int kDepth = 8;
  using Type = Tf32;

  static __device__ __forceinline__ void LoadLeft(const float* step, int side,
                                                  int depth,
                                                  uint32_t (&fragments)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      fragments[i] = Load(step, side + i % 2 * 8, depth + i / 2 * 4);
    }
  }

  template <int kTiles>
  static __device__ __forceinline__ void LoadRight(
      const float* step, int side, int depth,
      uint32_t (&fragments)[kTiles][2]) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        fragments[tile][i] = Load(step, side + tile * 8, depth + i * 4);
      }
    }
  }

 private:
  static __device__ __forceinline__ uint32_t Load(const float* step, int side,
                                                  int depth) {
    const int lane = ThreadIndex() % 32;
    return ToTf32(step[Step::Place(side + lane / 4, depth + lane % 4)]);
  }
};

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_FRAGMENTS_CU_H_
