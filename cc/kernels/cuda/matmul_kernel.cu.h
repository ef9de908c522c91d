// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// `matmul` for one kind of operands and one tile: which numbers a tile is made
// of, and where its sums go.
//
// A tile is of kLeft rows and kRight outputs of one target block. Its depth are
// the features of x that the target's blocks read: those of the task's first
// entry, then those of the second, and so on. So blocks of any size, on either
// side, fill the same steps.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_MATMUL_KERNEL_CU_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_MATMUL_KERNEL_CU_H_

#include "cc/kernels/cuda/arguments.h"
#include "cc/kernels/cuda/config.h"
#include "cc/kernels/cuda/device.cu.h"
#include "cc/kernels/cuda/output.cu.h"
#include "cc/kernels/cuda/tile.cu.h"

namespace blocksparse {
namespace cuda {

// What is at a depth of a task.
struct Source {
  using Arguments = MatmulArguments;
  using Task = MatmulTask;

  int64_t block;    // which of `blocks`
  int64_t feature;  // of x
  int32_t within;   // its place in the block
  float gate;

  // Whether there is anything. A block that a gate of 0 closes is not read,
  // and neither is what lies beyond the last feature.
  __device__ __forceinline__ bool Find(const MatmulArguments& p,
                                       const MatmulTask& task, int depth) {
    const int32_t entry = task.begin + Divide(depth, p.source_block);
    if (entry >= task.end) return false;
    within = depth - (entry - task.begin) * p.source_block.value;
    feature = int64_t{p.index[entry]} * p.source_block.value + within;
    block = p.block_id == nullptr ? entry : p.block_id[entry];
    gate = p.gate == nullptr ? 1 : p.gate[block];
    return feature < p.source_features && gate != 0;
  }
};

// x: [depth, row].
template <typename T_>
struct MatmulLeft {
  using T = T_;

  const MatmulArguments& p;
  const MatmulTask& task;
  int64_t first_row;

  __device__ __forceinline__ const T* base() const {
    return static_cast<const T*>(p.x);
  }
  // Whether memory goes on along the depth.
  __device__ __forceinline__ bool along() const { return !p.features_first; }
  // Where a number is, or null where there is none; what to multiply it by.
  template <typename Sum>
  __device__ __forceinline__ const T* At(int depth, int side,
                                         Sum* scale) const {
    *scale = 1;
    const int64_t row = first_row + side;
    Source source;
    if (row >= p.rows || !source.Find(p, task, depth)) return nullptr;
    return base() + (p.features_first
                         ? source.feature * p.rows + row
                         : row * p.source_features + source.feature);
  }
};

// Where rows are in y.
struct MatmulRows {
  using Arguments = MatmulArguments;

  const MatmulArguments& p;
  int64_t first_row;

  __device__ __forceinline__ bool features_first() const {
    return p.features_first;
  }
  // The place of a feature of a tile's row; -1 if there is no such row.
  __device__ __forceinline__ int64_t At(int left, int64_t feature) const {
    const int64_t row = first_row + left;
    if (row >= p.rows) return -1;
    return p.features_first ? feature * p.rows + row
                            : row * p.target_features + feature;
  }
};

template <typename Config>
__global__ void __launch_bounds__(Config::kThreads, Config::kBlocksTogether)
    MatmulTiles(const MatmulArguments p) {
  const TilePlace place(p);
  const MatmulTask task = p.tasks[place.task];
  const int64_t first_row = int64_t{place.row_tile} * Config::kLeft;
  Tile<Config> tile;
  tile.Accumulate(MatmulLeft<typename Config::Left>{p, task, first_row},
                  BlocksRight<typename Config::Right, Source>{p, task},
                  (task.end - task.begin) * p.source_block.value);
  FinishTask<Config>(&tile, p, task, place.row_tile, MatmulRows{p, first_row});
}

// Adds up the parts of split tiles, the first one first: a block of threads for
// each of them.
template <typename Config>
__global__ void __launch_bounds__(Config::kThreads)
    JoinMatmulParts(const MatmulArguments p) {
  const int32_t row_tile = BlockIndex() % p.row_tiles;
  JoinSplit<Config>(p, p.splits[BlockIndex() / p.row_tiles], row_tile,
                    MatmulRows{p, int64_t{row_tile} * Config::kLeft});
}

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_MATMUL_KERNEL_CU_H_
