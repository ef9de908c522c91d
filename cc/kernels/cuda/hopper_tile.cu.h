// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// A tile of sums by the tensor cores of a warpgroup, which read both operands
// from shared memory, where boxes of them arrive several steps ahead. For
// compute capability 9.0, and not run on it so far.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_HOPPER_TILE_CU_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_HOPPER_TILE_CU_H_

#include "cc/kernels/cuda/config.h"
#include "cc/kernels/cuda/hopper_device.cu.h"
#include "cc/kernels/cuda/shared_sums.cu.h"

namespace blocksparse {
namespace cuda {

// A box's first number: its place in a line, and its line.
struct BoxPlace {
  int32_t along;
  int32_t line;
};

// What a kernel is told, and the tensors it copies from.
template <typename Arguments_>
struct HopperArguments {
  using Arguments = Arguments_;

  TensorMap left;
  TensorMap right;
  Arguments arguments;
};

template <typename Config>
class HopperTile {
 public:
  using T = typename Config::Left;

 private:
  static constexpr int kStages = Config::kStages;
  static constexpr int kLeftBoxes = Config::kLeft / kBoxSide;
  static constexpr int kRightBoxes = Config::kRight / kBoxSide;
  static constexpr uint32_t kLeftBytes = kLeftBoxes * kBoxBytes;
  static constexpr uint32_t kStageBytes =
      StageBytes(Config::kLeft, Config::kRight);
  static_assert(Config::kThreads == 4 * 32, "a warpgroup");
  static_assert(SharedSums<Config>::kBytes <= kStages * kStageBytes,
                "sums take the place of the steps, not of the barriers");

 public:
  static constexpr size_t kSharedBytes =
      HopperSharedBytes(Config::kLeft, Config::kRight, kStages);

  // All of `steps`. A source (hopper_kernel.cu.h) finds a step, and says where
  // the boxes of its left and right operand begin.
  template <typename Source, typename Arguments>
  __device__ __forceinline__ void Accumulate(
      const Source& source, const HopperArguments<Arguments>& p, int steps) {
    const uint32_t stages =
        (SharedAddress(SharedMemory()) + kSwizzleBytes - 1) / kSwizzleBytes *
        kSwizzleBytes;
    const uint32_t barriers = stages + kStages * kStageBytes;
    // One thread has everything copied; of the last warp, as that is the one
    // that an emulator lets run ahead of what it should wait for.
    const bool copies = ThreadIndex() == Config::kThreads - 32;
    typename Source::Step next = {};
    Clear();
    if (copies) {
      for (int stage = 0; stage < kStages; ++stage) {
        InitBarrier(barriers + stage * kBarrierBytes, 1);
      }
      FenceBarriers();
      for (int step = 0; step < kStages && step < steps; ++step) {
        Copy(source, p, source.Find(step), stages + step * kStageBytes,
             barriers + step * kBarrierBytes);
      }
      if (kStages < steps) next = source.Find(kStages);
    }
    SyncThreads();
    int stage = 0;
    int parity = 0;
    for (int step = 0; step < steps; ++step) {
      WaitBarrier(barriers + stage * kBarrierBytes, parity);
      FenceMultiplies();
      Multiply(stages + stage * kStageBytes);
      CommitMultiplies();
      // The step before is multiplied, and after the barrier by every warp, so
      // that its stage can take another one. This step goes on meanwhile.
      WaitMultiplies<1>();
      SyncThreads();
      const int coming = step - 1 + kStages;
      if (copies && step > 0 && coming < steps) {
        const int free = stage == 0 ? kStages - 1 : stage - 1;
        Copy(source, p, next, stages + free * kStageBytes,
             barriers + free * kBarrierBytes);
        // Read now, so that nobody waits for it in the next turn.
        if (coming + 1 < steps) next = source.Find(coming + 1);
      }
      if (++stage == kStages) {
        stage = 0;
        parity ^= 1;
      }
    }
    WaitMultiplies<0>();
#pragma unroll
    for (int l = 0; l < kLeftBoxes; ++l) KeepSumsHere(sums_[l]);
    // What comes next may write shared memory.
    SyncThreads();
  }

  // Calls finish(left, right, sum) for each sum of the block, by threads in the
  // order that `finish` writes them.
  template <typename Finish>
  __device__ __forceinline__ void ForEach(const Finish& finish) const {
    // Each warp has 16 of every 64 to the left, in fragments as mma.sync has
    // them (PTX ISA, "WGMMA .m64nNk16 register fragment layout for accumulator
    // matrix D").
    const int warp = ThreadIndex() / 32;
#pragma unroll
    for (int l = 0; l < kLeftBoxes; ++l) {
#pragma unroll
      for (int r = 0; r < Config::kRight / 8; ++r) {
        SharedSums<Config>::PutTile(l * kBoxSide + warp * 16, r * 8, sums_[l],
                                    r * 4);
      }
    }
    SharedSums<Config>::ForEach(finish);
  }

 private:
  __device__ __forceinline__ void Clear() {
#pragma unroll
    for (int l = 0; l < kLeftBoxes; ++l) {
#pragma unroll
      for (int i = 0; i < Config::kRight / 2; ++i) sums_[l][i] = 0;
    }
  }

  template <typename Source, typename Arguments>
  static __device__ __forceinline__ void Copy(
      const Source& source, const HopperArguments<Arguments>& p,
      const typename Source::Step& step, uint32_t stage, uint32_t barrier) {
    ArriveExpecting(barrier, kStageBytes);
#pragma unroll
    for (int box = 0; box < kLeftBoxes; ++box) {
      const BoxPlace place = source.Left(step, box * kBoxSide);
      CopyBox(stage + box * kBoxBytes, p.left, place.along, place.line,
              barrier);
    }
#pragma unroll
    for (int box = 0; box < kRightBoxes; ++box) {
      const BoxPlace place = source.Right(step, box * kBoxSide);
      CopyBox(stage + kLeftBytes + box * kBoxBytes, p.right, place.along,
              place.line, barrier);
    }
  }

  __device__ __forceinline__ void Multiply(uint32_t stage) {
    constexpr bool kLeftAlong = Config::kLeftAlong;
    constexpr bool kRightAlong = Config::kRightAlong;
#pragma unroll
    for (int d = 0; d < Config::kDepth / 16; ++d) {
      const uint64_t right = MatrixDescriptor(
          stage + kLeftBytes + d * NextDepth(kRightAlong), kRightAlong);
#pragma unroll
      for (int l = 0; l < kLeftBoxes; ++l) {
        const uint64_t left = MatrixDescriptor(
            stage + l * kBoxBytes + d * NextDepth(kLeftAlong), kLeftAlong);
        StartMultiply<T, kLeftAlong, kRightAlong>(left, right, sums_[l]);
      }
    }
  }

  float sums_[kLeftBoxes][Config::kRight / 2];
};

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_HOPPER_TILE_CU_H_
