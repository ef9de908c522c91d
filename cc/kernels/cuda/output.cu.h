// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What kernels that make y share, whatever their rows are: which tile is whose,
// the blocks as an operand, and the way of sums to y. Their arguments have the
// members of MatmulArguments that are used here.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_OUTPUT_CU_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_OUTPUT_CU_H_

#include "cc/kernels/cuda/activation.cu.h"
#include "cc/kernels/cuda/arguments.h"
#include "cc/kernels/cuda/device.cu.h"
#include "cc/kernels/cuda/tile.cu.h"

namespace blocksparse {
namespace cuda {

// The blocks of a target: [depth, output]. A Source finds what is at a depth.
template <typename T_, typename Source>
struct BlocksRight {
  using T = T_;

  const typename Source::Arguments& p;
  const typename Source::Task& task;

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

// Finishes the sum of a feature, which is at `at` in y.
template <typename T, typename Arguments, typename Sum>
__device__ __forceinline__ void StoreOutput(const Arguments& p, int64_t feature,
                                            int64_t at, Sum sum) {
  if (p.bias != nullptr) {
    sum += ToSum<Sum>(static_cast<const T*>(p.bias)[feature]);
  }
  if (p.preactivation != nullptr) {
    static_cast<T*>(p.preactivation)[at] = FromSum<T>(sum);
  }
  static_cast<T*>(p.y)[at] = FromSum<T>(Activate(sum, p.activation));
}

// Sums on their way to y, or to the parts that are added up later. Rows know
// where a row of the tile is in y.
template <typename T, typename Sum, typename Rows>
struct OutputFinish {
  const typename Rows::Arguments& p;
  const Rows& rows;
  int64_t target;  // block
  int32_t offset;
  Sum* parts;  // of this tile, or null
  int32_t right_size;

  // Whether neighbours along the left side are neighbours in memory.
  __device__ __forceinline__ bool left_first() const {
    return parts == nullptr && rows.features_first();
  }

  __device__ __forceinline__ void operator()(int left, int right,
                                             Sum sum) const {
    if (parts != nullptr) {
      parts[left * right_size + right] = sum;
      return;
    }
    const int64_t feature = target * p.target_block + offset + right;
    if (offset + right >= p.target_block || feature >= p.target_features) {
      return;
    }
    const int64_t at = rows.At(left, feature);
    if (at >= 0) StoreOutput<T>(p, feature, at, sum);
  }
};

// Which tile of rows and which task a block of threads has. Up to as many tiles
// of rows take turns at a task's blocks before the next ones do: their x, which
// the next tasks read again, fits the second-level cache.
constexpr int32_t kRowTilesTogether = 8;

struct TilePlace {
  int32_t task;
  int32_t row_tile;

  template <typename Arguments>
  __device__ __forceinline__ explicit TilePlace(const Arguments& p) {
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

// The sums of a part of a tile.
template <typename Config, typename Arguments>
__device__ __forceinline__ typename Config::Sum* PartOf(const Arguments& p,
                                                        int32_t part,
                                                        int32_t row_tile) {
  return static_cast<typename Config::Sum*>(p.parts) +
         (int64_t{part} * p.row_tiles + row_tile) * Config::kLeft *
             Config::kRight;
}

// Sums of a task on their way, from a tile that has them all.
template <typename Config, typename Tile, typename Task, typename Rows>
__device__ __forceinline__ void FinishTask(Tile* tile,
                                           const typename Rows::Arguments& p,
                                           const Task& task, int32_t row_tile,
                                           const Rows& rows) {
  using Sum = typename Config::Sum;
  tile->ForEach(OutputFinish<typename Config::Left, Sum, Rows>{
      p, rows, task.target, task.offset,
      task.part < 0 ? nullptr : PartOf<Config>(p, task.part, row_tile),
      Config::kRight});
}

// Adds up the parts of a split tile, the first one first.
template <typename Config, typename Split, typename Rows>
__device__ __forceinline__ void JoinSplit(const typename Rows::Arguments& p,
                                          const Split& split, int32_t row_tile,
                                          const Rows& rows) {
  using Sum = typename Config::Sum;
  const OutputFinish<typename Config::Left, Sum, Rows> finish{
      p, rows, split.target, split.offset, nullptr, Config::kRight};
  JoinParts<Config>(PartOf<Config>(p, split.first, row_tile), split.count,
                    int64_t{p.row_tiles} * Config::kLeft * Config::kRight,
                    finish);
}

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_OUTPUT_CU_H_
