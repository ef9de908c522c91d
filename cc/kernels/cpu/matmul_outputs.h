// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// y = x W for few rows, with a vector along the weights, which are read once
// and in order: the product is as quick as memory is. Forward, a vector holds
// several outputs of one input:
//
//   acc[n][j] += broadcast(x[n][d]) * W[d][j]
//
// transposed, several inputs of one output, summed up at the end:
//
//   acc[n][i] += x[n][d] * W[i][d],   y[n][i] = sum of the lanes of acc[n][i]
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_MATMUL_OUTPUTS_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_MATMUL_OUTPUTS_H_

#include "cc/kernels/cpu/matmul_blocks.h"
#include "cc/kernels/cpu/matmul_tile.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

// All rows of x as [row][feature], in the compute type; task.rows of them.
template <typename X>
void PackOutputs(const MatmulTask& task) {
  using T = Compute<X>;
  const MatmulProblem& problem = *task.problem;
  const X* x = static_cast<const X*>(problem.x);
  T* rows = static_cast<T*>(task.inputs);
  const int64_t features = task.source_features;
  if (problem.features_first) {
    CopyTransposed(x + task.row, problem.rows, features, task.rows, rows,
                   features);
  } else {
    Copy(x + task.row * features, features, task.rows, features, rows,
         features);
  }
}

// tile[n][first + j] += for kRows rows and kVectors * kLanes outputs. kDepth
// inputs are summed apart, to have enough sums under way at a time.
template <int kLanes, int kRows, int kVectors, int kDepth, typename T,
          typename Weights>
void AccumulateOutputs(const BlockRef<T, Weights>* refs, int count,
                       int64_t block_outputs, int64_t first, int64_t features,
                       T* tile, int64_t tile_stride) {
  typedef Vector<T, kLanes> V;
  V acc[kDepth][kRows][kVectors] = {};
  const auto step = [&](const auto* w, const T* x, int part) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const V weights = Load<kLanes>(w + v * kLanes);
#pragma GCC unroll 4
      for (int n = 0; n < kRows; ++n) {
        acc[part][n][v] += weights * Broadcast<V>(x[n * features]);
      }
    }
  };
  for (int r = 0; r < count; ++r) {
    const Weights* w = refs[r].weights + first;
    const T* x = refs[r].inputs;
    const uintptr_t ahead = reinterpret_cast<uintptr_t>(refs[r].ahead + first);
    int64_t d = 0;
    for (; d + kDepth <= refs[r].depth; d += kDepth) {
#pragma GCC unroll 4
      for (int part = 0; part < kDepth; ++part) {
        Prefetch(ahead + (d + part) * block_outputs * sizeof(Weights));
        step(w + (d + part) * block_outputs, x + d + part, part);
      }
    }
    for (; d < refs[r].depth; ++d) step(w + d * block_outputs, x + d, 0);
  }
#pragma GCC unroll 4
  for (int n = 0; n < kRows; ++n) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      T* at = tile + n * tile_stride + first + v * kLanes;
      V sum = acc[0][n][v];
#pragma GCC unroll 4
      for (int part = 1; part < kDepth; ++part) sum += acc[part][n][v];
      Store<kLanes>(Load<kLanes>(at) + sum, at);
    }
  }
}

// tile[n][first + i] += for kRows rows and kGroup outputs, where d runs along
// a row of W.
template <int kLanes, int kRows, int kGroup, typename T, typename Weights>
void AccumulateDots(const BlockRef<T, Weights>* refs, int count,
                    int64_t block_outputs, int64_t first, int64_t features,
                    T* tile, int64_t tile_stride) {
  typedef Vector<T, kLanes> V;
  V acc[kRows][kGroup] = {};
  T rest[kRows][kGroup] = {};
  for (int r = 0; r < count; ++r) {
    const Weights* w = refs[r].weights + first * block_outputs;
    const T* x = refs[r].inputs;
    const uintptr_t ahead =
        reinterpret_cast<uintptr_t>(refs[r].ahead + first * block_outputs);
    int64_t d = 0;
    for (; d + kLanes <= refs[r].depth; d += kLanes) {
      V xs[kRows];
#pragma GCC unroll 4
      for (int n = 0; n < kRows; ++n) {
        xs[n] = Load<kLanes>(x + n * features + d);
      }
#pragma GCC unroll 8
      for (int g = 0; g < kGroup; ++g) {
        Prefetch(ahead + (g * block_outputs + d) * sizeof(Weights));
        const V weights = Load<kLanes>(w + g * block_outputs + d);
#pragma GCC unroll 4
        for (int n = 0; n < kRows; ++n) acc[n][g] += weights * xs[n];
      }
    }
    // Only the last block of features that are no multiple of a block.
    for (; d < refs[r].depth; ++d) {
      for (int g = 0; g < kGroup; ++g) {
        for (int n = 0; n < kRows; ++n) {
          rest[n][g] += Widen(w[g * block_outputs + d]) * x[n * features + d];
        }
      }
    }
  }
#pragma GCC unroll 4
  for (int n = 0; n < kRows; ++n) {
#pragma GCC unroll 8
    for (int g = 0; g < kGroup; ++g) {
      tile[n * tile_stride + first + g] +=
          SumLanes<kLanes, T>(acc[n][g]) + rest[n][g];
    }
  }
}

