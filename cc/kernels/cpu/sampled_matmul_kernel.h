// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// blocks[w] = a[:, c]^T b[:, k], for one input block c after the other: all
// its blocks side by side are one product of a[:, c] with columns of b,
//
//   acc[kGroup][kColumns] = 0
//   for each row n:
//     acc[i][j] += broadcast(a[n][i]) * b[n][j]
//
// where j counts registers of columns, whichever block they belong to. Blocks
// narrower than a register are folded: kFold rows of their columns share one,
// lane by lane, a's broadcast repeats as many rows, and lanes of one column are
// added up at the end.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_SAMPLED_MATMUL_KERNEL_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_SAMPLED_MATMUL_KERNEL_H_

#include "cc/kernels/cpu/kernel_table.h"
#include "cc/kernels/cpu/sampled_matmul_pack.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

// A register of columns: where it is read, and where its sums go.
template <typename T>
struct SampledColumns {
  const T* panel;   // row 0
  int64_t sums;     // the place of row 0 among the blocks
  int64_t outputs;  // columns that exist, from here on
  T scale;
};

// What the tiles of a task have in common.
template <typename T, typename To>
struct SampledTiles {
  int64_t steps;     // of kFold rows
  int64_t a_stride;  // of a step
  int64_t b_stride;
  int64_t stride;    // of a row of a block
  const T* earlier;  // sums of earlier passes, like blocks, or null
  To* blocks;
  bool scale;
};

// Lane l: the sum of lanes 2 l and 2 l + 1 of low, high.
template <typename V, int... kLane>
inline V AddPairs(V low, V high, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(low, high, 2 * kLane...) +
         __builtin_shufflevector(low, high, (2 * kLane + 1)...);
}

// The sums of kFold rows of a folded block, from `first` on, one row after the
// other.
template <int kFold, int kColumns, int kGroup, typename V>
inline V Unfold(const V (&acc)[kGroup][kColumns], int first, int column) {
  if constexpr (kFold == 1) {
    return first < kGroup ? acc[first][column] : V{};
  } else {
    constexpr int kLanes = sizeof(V) / sizeof(acc[0][0][0]);
    return AddPairs(Unfold<kFold / 2>(acc, first, column),
                    Unfold<kFold / 2>(acc, first + kFold / 2, column),
                    std::make_integer_sequence<int, kLanes>());
  }
}

// Rows of blocks from `first` on, in kColumns registers of columns.
template <typename T>
struct SampledPlace {
  const SampledColumns<T>* columns;
  int64_t first;
};

// Rows [first, first + kGroup) of the blocks in kColumns registers of columns.
// Apart from what calls it, so that the compiler keeps all sums in registers.
template <int kFold, int kGroup, int kColumns, typename T, typename To>
__attribute__((noinline)) void MultiplySampled(const SampledTiles<T, To>& tiles,
                                               const T* a,
                                               SampledPlace<T> place,
                                               SampledPlace<T> next) {
  constexpr int kLanes = kFullLanes<T>;
  // Registers of sums in the end, of kFold rows each.
  constexpr int kStored = (kGroup + kFold - 1) / kFold;
  typedef Vector<T, kLanes> V;
  const int64_t stride = tiles.stride;
  const int64_t a_stride = tiles.a_stride;
  const int64_t b_stride = tiles.b_stride;
  const T* b_rows[kColumns];
  To* ahead[kColumns];
#pragma GCC unroll 8
  for (int j = 0; j < kColumns; ++j) {
    b_rows[j] = place.columns[j].panel;
    ahead[j] = tiles.blocks + next.columns[j].sums + next.first * stride;
  }
  V acc[kGroup][kColumns] = {};
  int64_t n = 0;
  int64_t offset = 0;
  for (int piece = 0; piece < kStored; ++piece) {
    // Lines that the next tile writes, spread over the time until then.
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) {
      PrefetchWrite(ahead[j] + piece * kFold * stride);
    }
    const int64_t stop = tiles.steps * (piece + 1) / kStored;
    for (; n < stop; ++n) {
      V b[kColumns];
#pragma GCC unroll 8
      for (int j = 0; j < kColumns; ++j) {
        b[j] = Load<kLanes>(b_rows[j] + offset);
      }
#pragma GCC unroll 8
      for (int i = 0; i < kGroup; ++i) {
        const V scale = BroadcastRows<kFold, kLanes>(a + i * kFold);
#pragma GCC unroll 8
        for (int j = 0; j < kColumns; ++j) acc[i][j] += b[j] * scale;
      }
      a += a_stride;
      offset += b_stride;
    }
  }
  V sums[kStored][kColumns];
