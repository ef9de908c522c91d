// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// `sampled_matmul` for one kind of operands and one tile.
//
// A tile is of kLeft inputs and kRight outputs of one output block. Its inputs
// are those of the output block's entries, counted one after the other: several
// small blocks, or a part of a large one. Its depth are the rows of a pass.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_SAMPLED_MATMUL_KERNEL_CU_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_SAMPLED_MATMUL_KERNEL_CU_H_

#include "cc/kernels/cuda/arguments.h"
#include "cc/kernels/cuda/config.h"
#include "cc/kernels/cuda/device.cu.h"
#include "cc/kernels/cuda/tile.cu.h"

namespace blocksparse {
namespace cuda {

// Rows of a pass.
struct Pass {
  int64_t begin;
  int64_t end;

  template <typename Arguments>
  __device__ __forceinline__ Pass(const Arguments& p, int32_t pass) {
    begin = pass * p.pass_rows;
    end = begin + p.pass_rows < p.rows ? begin + p.pass_rows : p.rows;
  }
};

// Sums of a task and a pass on their way, from a tile that has them all.
template <typename Config, typename Finish, typename Tile, typename Arguments>
__device__ __forceinline__ void FinishPass(Tile* tile, const Arguments& p,
                                           const SampledTask& task) {
  using Sum = typename Config::Sum;
  Sum* parts = nullptr;
  if (p.parts != nullptr) {
    parts = static_cast<Sum*>(p.parts) +
            int64_t{BlockIndex()} * Config::kLeft * Config::kRight;
  }
  tile->ForEach(Finish{p, task, parts, Config::kRight});
}

// Adds up the passes of each tile, the first one first.
template <typename Config, typename Finish, typename Arguments>
__device__ __forceinline__ void JoinPasses(const Arguments& p) {
  using Sum = typename Config::Sum;
  constexpr int64_t kTile = Config::kLeft * Config::kRight;
  const SampledTask task = p.tasks[BlockIndex()];
  JoinParts<Config>(static_cast<const Sum*>(p.parts) + BlockIndex() * kTile,
                    p.passes, p.task_count * kTile,
                    Finish{p, task, nullptr, Config::kRight});
}

// a: [row, input].
template <typename T_>
struct SampledLeft {
  using T = T_;

  const SampledMatmulArguments& p;
  const SampledTask& task;
  const Pass& pass;

  __device__ __forceinline__ const T* base() const {
    return static_cast<const T*>(p.a);
  }
  __device__ __forceinline__ bool along() const { return p.features_first; }
  template <typename Sum>
  __device__ __forceinline__ const T* At(int depth, int side,
                                         Sum* scale) const {
    *scale = 1;
    const int64_t row = pass.begin + depth;
    const int32_t input = task.first + side;
    const int32_t entry = task.begin + Divide(input, p.block_inputs);
    if (row >= pass.end || entry >= task.end) return nullptr;
    const int32_t within = input - (entry - task.begin) * p.block_inputs.value;
    const int64_t feature =
        int64_t{p.index[entry]} * p.block_inputs.value + within;
    if (feature >= p.inputs) return nullptr;
    return base() + (p.features_first ? feature * p.rows + row
                                      : row * p.inputs + feature);
  }
};

// b: [row, output].
template <typename T_>
struct SampledRight {
  using T = T_;

  const SampledMatmulArguments& p;
  const SampledTask& task;
  const Pass& pass;

  __device__ __forceinline__ const T* base() const {
    return static_cast<const T*>(p.b);
  }
  __device__ __forceinline__ bool along() const { return p.features_first; }
  template <typename Sum>
  __device__ __forceinline__ const T* At(int depth, int side,
                                         Sum* scale) const {
    *scale = 1;
    const int64_t row = pass.begin + depth;
    const int32_t within = task.offset + side;
    const int64_t feature = int64_t{task.target} * p.block_outputs + within;
    if (row >= pass.end || within >= p.block_outputs || feature >= p.outputs) {
      return nullptr;
    }
    return base() + (p.features_first ? feature * p.rows + row
                                      : row * p.outputs + feature);
  }
};

// Sums on their way to the blocks, or to the parts that are added up later.
template <typename T, typename Sum>
struct SampledFinish {
  const SampledMatmulArguments& p;
  const SampledTask& task;
  Sum* parts;  // of this tile, or null
  int32_t right_size;

  __device__ __forceinline__ bool left_first() const { return false; }

  __device__ __forceinline__ void operator()(int left, int right,
                                             Sum sum) const {
    if (parts != nullptr) {
      parts[left * right_size + right] = sum;
      return;
    }
    const int32_t input = task.first + left;
    const int32_t entry = task.begin + Divide(input, p.block_inputs);
    const int32_t column = task.offset + right;
    if (entry >= task.end || column >= p.block_outputs) return;
    const int32_t row = input - (entry - task.begin) * p.block_inputs.value;
    const Sum gate = p.gate == nullptr ? 1 : p.gate[entry];
    // What a closed gate hides, or lies beyond the edge, is 0 whatever the sum.
    const bool counts =
        gate != 0 &&
        int64_t{p.index[entry]} * p.block_inputs.value + row < p.inputs &&
        int64_t{task.target} * p.block_outputs + column < p.outputs;
    const int64_t at =
        (int64_t{entry} * p.block_inputs.value + row) * p.block_outputs +
        column;
    static_cast<T*>(p.blocks)[at] = FromSum<T>(counts ? gate * sum : Sum(0));
  }
};

template <typename Config, typename Blocks>
__global__ void __launch_bounds__(Config::kThreads, Config::kBlocksTogether)
    SampledMatmulTiles(const SampledMatmulArguments p) {
  const SampledTask task = p.tasks[BlockIndex() % p.task_count];
  const Pass pass(p, BlockIndex() / p.task_count);
  Tile<Config> tile;
  tile.Accumulate(SampledLeft<typename Config::Left>{p, task, pass},
                  SampledRight<typename Config::Right>{p, task, pass},
                  static_cast<int>(pass.end - pass.begin));
  FinishPass<Config, SampledFinish<Blocks, typename Config::Sum>>(&tile, p,
                                                                  task);
}

template <typename Config, typename Blocks>
__global__ void __launch_bounds__(Config::kThreads)
    JoinSampledMatmulPasses(const SampledMatmulArguments p) {
  JoinPasses<Config, SampledFinish<Blocks, typename Config::Sum>>(p);
}

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_SAMPLED_MATMUL_KERNEL_CU_H_