// Outputs of a target block from `first` on, for kRows rows. What no vector of
// kLanes fits is left to one of half as many.
template <bool kTranspose, int kLanes, int kRows, typename T, typename Weights>
void AccumulateTarget(const BlockRef<T, Weights>* refs, int count,
                      int64_t block_outputs, int64_t first,
                      int64_t target_block, int64_t features, T* tile,
                      int64_t tile_stride) {
  if constexpr (kTranspose) {
    // 8 x 2 sums fit 32 registers; more rows read them again.
    constexpr int kGroup = kRegisters / 4;
    for (; first + kGroup <= target_block; first += kGroup) {
      AccumulateDots<kLanes, kRows, kGroup>(refs, count, block_outputs, first,
                                            features, tile, tile_stride);
    }
    for (; first < target_block; ++first) {
      AccumulateDots<kLanes, kRows, 1>(refs, count, block_outputs, first,
                                       features, tile, tile_stride);
    }
  } else {
    // An FMA takes 4 cycles and two start in each: 8 sums at a time.
    constexpr int kWide = kRows >= 4 ? 1 : 4 / kRows;
    constexpr int kNarrow = 2 * kWide;
    for (; first + 2 * kLanes <= target_block; first += 2 * kLanes) {
      AccumulateOutputs<kLanes, kRows, 2, kWide>(
          refs, count, block_outputs, first, features, tile, tile_stride);
    }
    for (; first + kLanes <= target_block; first += kLanes) {
      AccumulateOutputs<kLanes, kRows, 1, kNarrow>(
          refs, count, block_outputs, first, features, tile, tile_stride);
    }
    if constexpr (kLanes > 1) {
      if (first < target_block) {
        AccumulateTarget<kTranspose, kLanes / 2, kRows>(
            refs, count, block_outputs, first, target_block, features, tile,
            tile_stride);
      }
    }
  }
}

// Rows in fours, or for dots in pairs, and what is left at once: each step
// reads the weights again.
template <bool kTranspose, int kLanes, typename T, typename Weights>
void AccumulateTask(const MatmulTask& task, BlockRef<T, Weights>* refs,
                    int count, int64_t tile_stride) {
  const int64_t block_outputs = task.problem->layout.block_outputs;
  const int64_t features = task.source_features;
  T* tile = static_cast<T*>(task.tile);
  int64_t left = task.rows;
  const auto take = [&](auto rows) {
    AccumulateTarget<kTranspose, kLanes, rows()>(refs, count, block_outputs, 0,
                                                 task.target_block, features,
                                                 tile, tile_stride);
    for (int r = 0; r < count; ++r) refs[r].inputs += rows() * features;
    tile += rows() * tile_stride;
    left -= rows();
  };
  if constexpr (!kTranspose) {
    while (left >= kFewRowsAtOnce) {
      take(std::integral_constant<int, kFewRowsAtOnce>());
    }
  }
  while (left > 3) take(std::integral_constant<int, 2>());
  if (left == 3) take(std::integral_constant<int, 3>());
  if (left == 2) take(std::integral_constant<int, 2>());
  if (left == 1) take(std::integral_constant<int, 1>());
}

template <typename Weights, typename X, typename Stored, int kLanes>
void MatmulOutputsLanes(const MatmulTask& task) {
  using T = Compute<X>;
  constexpr int kFull = kFullLanes<T>;
  const MatmulProblem& problem = *task.problem;
  T* tile = static_cast<T*>(task.tile);
  const int64_t tile_stride = (task.target_block + kFull - 1) / kFull * kFull;
  BlockRef<T, Weights> refs[kMaxChunk + 1];
  for (int64_t target = task.target_begin; target < task.target_end; ++target) {
    for (int64_t i = 0; i < task.rows * tile_stride; ++i) tile[i] = 0;
    int64_t entry = task.view.splits[target];
    const int64_t end = task.view.splits[target + 1];
    while (entry < end) {
      int count;
      entry = CollectChunk<Stored>(task, entry, end, 1, refs, &count);
      ForEachPiece(task, 1, refs, count, [&] {
        if (problem.transpose) {
          AccumulateTask<true, kLanes>(task, refs, count, tile_stride);
        } else {
          AccumulateTask<false, kLanes>(task, refs, count, tile_stride);
        }
      });
    }
    const Tile<T> done =
        TileOf<T>(task, target, target + 1, tile, 1, tile_stride);
    FinishTile<T, X>(task, done);
    WriteTile<T, X>(task, done, 0, done.features, 0, done.rows, problem.y);
  }
}

// The widest vector that block_outputs fills. Blocks of another type than is
// computed in are widened as they are loaded, unless a gate has staged them.
template <typename X, typename Stored, int kLanes = kFullLanes<Compute<X>>>
void MatmulOutputs(const MatmulTask& task) {
  if constexpr (kLanes > 1) {
    if (task.problem->layout.block_outputs < kLanes) {
      return MatmulOutputs<X, Stored, kLanes / 2>(task);
    }
  }
  if constexpr (!std::is_same_v<Compute<X>, Stored>) {
    if (task.staging == nullptr) {
      return MatmulOutputsLanes<Stored, X, Stored, kLanes>(task);
    }
  }
  MatmulOutputsLanes<Compute<X>, X, Stored, kLanes>(task);
}

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_MATMUL_OUTPUTS_H_