#pragma GCC unroll 8
  for (int i = 0; i < kStored; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j)
      sums[i][j] = Unfold<kFold>(acc, i * kFold, j);
  }
  if (tiles.earlier != nullptr) {
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) {
      const T* earlier =
          tiles.earlier + place.columns[j].sums + place.first * stride;
#pragma GCC unroll 8
      for (int i = 0; i < kStored; ++i)
        sums[i][j] += Load<kLanes>(earlier + i * kFold * stride);
    }
  }
  if (tiles.scale) {
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) {
#pragma GCC unroll 8
      for (int i = 0; i < kStored; ++i) sums[i][j] *= place.columns[j].scale;
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < kColumns; ++j) {
    To* to = tiles.blocks + place.columns[j].sums + place.first * stride;
#pragma GCC unroll 8
    for (int i = 0; i < kStored; ++i)
      Store<kLanes>(sums[i][j], to + i * kFold * stride);
  }
}

// The same, computed beside the blocks; then copies what exists of them.
template <int kFold, int kGroup, int kColumns, typename T, typename To>
void MultiplySampledPartly(const SampledTiles<T, To>& tiles, const T* a,
                           SampledPlace<T> place) {
  constexpr int kLanes = kFullLanes<T> / kFold;
  constexpr int kRows = (kGroup + kFold - 1) / kFold * kFold;
  T sums[kColumns][kRows * kLanes];
  SampledColumns<T> aside[kColumns];
  for (int j = 0; j < kColumns; ++j) {
    aside[j].panel = place.columns[j].panel;
    aside[j].sums = j * kRows * kLanes;
  }
  MultiplySampled<kFold, kGroup, kColumns, T, T>(
      {tiles.steps, tiles.a_stride, tiles.b_stride, kLanes, nullptr, sums[0],
       false},
      a, {aside, 0}, {aside, 0});
  for (int j = 0; j < kColumns; ++j) {
    const SampledColumns<T>& columns = place.columns[j];
    const int64_t outputs = columns.outputs < kLanes ? columns.outputs : kLanes;
    for (int64_t i = 0; i < kGroup; ++i) {
      for (int64_t k = 0; k < outputs; ++k) {
        const int64_t at = columns.sums + (place.first + i) * tiles.stride + k;
        T sum = sums[j][i * kLanes + k];
        if (tiles.earlier != nullptr) sum += tiles.earlier[at];
        if (tiles.scale) sum *= columns.scale;
        Narrow(sum, tiles.blocks + at);
      }
    }
  }
}

// All `inputs` rows: as many groups of kGroup as fit, then halves.
template <int kFold, int kGroup, int kColumns, typename T, typename To>
void AccumulateGroups(const SampledTiles<T, To>& tiles, const T* a,
                      int64_t inputs, SampledPlace<T> place) {
  constexpr int kLanes = kFullLanes<T> / kFold;
  // Only whole registers can be written where they belong.
  bool whole = kFold == 1 || (tiles.stride == kLanes && kGroup >= kFold);
  for (int j = 0; j < kColumns; ++j) {
    whole = whole && place.columns[j].outputs >= kLanes;
  }
  for (; place.first + kGroup <= inputs; place.first += kGroup) {
    const T* rows = a + place.first * kFold;
    if (!whole) {
      MultiplySampledPartly<kFold, kGroup, kColumns>(tiles, rows, place);
      continue;
    }
    SampledPlace<T> next = {place.columns, place.first + kGroup};
    if (next.first >= inputs) next = {place.columns + kColumns, 0};
    MultiplySampled<kFold, kGroup, kColumns>(tiles, rows, place, next);
  }
  if constexpr (kGroup > 1) {
    if (place.first < inputs) {
      AccumulateGroups<kFold, kGroup / 2, kColumns>(tiles, a, inputs, place);
    }
  }
}

// All `count` registers of columns: groups of kColumns, then fewer.
template <int kFold, int kGroup, int kColumns, typename T, typename To>
void AccumulateColumns(const SampledTiles<T, To>& tiles, const T* a,
                       int64_t inputs, const SampledColumns<T>* columns,
                       int count) {
  for (; count >= kColumns; count -= kColumns) {
    AccumulateGroups<kFold, kGroup, kColumns>(tiles, a, inputs, {columns, 0});
    columns += kColumns;
  }
  if constexpr (kColumns > 1) {
    if (count > 0) {
      AccumulateColumns<kFold, kGroup, kColumns - 1>(tiles, a, inputs, columns,
                                                     count);
    }
  }
}

