// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// y = x W with a vector along the rows of x: for each target block,
//
//   for each group of kGroup outputs of the target block:
//     acc[kGroup][kVectors] = 0
//     for each block of the target block, for each of its inputs d:
//       acc[g][v] += inputs[d][v] * broadcast(W[d][g])
//
// Weights are read as scalars, so W and W^T differ in two strides only and no
// transposed copy exists. The blocks are taken in chunks that stay in the
// first-level cache while all groups of outputs go over them; between chunks
// the sums rest in a tile.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_MATMUL_ROWS_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_MATMUL_ROWS_H_

#include "cc/kernels/cpu/matmul_common.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

template <typename T, int kVectors>
constexpr int kTileRows = kFullLanes<T> * kVectors;

// x of the task's rows, as [feature][kTileRows]; rows that do not exist are 0.
template <typename X, int kVectors>
void PackRows(const MatmulTask& task) {
  using T = Compute<X>;
  constexpr int kRows = kTileRows<T, kVectors>;
  const MatmulProblem& problem = *task.problem;
  const X* x = static_cast<const X*>(problem.x);
  T* panel = static_cast<T*>(task.inputs);
  const int64_t features = task.source_features;
  if (task.rows < kRows) {
    for (int64_t i = 0; i < features; ++i) {
      for (int64_t n = task.rows; n < kRows; ++n) panel[i * kRows + n] = 0;
    }
  }
  if (problem.features_first) {
    Copy(x + task.row, problem.rows, features, task.rows, panel, kRows);
  } else {
    CopyTransposed(x + task.row * features, features, task.rows, features,
                   panel, kRows);
  }
}

// tile[g][.] += the products of `refs`, for kGroup outputs from `first` on.
template <bool kTranspose, int kGroup, int kVectors, typename T,
          typename Stored>
void AccumulateRows(const BlockRef<T, Stored>* refs, int count,
                    int64_t block_outputs, int64_t first, int64_t outputs,
                    T* tile) {
  constexpr int kLanes = kFullLanes<T>;
  constexpr int kRows = kTileRows<T, kVectors>;
  typedef Vector<T, kLanes> V;
  // From one input to the next, and from one output to the next.
  const int64_t step = kTranspose ? 1 : block_outputs;
  const int64_t across = kTranspose ? block_outputs : 1;
  const int64_t start = first * across;
  // Each step prefetches a part of what is needed two groups later: of these
  // blocks, or of the next chunk's.
  const int64_t ahead_step = kTranspose ? kGroup : block_outputs;
  const int64_t later = first + 2 * kGroup;
  const bool same_blocks = later < outputs;
  const int64_t ahead_start = later % outputs * across;
  const bool prefetch_inputs = first == 0;

  V acc[kGroup][kVectors];
#pragma GCC unroll 16
  for (int g = 0; g < kGroup; ++g) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      acc[g][v] = Load<kLanes>(tile + g * kRows + v * kLanes);
    }
  }
  for (int r = 0; r < count; ++r) {
    const T* w = refs[r].weights + start;
    const T* x = refs[r].inputs;
    // Addresses: beyond the last block they are of nothing.
    uintptr_t ahead = reinterpret_cast<uintptr_t>(same_blocks ? refs[r].stored
                                                              : refs[r].ahead) +
                      ahead_start * sizeof(Stored);
    uintptr_t next = reinterpret_cast<uintptr_t>(refs[r].next_inputs);
    for (int64_t d = 0; d < refs[r].depth; ++d) {
      V xs[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) xs[v] = Load<kLanes>(x + v * kLanes);
      Prefetch(ahead);
      if (prefetch_inputs) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          Prefetch(next + v * kLanes * sizeof(T));
        }
      }
#pragma GCC unroll 16
      for (int g = 0; g < kGroup; ++g) {
        const V weight = Broadcast<V>(w[g * across]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) acc[g][v] += xs[v] * weight;
      }
      w += step;
      x += kRows;
      next += kRows * sizeof(T);
      ahead += ahead_step * sizeof(Stored);
    }
  }
#pragma GCC unroll 16
  for (int g = 0; g < kGroup; ++g) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      Store<kLanes>(acc[g][v], tile + g * kRows + v * kLanes);
    }
  }
}

// All outputs of a target block: as many groups of kGroup as fit, then halves.
template <bool kTranspose, int kGroup, int kVectors, typename T,
          typename Stored>
void AccumulateGroups(const BlockRef<T, Stored>* refs, int count,
                      int64_t block_outputs, int64_t first, int64_t outputs,
                      T* tile) {
  constexpr int kRows = kTileRows<T, kVectors>;
  for (; first + kGroup <= outputs; first += kGroup) {
    AccumulateRows<kTranspose, kGroup, kVectors, T, Stored>(
        refs, count, block_outputs, first, outputs, tile + first * kRows);
  }
  if constexpr (kGroup > 1) {
    if (first < outputs) {
      AccumulateGroups<kTranspose, kGroup / 2, kVectors, T, Stored>(
          refs, count, block_outputs, first, outputs, tile);
    }
  }
}

template <typename X, typename Stored, int kGroup, int kVectors>
void MatmulRows(const MatmulTask& task) {
  using T = Compute<X>;
  constexpr int kRows = kTileRows<T, kVectors>;
  const MatmulProblem& problem = *task.problem;
  const int64_t block_outputs = problem.layout.block_outputs;
  T* tile = static_cast<T*>(task.tile);
  BlockRef<T, Stored> refs[kMaxChunk];
  for (int64_t target = task.target_begin; target < task.target_end; ++target) {
    for (int64_t i = 0; i < task.target_block * kRows; ++i) tile[i] = 0;
    int64_t entry = task.view.splits[target];
    const int64_t end = task.view.splits[target + 1];
    while (entry < end) {
      int count;
      entry = CollectChunk<T, Stored>(task, entry, end, kRows, refs, &count);
      if (problem.transpose) {
        AccumulateGroups<true, kGroup, kVectors, T, Stored>(
            refs, count, block_outputs, 0, task.target_block, tile);
      } else {
        AccumulateGroups<false, kGroup, kVectors, T, Stored>(
            refs, count, block_outputs, 0, task.target_block, tile);
      }
    }
    FinishTile<T, X>(task, target, tile, kRows, 1);
  }
}

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_MATMUL_ROWS_H_
