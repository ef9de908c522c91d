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
//
// Memory is kept off the multiplications' way: while a tile is computed, the
// last one is written, the lines of y it will be written to are fetched, and so
// are the rows of x that are packed next.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_MATMUL_ROWS_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_MATMUL_ROWS_H_

#include "cc/kernels/cpu/lines_ahead.h"
#include "cc/kernels/cpu/matmul_blocks.h"
#include "cc/kernels/cpu/matmul_tile.h"

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

// The part of the next rows of x that falls to this task, of all that share
// its rows.
template <typename X>
LinesAhead NextInputs(const MatmulTask& task, int64_t steps) {
  const MatmulProblem& problem = *task.problem;
  const X* x = static_cast<const X*>(problem.x);
  const int64_t features = task.source_features;
  const int64_t begin = features * task.target_begin / task.view.targets;
  const int64_t end = features * task.target_end / task.view.targets;
  const int64_t row = task.row + task.rows;
  if (problem.features_first) {
    return LinesAhead(x + begin * problem.rows + row, problem.rows * sizeof(X),
                      end - begin, task.next_rows * sizeof(X), steps);
  }
  return LinesAhead(x + row * features + begin, features * sizeof(X),
                    task.next_rows, (end - begin) * sizeof(X), steps);
}

// Where features [first, first + features) of the task's rows of y will be
// written.
template <typename X>
LinesAhead NextOutputs(const MatmulTask& task, int64_t first, int64_t features,
                       int64_t steps) {
  const MatmulProblem& problem = *task.problem;
  const X* y = static_cast<const X*>(problem.y);
  if (problem.features_first) {
    return LinesAhead(y + first * problem.rows + task.row,
                      problem.rows * sizeof(X), features, task.rows * sizeof(X),
                      steps);
  }
  return LinesAhead(y + task.row * task.target_features + first,
                    task.target_features * sizeof(X), task.rows,
                    features * sizeof(X), steps);
}

// A group of outputs of a target block.
struct OutputGroup {
  int64_t block_outputs;
  int64_t first;    // of the target block
  int64_t outputs;  // of the target block
  bool fresh;       // no chunk before this one
  uintptr_t far;    // a group's share of the blocks far ahead
  bool far_is_new;  // false: there are none, `far` is something harmless
};

// The address of blocks that are multiplied some chunks after the one that
// begins at `entry`, or 0 if they do not lie in memory one after the other.
// Forward they do, and fetched in that order, which is not the order in which
// groups of outputs read wide blocks, they come as quickly as memory can.
template <typename Stored>
uintptr_t BlocksFarAhead(const MatmulTask& task, int64_t entry) {
  // Measured at 64 x 4096 x 4096, 90 % sparse, with blocks of 64: 4 chunks
  // later 81 % of the FMA peak, 2 later 80 %, 1 later 79 %, none 70 %.
  constexpr int64_t kChunks = 4;
  if (task.view.block_id != nullptr || task.staging != nullptr) return 0;
  const int64_t wanted = entry + kChunks * task.chunk;
  const int64_t last = task.view.nnz - task.chunk;
  const int64_t begin = wanted < last ? wanted : last;
  const int64_t size =
      static_cast<int64_t>(task.source_block) * task.target_block;
  return reinterpret_cast<uintptr_t>(task.problem->blocks) +
         (begin > 0 ? begin : 0) * size * sizeof(Stored);
}

// The products of one input with kGroup outputs, for all rows of a tile.
template <int kGroup, int kVectors, typename T, typename V>
inline __attribute__((always_inline)) void MultiplyInput(
    const T* x, const T* w, int64_t across, V (&acc)[kGroup][kVectors]) {
  constexpr int kLanes = kFullLanes<T>;
  V xs[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) xs[v] = Load<kLanes>(x + v * kLanes);
#pragma GCC unroll 16
  for (int g = 0; g < kGroup; ++g) {
    const V weight = Broadcast<V>(w[g * across]);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) acc[g][v] += xs[v] * weight;
  }
}

// tile[g][.] += the products of `refs`, for a group of kGroup outputs.
// kBlockOutputs is their block_outputs, so that the compiler knows the weights'
// places, or 0 for any.
template <bool kTranspose, int kBlockOutputs, int kGroup, int kVectors,
          typename T>
