// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// A tile of sums by multiply-adds, each thread a small rectangle of it.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_PLAIN_TILE_CU_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_PLAIN_TILE_CU_H_

#include "cc/kernels/cuda/config.h"
#include "cc/kernels/cuda/device.cu.h"

namespace blocksparse {
namespace cuda {

// One step of an operand, on its way from global to shared memory, where it
// becomes [depth][side], of the type of sums. It is widened when it is stored:
// so nobody waits for it while the step before is multiplied.
template <typename Config, typename Operand, int kSide>
class Step {
 public:
  using Sum = typename Config::Sum;
  using T = typename Operand::T;
  // Four numbers apart, lines of the tile begin in other banks, and at
  // multiples of 16 bytes.
  static constexpr int kPitch = kSide + 4;
  static constexpr int kElements = Config::kDepth * kPitch;

  __device__ __forceinline__ void Load(const Operand& operand, int step) {
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int vector = ThreadIndex() + e * Config::kThreads;
      int depth, side;
      if (!Find(operand, vector, &depth, &side)) continue;
      const T* from =
          operand.At(step * Config::kDepth + depth, side, &scales_[e]);
      if (from != nullptr) {
        LoadVector(from, values_[e]);
      } else {
#pragma unroll
        for (T& value : values_[e]) value = T{};
      }
    }
  }

  __device__ __forceinline__ void Store(const Operand& operand, Sum* tile) {
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int vector = ThreadIndex() + e * Config::kThreads;
      int depth, side;
      if (!Find(operand, vector, &depth, &side)) continue;
      const int pitch = operand.along() ? kPitch : 1;
#pragma unroll
      for (int i = 0; i < Config::kVector; ++i) {
        tile[depth * kPitch + side + i * pitch] =
            ToSum<Sum>(values_[e][i]) * scales_[e];
      }
    }
  }

 private:
  static constexpr int kVectors = Config::kDepth * kSide / Config::kVector;
  static constexpr int kEach =
      (kVectors + Config::kThreads - 1) / Config::kThreads;

  // Neighbouring threads take neighbours in memory.
  static __device__ __forceinline__ bool Find(const Operand& operand,
                                              int vector, int* depth,
                                              int* side) {
    const int line =
        (operand.along() ? Config::kDepth : kSide) / Config::kVector;
    const int within = vector % line * Config::kVector;
    *depth = operand.along() ? within : vector / line;
    *side = operand.along() ? vector / line : within;
    return kVectors % Config::kThreads == 0 || vector < kVectors;
  }

  T values_[kEach][Config::kVector];
  Sum scales_[kEach];
};

template <typename Config>
class PlainTile {
 public:
  using Sum = typename Config::Sum;

  static constexpr size_t kSharedBytes =
      sizeof(Sum) * Config::kStages * Config::kDepth *
      (Config::kLeft + 4 + Config::kRight + 4);

  // All of `depth` at once. Operands are as in matmul_kernel.cu.h.
  template <typename Left, typename Right>
  __device__ __forceinline__ void Accumulate(const Left& left,
                                             const Right& right, int depth) {
    using LeftStep = Step<Config, Left, Config::kLeft>;
    using RightStep = Step<Config, Right, Config::kRight>;
    constexpr int kStage = LeftStep::kElements + RightStep::kElements;
    Sum* shared = reinterpret_cast<Sum*>(SharedMemory());
    LeftStep left_step;
    RightStep right_step;
    Clear();
    const int steps = (depth + Config::kDepth - 1) / Config::kDepth;
    if (steps > 0) {
      left_step.Load(left, 0);
      right_step.Load(right, 0);
    }
    for (int step = 0; step < steps; ++step) {
      Sum* left_tile = shared + step % 2 * kStage;
      Sum* right_tile = left_tile + LeftStep::kElements;
      left_step.Store(left, left_tile);
      right_step.Store(right, right_tile);
      // One barrier does: who is past it no longer reads the other stage, which
      // is written next.
      SyncThreads();
      if (step + 1 < steps) {
        left_step.Load(left, step + 1);
        right_step.Load(right, step + 1);
      }
      Multiply(left_tile, LeftStep::kPitch, right_tile, RightStep::kPitch);
    }
  }

  // Calls finish(left, right, sum) for each sum of this thread.
  template <typename Finish>
  __device__ __forceinline__ void ForEach(const Finish& finish) const {
#pragma unroll
    for (int l = 0; l < kLeftEach; ++l) {
#pragma unroll
      for (int r = 0; r < kRightEach; ++r) {
        finish(FirstLeft() + l, FirstRight() + r, sums_[l][r]);
      }
    }
  }

 private:
  // 16 threads along the left side, 8 along the right one, neighbours in a row
  // of x.
  static constexpr int kLeftEach = Config::kLeft / 16;
  static constexpr int kRightEach = Config::kRight / 8;
  static_assert(Config::kThreads == 16 * 8, "the threads' grid");

  static __device__ __forceinline__ int FirstLeft() {
    return ThreadIndex() / 8 * kLeftEach;
  }
  static __device__ __forceinline__ int FirstRight() {
    return ThreadIndex() % 8 * kRightEach;
  }

  __device__ __forceinline__ void Clear() {
#pragma unroll
    for (int l = 0; l < kLeftEach; ++l) {
#pragma unroll
      for (int r = 0; r < kRightEach; ++r) sums_[l][r] = 0;
    }
  }

  // Neighbouring numbers of shared memory, 16 bytes at once.
  template <int kCount>
  static __device__ __forceinline__ void LoadSide(const Sum* from,
                                                  Sum (&to)[kCount]) {
    constexpr int kAtOnce = 16 / static_cast<int>(sizeof(Sum));
    constexpr int kPiece = kCount < kAtOnce ? kCount : kAtOnce;
#pragma unroll
    for (int i = 0; i < kCount; i += kPiece) {
      Sum piece[kPiece];
      LoadVector(from + i, piece);
#pragma unroll
      for (int j = 0; j < kPiece; ++j) to[i + j] = piece[j];
    }
  }

  __device__ __forceinline__ void Multiply(const Sum* left, int left_pitch,
                                           const Sum* right, int right_pitch) {
#pragma unroll
    for (int d = 0; d < Config::kDepth; ++d) {
      Sum lefts[kLeftEach];
      Sum rights[kRightEach];
      LoadSide(left + d * left_pitch + FirstLeft(), lefts);
      LoadSide(right + d * right_pitch + FirstRight(), rights);
#pragma unroll
      for (int l = 0; l < kLeftEach; ++l) {
#pragma unroll
        for (int r = 0; r < kRightEach; ++r) {
          sums_[l][r] += lefts[l] * rights[r];
        }
      }
    }
  }

  Sum sums_[kLeftEach][kRightEach];
};

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_PLAIN_TILE_CU_H_
