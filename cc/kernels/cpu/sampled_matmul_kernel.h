// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// blocks[w] = a[:, c]^T b[:, k], for one input block c after the other: all
// its blocks side by side are one product of a[:, c] with columns of b, which
// is done in tiles.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_SAMPLED_MATMUL_KERNEL_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_SAMPLED_MATMUL_KERNEL_H_

#include "cc/kernels/cpu/kernel_table.h"
#include "cc/kernels/cpu/sampled_matmul_pack.h"
#include "cc/kernels/cpu/sampled_matmul_tile.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

// All `inputs` rows: as many groups of kGroup as fit, then halves.
template <int kFold, int kGroup, int kColumns, typename T, typename To>
void AccumulateGroups(const SampledTiles<T, To>& tiles, const T* a,
                      int64_t inputs, SampledPlace<T> place) {
  constexpr int kLanes = kFullLanes<T> / kFold;
  // Whole registers are written at once, others row by row.
  bool whole = kFold == 1 || (tiles.stride == kLanes && kGroup >= kFold);
  for (int j = 0; j < kColumns; ++j) {
    whole = whole && place.columns[j].outputs >= kLanes;
  }
  for (; place.first + kGroup <= inputs; place.first += kGroup) {
    const T* rows = a + place.first * kFold;
    SampledPlace<T> next = {place.columns, place.first + kGroup};
    if (next.first >= inputs) next = {place.columns + kColumns, 0};
    MultiplySampled<kFold, kGroup, kColumns>(tiles, rows, place, next, whole);
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
  const int64_t a_padded = PaddedInputs<T, kFold>(layout.block_inputs);
  const int64_t padded = PaddedOutputs<T, kFold>(layout.block_outputs);
  const int64_t panel_rows = (task.rows + kFold - 1) / kFold * kFold;
  const int64_t size =
      static_cast<int64_t>(layout.block_inputs) * layout.block_outputs;
  const SampledTiles<T, To> tiles = {
      panel_rows / kFold,
      a_padded * kFold,
      padded * kFold,
      layout.block_outputs,
      task.first_pass ? nullptr : static_cast<const T*>(task.partial),
      to,
      task.last_pass && p.gate != nullptr};
  // As many registers as are multiplied before the list is made anew.
  constexpr int kListed = 8 * kColumns;
  SampledColumns<T> listed[kListed + kColumns] = {};
  const int64_t together = BlocksTogether(a_padded);
  for (int64_t c = task.begin; c < task.end; ++c) {
    const int64_t in_strip = (c - task.begin) % together;
    if (in_strip == 0) PackA<X, kFold>(task, c, together);
    const T* a =
        static_cast<const T*>(task.a_panel) + in_strip * panel_rows * a_padded;
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
  const SampledMatmulProblem& p = *task.problem;
  const Layout& layout = p.layout;
  WithFold<Compute<X>>(layout.block_outputs, p.rows, [&](auto fold) {
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