void AccumulateRows(const BlockRef<T, T>* refs, int count,
                    const OutputGroup& group, T* tile) {
  constexpr int kLanes = kFullLanes<T>;
  constexpr int kRows = kTileRows<T, kVectors>;
  // Inputs at a time: blocks of 4 are the narrowest that are meant to be fast.
  constexpr int kUnroll = 4;
  // Lines of memory that the weights of as many inputs and kGroup outputs fill.
  constexpr int kFarLines =
      (kUnroll * kGroup * int{sizeof(T)} - 1) / kCacheLine + 1;
  typedef Vector<T, kLanes> V;
  const int64_t width = kBlockOutputs > 0 ? kBlockOutputs : group.block_outputs;
  // From one input to the next, and from one output to the next.
  const int64_t step = kTranspose ? 1 : width;
  const int64_t across = kTranspose ? width : 1;
  const int64_t start = group.first * across;
  // Each step prefetches a part of what is needed two groups later: of these
  // blocks, or of the next chunk's.
  const int64_t later = group.first + 2 * kGroup;
  const bool same_blocks = later < group.outputs;
  const int64_t ahead_start =
      (same_blocks ? later : later % group.outputs) * across;
  const int64_t ahead_step = kTranspose ? kGroup : width;

  const int64_t far_step = group.far_is_new ? kUnroll * kGroup * sizeof(T) : 0;
  uintptr_t far = group.far;
  V acc[kGroup][kVectors] = {};
  if (!group.fresh) {
#pragma GCC unroll 16
    for (int g = 0; g < kGroup; ++g) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        acc[g][v] = Load<kLanes>(tile + g * kRows + v * kLanes);
      }
    }
  }
  for (int r = 0; r < count; ++r) {
    const T* w = refs[r].weights + start;
    const T* x = refs[r].inputs;
    const T* const end = x + refs[r].depth * kRows;
    const T* later_block = same_blocks ? refs[r].weights : refs[r].ahead;
    // Addresses: beyond the last block they are of nothing.
    uintptr_t ahead = reinterpret_cast<uintptr_t>(later_block + ahead_start);
    uintptr_t next = reinterpret_cast<uintptr_t>(refs[r + 1].inputs);
    for (; x + kUnroll * kRows <= end; x += kUnroll * kRows) {
#pragma GCC unroll 4
      for (int d = 0; d < kUnroll; ++d) {
        Prefetch(ahead + d * ahead_step * sizeof(T));
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          Prefetch(next + (d * kRows + v * kLanes) * sizeof(T));
        }
        MultiplyInput<kGroup, kVectors>(x + d * kRows, w + d * step, across,
                                        acc);
      }
      next += kUnroll * kRows * sizeof(T);
      if constexpr (!kTranspose) {
#pragma GCC unroll 4
        for (int i = 0; i < kFarLines; ++i) PrefetchFar(far + i * kCacheLine);
        far += far_step;
      }
      w += kUnroll * step;
      ahead += kUnroll * ahead_step * sizeof(T);
    }
    for (; x < end; x += kRows) {
      MultiplyInput<kGroup, kVectors>(x, w, across, acc);
      w += step;
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

// AccumulateRows as FullGroup and its kin want it.
template <int kVectors, typename T>
struct RowsFamily {
  using Function = void (*)(const BlockRef<T, T>* refs, int count,
                            const OutputGroup& group, T* tile);
  template <bool kTranspose, int kBlockOutputs, int kGroup>
  static constexpr Function kAccumulate =
      AccumulateRows<kTranspose, kBlockOutputs, kGroup, kVectors, T>;
};

// A function of a family, for groups of `outputs`.
template <typename Family>
struct GroupKernel {
  int outputs;
  typename Family::Function accumulate;
};

template <typename Family, bool kTranspose, int kGroup>
GroupKernel<Family> FullGroup(int64_t block_outputs) {
  switch (block_outputs) {
    case 8:
      return {kGroup, Family::template kAccumulate<kTranspose, 8, kGroup>};
    case 16:
      return {kGroup, Family::template kAccumulate<kTranspose, 16, kGroup>};
    case 32:
      return {kGroup, Family::template kAccumulate<kTranspose, 32, kGroup>};
    case 64:
      return {kGroup, Family::template kAccumulate<kTranspose, 64, kGroup>};
    case 128:
      return {kGroup, Family::template kAccumulate<kTranspose, 128, kGroup>};
    default:
      return {kGroup, Family::template kAccumulate<kTranspose, 0, kGroup>};
  }
}

// Fills kernels[0..] with groups of kGroup, kGroup / 2, ..., 1 outputs.
template <typename Family, bool kTranspose, int kGroup>
void LesserGroups(GroupKernel<Family>* kernels) {
  kernels[0] = {kGroup, Family::template kAccumulate<kTranspose, 0, kGroup>};
  if constexpr (kGroup > 1) {
    LesserGroups<Family, kTranspose, kGroup / 2>(kernels + 1);
  }
}

constexpr int kMaxGroups = 8;  // halves of 128, more than any kGroup

// Fills groups[0..] with groups of kGroup outputs and what is left over of
// them.
template <int kGroup, typename Family>
void AllGroups(bool transpose, int64_t block_outputs,
               GroupKernel<Family>* groups) {
  if (transpose) {
    groups[0] = FullGroup<Family, true, kGroup>(block_outputs);
    LesserGroups<Family, true, kGroup / 2>(groups + 1);
  } else {
    groups[0] = FullGroup<Family, false, kGroup>(block_outputs);
    LesserGroups<Family, false, kGroup / 2>(groups + 1);
  }
}

template <typename X, typename Stored, int kGroup, int kVectors>
void MatmulRows(const MatmulTask& task) {
  using T = Compute<X>;
  constexpr int kRows = kTileRows<T, kVectors>;
  const MatmulProblem& problem = *task.problem;
  const LayoutView& view = task.view;
  const int64_t target_block = task.target_block;

  GroupKernel<RowsFamily<kVectors, T>> groups[kMaxGroups];
  const int64_t block_outputs = problem.layout.block_outputs;
  AllGroups<kGroup>(problem.transpose, block_outputs, groups);
  // About as often are groups accumulated for targets [begin, end).
  const auto steps = [&](int64_t begin, int64_t end) {
    const int64_t chunks =
        (view.splits[end] - view.splits[begin]) / task.chunk + 1;
    return chunks * (target_block > kGroup ? target_block / kGroup : 1);
  };
  // Inputs that all groups of outputs go over before the next ones.
  const int64_t inputs_at_once = task.piece < task.source_block
                                     ? task.piece
                                     : task.chunk * task.source_block;

  BlockRef<T, T> refs[kMaxChunk + 1];
  OutputGroup group = {block_outputs, 0, target_block, true, 0, false};
  T* tile = static_cast<T*>(task.tile);
  T* last_tile = tile + target_block * kRows * task.tile_targets;
  TileWriter<T, X> writer(task);
  LinesAhead next_inputs =
      NextInputs<X>(task, steps(task.target_begin, task.target_end));
  int64_t stop;
  for (int64_t begin = task.target_begin; begin < task.target_end;
       begin = stop) {
    stop = begin + task.tile_targets;
    if (stop > task.target_end) stop = task.target_end;
    const Tile<T> done = TileOf<T>(task, begin, stop, tile, kRows, 1);
    LinesAhead next_outputs =
        NextOutputs<X>(task, done.first, done.features, steps(begin, stop));
    T* sums = tile;
    for (int64_t target = begin; target < stop; ++target) {
      int64_t entry = view.splits[target];
      const int64_t end = view.splits[target + 1];
      group.fresh = true;
      while (entry < end) {
        uintptr_t far = BlocksFarAhead<Stored>(task, entry);
        group.far_is_new = far != 0;
        int count;
        entry = CollectChunk<Stored>(task, entry, end, kRows, refs, &count);
        ForEachPiece(task, kRows, refs, count, [&] {
          const auto* kernel = groups;
          for (group.first = 0; group.first < target_block;
               group.first += kernel->outputs) {
            while (group.first + kernel->outputs > target_block) ++kernel;
            group.far =
                far == 0 ? reinterpret_cast<uintptr_t>(tile)
                         : far + group.first * inputs_at_once * sizeof(Stored);
            next_outputs.Fetch();
            next_inputs.Fetch();
            writer.WriteSome();
            kernel->accumulate(refs, count, group, sums + group.first * kRows);
          }
          group.fresh = false;
          if (far != 0) far += inputs_at_once * target_block * sizeof(Stored);
        });
      }
      if (group.fresh) {
        for (int64_t i = 0; i < target_block * kRows; ++i) sums[i] = 0;
      }
      sums += target_block * kRows;
    }
    writer.WriteAll();
    FinishTile<T, X>(task, done);
    writer.Start(done);
    T* const swap = tile;
    tile = last_tile;
    last_tile = swap;
  }
  writer.WriteAll();
}

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_MATMUL_ROWS_H_
