// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Both products by HopperTile: which boxes a step is made of. Work is cut, and
// sums are finished, as in matmul_kernel.cu.h and sampled_matmul_kernel.cu.h.
// Blocks are multiples of 64 x 64, so a box never has parts of two.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_HOPPER_KERNEL_CU_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_HOPPER_KERNEL_CU_H_

#include "cc/kernels/cuda/hopper_tile.cu.h"
#include "cc/kernels/cuda/matmul_kernel.cu.h"
#include "cc/kernels/cuda/sampled_matmul_kernel.cu.h"

namespace blocksparse {
namespace cuda {

// A box of a dense operand from a row and a feature on.
__device__ __forceinline__ BoxPlace DensePlace(int32_t row, int32_t feature,
                                               bool features_first) {
  return features_first ? BoxPlace{row, feature} : BoxPlace{feature, row};
}

// x, and the blocks of a target. Their depth are features of x, as many as the
// blocks have: there must be none beyond the last feature.
struct HopperMatmulSource {
  const MatmulArguments& p;
  const MatmulTask& task;
  int32_t first_row;

  struct Step {
    int32_t feature;
    int32_t block;   // which of `blocks`
    int32_t within;  // its place in the block
  };

  // Of a block that a mask closes there are zeros, as beyond the last feature
  // and the last block.
  __device__ __forceinline__ Step Find(int step) const {
    const int32_t depth = step * kBoxSide;
    const int32_t entry = task.begin + Divide(depth, p.source_block);
    const int32_t within = depth - (entry - task.begin) * p.source_block.value;
    const int32_t block = p.block_id == nullptr ? entry : p.block_id[entry];
    if (p.gate != nullptr && p.gate[block] == 0) {
      return {static_cast<int32_t>(p.source_features),
              static_cast<int32_t>(p.nnz), within};
    }
    return {p.index[entry] * p.source_block.value + within, block, within};
  }

  __device__ __forceinline__ BoxPlace Left(const Step& step, int side) const {
    return DensePlace(first_row + side, step.feature, p.features_first);
  }

  __device__ __forceinline__ BoxPlace Right(const Step& step, int side) const {
    const int32_t target = task.offset + side;
    return p.transpose
               ? BoxPlace{step.within, step.block * p.target_block + target}
               : BoxPlace{target,
                          step.block * p.source_block.value + step.within};
  }
};

// a and b. Their depth are the rows of a pass: as many as make whole steps, or
// there are none left.
struct HopperSampledSource {
  const SampledMatmulArguments& p;
  const SampledTask& task;
  const Pass& pass;

  struct Step {
    int32_t row;
  };

  __device__ __forceinline__ Step Find(int step) const {
    return {static_cast<int32_t>(pass.begin) + step * kBoxSide};
  }

  // Beyond the last block there are zeros, as beyond the last input.
  __device__ __forceinline__ BoxPlace Left(const Step& step, int side) const {
    const int32_t input = task.first + side;
    const int32_t entry = task.begin + Divide(input, p.block_inputs);
    const int32_t feature =
        entry < task.end
            ? (p.index[entry] - (entry - task.begin)) * p.block_inputs.value +
                  input
            : static_cast<int32_t>(p.inputs);
    return DensePlace(step.row, feature, p.features_first);
  }

  __device__ __forceinline__ BoxPlace Right(const Step& step, int side) const {
    return DensePlace(step.row,
                      task.target * p.block_outputs + task.offset + side,
                      p.features_first);
  }
};

template <typename Config>
__global__ void __launch_bounds__(Config::kThreads, Config::kBlocksTogether)
    HopperMatmulTiles(
        const __grid_constant__ HopperArguments<MatmulArguments> p) {
  const MatmulArguments& arguments = p.arguments;
  const TilePlace place(arguments);
  const MatmulTask task = arguments.tasks[place.task];
  const int32_t first_row = place.row_tile * Config::kLeft;
  HopperTile<Config> tile;
  tile.Accumulate(
      HopperMatmulSource{arguments, task, first_row}, p,
      (task.end - task.begin) * arguments.source_block.value / kBoxSide);
  FinishTask<Config>(&tile, arguments, task, place.row_tile,
                     MatmulRows{arguments, first_row});
}

template <typename Config>
__global__ void __launch_bounds__(Config::kThreads, Config::kBlocksTogether)
    HopperSampledMatmulTiles(
        const __grid_constant__ HopperArguments<SampledMatmulArguments> p) {
  const SampledMatmulArguments& arguments = p.arguments;
  const SampledTask task = arguments.tasks[BlockIndex() % arguments.task_count];
  const Pass pass(arguments, BlockIndex() / arguments.task_count);
  HopperTile<Config> tile;
  tile.Accumulate(
      HopperSampledSource{arguments, task, pass}, p,
      static_cast<int>((pass.end - pass.begin + kBoxSide - 1) / kBoxSide));
  FinishPass<Config, SampledFinish<typename Config::Left, float>>(
      &tile, arguments, task);
}

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_HOPPER_KERNEL_CU_H_
