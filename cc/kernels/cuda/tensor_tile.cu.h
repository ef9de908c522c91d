// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// A tile of sums by tensor cores: operands arrive in shared memory by
// asynchronous copies, several steps ahead.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_TENSOR_TILE_CU_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_TENSOR_TILE_CU_H_

#include "cc/kernels/cuda/config.h"
#include "cc/kernels/cuda/fragments.cu.h"
#include "cc/kernels/cuda/shared_sums.cu.h"

namespace blocksparse {
namespace cuda {

template <typename Config>
class TensorTile {
 public:
  using T = typename Config::Left;
  using LeftStep =
      SharedStep<T, Config::kLeft, Config::kDepth, Config::kLeftAlong>;
  using RightStep =
      SharedStep<T, Config::kRight, Config::kDepth, Config::kRightAlong>;

 private:
  static constexpr int kStage = LeftStep::kElements + RightStep::kElements;
  static constexpr size_t kStagesBytes = sizeof(T) * Config::kStages * kStage;
  static constexpr size_t kSumsBytes = SharedSums<Config>::kBytes;

 public:
  static constexpr size_t kSharedBytes =
      kStagesBytes > kSumsBytes ? kStagesBytes : kSumsBytes;
  static_assert(kSharedBytes <= 48 * 1024, "what a block has unasked");

  // All of `depth` at once. Operands are as in matmul_kernel.cu.h.
  template <typename Left, typename Right>
  __device__ __forceinline__ void Accumulate(const Left& left,
                                             const Right& right, int depth) {
    T* shared = reinterpret_cast<T*>(SharedMemory());
    Clear();
    const int steps = (depth + Config::kDepth - 1) / Config::kDepth;
#pragma unroll
    for (int step = 0; step < Config::kStages - 1; ++step) {
      if (step < steps) Copy(left, right, step, shared);
      CommitCopies();
    }
    for (int step = 0; step < steps; ++step) {
      // This thread's part of the step has arrived, and by the barrier
      // everybody's. Who is past it no longer reads the step before, whose
      // stage is the next to be written.
      WaitCopies<Config::kStages - 2>();
      SyncThreads();
      const int next = step + Config::kStages - 1;
      if (next < steps) Copy(left, right, next, shared);
      CommitCopies();
      Multiply(shared + step % Config::kStages * kStage);
    }
    // What comes next may write shared memory.
    SyncThreads();
  }

  // Calls finish(left, right, sum) for each sum of the block, by threads in the
  // order that `finish` writes them.
  template <typename Finish>
  __device__ __forceinline__ void ForEach(const Finish& finish) const {
#pragma unroll
    for (int l = 0; l < kLeftTiles; ++l) {
#pragma unroll
      for (int r = 0; r < kRightTiles; ++r) {
        SharedSums<Config>::PutTile(FirstLeft() + l * 16, r * 8, sums_[l][r],
                                    0);
      }
    }
    SharedSums<Config>::ForEach(finish);
  }

 private:
  // The four warps lie along the left side.
  static constexpr int kLeftTiles = Config::kLeft / 4 / 16;
  static constexpr int kRightTiles = Config::kRight / 8;
  static_assert(Config::kThreads == 4 * 32, "four warps");

  static __device__ __forceinline__ int FirstLeft() {
    return ThreadIndex() / 32 * (Config::kLeft / 4);
  }

  __device__ __forceinline__ void Clear() {
#pragma unroll
    for (int l = 0; l < kLeftTiles; ++l) {
#pragma unroll
      for (int r = 0; r < kRightTiles; ++r) {
#pragma unroll
        for (int i = 0; i < 4; ++i) sums_[l][r][i] = 0;
      }
    }
  }

  template <typename Left, typename Right>
  static __device__ __forceinline__ void Copy(const Left& left,
                                              const Right& right, int step,
                                              T* shared) {
    T* stage = shared + step % Config::kStages * kStage;
    CopyOperand<LeftStep>(left, step, stage);
    CopyOperand<RightStep>(right, step, stage + LeftStep::kElements);
  }

  // Neighbouring threads take neighbouring pieces of a line.
  template <typename Step, typename Operand>
  static __device__ __forceinline__ void CopyOperand(const Operand& operand,
                                                     int step, T* stage) {
    constexpr int kPieces = Step::kSide * Step::kDepth / Step::kPiece;
    constexpr int kPiecesOfLine = Step::kLine / Step::kPiece;
// No more addresses at once than that: they take registers from the sums.
#pragma unroll 2
    for (int first = 0; first < kPieces; first += Config::kThreads) {
      const int piece = first + ThreadIndex();
      if (kPieces % Config::kThreads != 0 && piece >= kPieces) break;
      const int within = piece % kPiecesOfLine * Step::kPiece;
      const int line = piece / kPiecesOfLine;
      const int side = Step::kAlong ? line : within;
      const int depth = Step::kAlong ? within : line;
      float scale;
      const T* from = operand.At(step * Step::kDepth + depth, side, &scale);
      CopyAsync16(stage + Step::Place(side, depth),
                  from != nullptr ? from : operand.base(), from != nullptr);
    }
  }

  __device__ __forceinline__ void Multiply(const T* stage) {
    using LeftFragments = Fragments<LeftStep, T>;
    using RightFragments = Fragments<RightStep, T>;
#pragma unroll
    for (int d = 0; d < Config::kDepth; d += LeftFragments::kDepth) {
      uint32_t right[kRightTiles][2];
      RightFragments::LoadRight(stage + LeftStep::kElements, 0, d, right);
#pragma unroll
      for (int l = 0; l < kLeftTiles; ++l) {
        uint32_t left[4];
        LeftFragments::LoadLeft(stage, FirstLeft() + l * 16, d, left);
#pragma unroll
        for (int r = 0; r < kRightTiles; ++r) {
          MultiplyAdd<typename LeftFragments::Type>(left, right[r],
                                                    sums_[l][r]);
        }
      }
    }
  }

  float sums_[kLeftTiles][kRightTiles][4];
};

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_TENSOR_TILE_CU_H_
