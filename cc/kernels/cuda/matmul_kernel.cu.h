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

#include "cc/kernels/cuda/activation.cu.h"
#include "cc/kernels/cuda/arguments.h"
#include "cc/kernels/cuda/config.h"
#include "cc/kernels/cuda/device.cu.h"
#include "cc/kernels/cuda/tile.cu.h"

namespace blocksparse {
namespace cuda {

// What is at a depth of a task.
struct Source {
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

// The blocks of a target: [depth, output].
template <typename T_>
struct MatmulRight {
  using T = T_;

  const MatmulArguments& p;
  const MatmulTask& task;

  __device__ __forceinline__ const T* base() const {
    return static_cast<const T*>(p.blocks);
  }
  __device__ __forceinline__ bool along() const { return p.transpose; }
  template <typename Sum>
  __device__ __forceinline__ const T* At(int depth, int side,
                                         Sum* scale) const {
    *scale = 1;
    const int32_t target = task.offset + side;
    Source source;
    if (target >= p.target_block || !source.Find(p, task, depth)) {
      return nullptr;
    }
    *scale = source.gate;
    const int32_t row = p.transpose ? target : source.within;
    const int32_t column = p.transpose ? source.within : target;
    const int64_t size = int64_t{p.source_block.value} * p.target_block;
    return base() + source.block * size + row * p.block_outputs + column;
  }
};

// Sums on their way to y, or to the parts that are added up later.
template <typename T, typename Sum>
struct MatmulFinish {
  const MatmulArguments& p;
  int64_t first_row;
  int64_t target;  // block
  int32_t offset;
  Sum* parts;  // of this tile, or null
  int32_t right_size;

  // Whether neighbours along the left side are neighbours in memory.
  __device__ __forceinline__ bool left_first() const {
    return parts == nullptr && p.features_first;
  }

  __device__ __forceinline__ void operator()(int left, int right,
                                             Sum sum) const {
    if (parts != nullptr) {
      parts[left * right_size + right] = sum;
      return;
    }
    const int64_t row = first_row + left;
    const int64_t feature = target * p.target_block + offset + right;
    if (row >= p.rows || offset + right >= p.target_block ||
        feature >= p.target_features) {
      return;
    }
    const int64_t at = p.features_first ? feature * p.rows + row
                                        : row * p.target_features + feature;
    if (p.bias != nullptr) {
      sum += ToSum<Sum>(static_cast<const T*>(p.bias)[feature]);
    }
    if (p.preactivation != nullptr) {
      static_cast<T*>(p.preactivation)[at] = FromSum<T>(sum);
    }
    static_cast<T*>(p.y)[at] = FromSum<T>(Activate(sum, p.activation));
  }
};

// Which tile of rows and which task a block of threads has. Up to as many tiles
// of rows take turns at a task's blocks before the next ones do: their x, which
// the next tasks read again, fits the second-level cache.
constexpr int32_t kRowTilesTogether = 8;

struct MatmulPlace {
  int32_t task;
  int32_t row_tile;

  __device__ __forceinline__ explicit MatmulPlace(const MatmulArguments& p) {
    const int32_t most = Least(kRowTilesTogether, p.row_tiles);
    const int32_t group = BlockIndex() / (most * p.task_count);
    const int32_t first = group * most;
    const int32_t together = Least(most, p.row_tiles - first);
    const int32_t within = BlockIndex() - first * p.task_count;
    task = within / together;
    row_tile = first + within % together;
  }

 private:
  static __device__ __forceinline__ int32_t Least(int32_t a, int32_t b) {
    return a < b ? a : b;
  }
};

template <typename Config>
__global__ void __launch_bounds__(Config::kThreads, Config::kBlocksTogether)
    MatmulTiles(const MatmulArguments p) {
  using Sum = typename Config::Sum;
  constexpr int64_t kTile = Config::kLeft * Config::kRight;
  const MatmulPlace place(p);
  const MatmulTask task = p.tasks[place.task];
  const int64_t first_row = int64_t{place.row_tile} * Config::kLeft;
  Tile<Config> tile;
  tile.Accumulate(MatmulLeft<typename Config::Left>{p, task, first_row},
                  MatmulRight<typename Config::Right>{p, task},
                  (task.end - task.begin) * p.source_block.value);
  Sum* parts = nullptr;
  if (task.part >= 0) {
    parts = static_cast<Sum*>(p.parts) +
            (int64_t{task.part} * p.row_tiles + place.row_tile) * kTile;
  }
  tile.ForEach(MatmulFinish<typename Config::Left, Sum>{
      p, first_row, task.target, task.offset, parts, Config::kRight});
}

// Adds up the parts of split tiles, the first one first: a block of threads for
// each of them.
template <typename Config>
__global__ void __launch_bounds__(Config::kThreads)
    JoinMatmulParts(const MatmulArguments p) {
  using Sum = typename Config::Sum;
  constexpr int64_t kTile = Config::kLeft * Config::kRight;
  const Split split = p.splits[BlockIndex() / p.row_tiles];
  const int32_t row_tile = BlockIndex() % p.row_tiles;
  const Sum* parts = static_cast<const Sum*>(p.parts) +
                     (int64_t{split.first} * p.row_tiles + row_tile) * kTile;
  const MatmulFinish<typename Config::Left, Sum> finish{
      p,
      int64_t{row_tile} * Config::kLeft,
      split.target,
      split.offset,
      nullptr,
      Config::kRight};
  JoinParts<Config>(parts, split.count, p.row_tiles * kTile, finish);
}

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_MATMUL_KERNEL_CU_H_