template <typename X, typename Stored, int kFold, int kGroup, int kColumns,
          typename To>
void SampledMatmulFolded(const SampledMatmulTask& task, To* to) {
  using T = Compute<X>;
  constexpr int kLanes = kFullLanes<T> / kFold;
  const SampledMatmulProblem& p = *task.problem;
  const Layout& layout = p.layout;
  const LayoutView& view = layout.transposed;
  const int64_t padded = PaddedColumns<T>(layout.block_outputs);
  const int64_t panel_rows = (task.rows + kFold - 1) / kFold * kFold;
  const int64_t size =
      static_cast<int64_t>(layout.block_inputs) * layout.block_outputs;
  const SampledTiles<T, To> tiles = {
      panel_rows / kFold,
      layout.block_inputs * kFold,
      padded * kFold,
      layout.block_outputs,
      task.first_pass ? nullptr : static_cast<const T*>(task.partial),
      to,
      task.last_pass && p.gate != nullptr};
  // As many registers as are multiplied before the list is made anew.
  constexpr int kListed = 8 * kColumns;
  SampledColumns<T> listed[kListed + kColumns] = {};
  const int64_t together = BlocksTogether(layout.block_inputs);
  for (int64_t c = task.begin; c < task.end; ++c) {
    const int64_t in_strip = (c - task.begin) % together;
    if (in_strip == 0) PackA<X, kFold>(task, c, together);
    const T* a = static_cast<const T*>(task.a_panel) +
                 in_strip * panel_rows * layout.block_inputs;
    const int64_t left = layout.inputs - c * layout.block_inputs;
    const int64_t inputs =
        left < layout.block_inputs ? left : layout.block_inputs;
    int count = 0;
    const auto flush = [&](int64_t e) {
      // What comes after these, to be prefetched.
      for (int j = 0; j < kColumns; ++j, ++e) {
        listed[count + j].sums =
            e < view.nnz ? view.block_id[e] * size : listed[count - 1].sums;
      }
      AccumulateColumns<kFold, kGroup, kColumns>(tiles, a, inputs, listed,
                                                 count);
      count = 0;
    };
    for (int64_t e = view.splits[c]; e < view.splits[c + 1]; ++e) {
      const int64_t block = view.block_id[e];
      const int64_t rest =
          layout.outputs -
          static_cast<int64_t>(view.index[e]) * layout.block_outputs;
      const int64_t outputs =
          rest < layout.block_outputs ? rest : layout.block_outputs;
      const T scale = p.gate == nullptr ? T(1) : T(p.gate[block]);
      const bool closed = scale == 0;
      const bool partly =
          inputs < layout.block_inputs || outputs < layout.block_outputs;
      if (task.first_pass && (closed || partly)) {
        __builtin_memset(static_cast<Stored*>(p.blocks) + block * size, 0,
                         size * sizeof(Stored));
      }
      if (closed) continue;
      const T* panel = static_cast<const T*>(task.b_panel) +
                       view.index[e] * panel_rows * padded;
      for (int64_t first = 0; first < outputs; first += kLanes) {
        listed[count++] = {panel + first * kFold, block * size + first,
                           outputs - first, scale};
        if (count == kListed) flush(e + 1);
      }
    }
    if (count > 0) flush(view.splits[c + 1]);
  }
}

// Rows of narrow blocks are few as well: half as many sums of twice as many
// registers of columns keep as many under way.
template <typename X, typename Stored, int kGroup, int kColumns, typename To>
void SampledMatmulTo(const SampledMatmulTask& task, To* to) {
  const Layout& layout = task.problem->layout;
  WithFold<Compute<X>>(layout.block_outputs, [&](auto fold) {
    constexpr int kFold = fold.value;
    if (layout.block_inputs <= kGroup / 2) {
      SampledMatmulFolded<X, Stored, kFold, kGroup / 2, 2 * kColumns>(task, to);
    } else {
      SampledMatmulFolded<X, Stored, kFold, kGroup, kColumns>(task, to);
    }
  });
}

template <typename X, typename Stored, int kGroup, int kColumns>
void SampledMatmul(const SampledMatmulTask& task) {
  if (task.last_pass) {
    SampledMatmulTo<X, Stored, kGroup, kColumns>(
        task, static_cast<Stored*>(task.problem->blocks));
  } else {
    SampledMatmulTo<X, Stored, kGroup, kColumns>(
        task, static_cast<Compute<X>*>(task.partial));
  }
}

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_SAMPLED_MATMUL_KERNEL_H_
