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

// Registers of columns on their way to be multiplied with one input block.
template <int kFold, int kGroup, int kColumns, typename T, typename To>
class ColumnQueue {
 public:
  static constexpr int kLanes = kFullLanes<T> / kFold;  // columns of a register

  ColumnQueue(const SampledTiles<T, To>& tiles, const T* a, int64_t inputs)
      : tiles_(tiles), a_(a), inputs_(inputs) {}

  void Add(const SampledColumns<T>& columns) {
    // Those behind a group tell what is written next.
    if (count_ == kListed + kColumns) {
      Multiply(kListed);
      for (int j = 0; j < kColumns; ++j) listed_[j] = listed_[kListed + j];
      count_ = kColumns;
    }
    listed_[count_++] = columns;
  }

  // Multiplies what is left. Then sums go to places next(0), next(1) and so on,
  // as far as is known.
  template <typename Next>
  void Finish(const Next& next) {
    if (count_ == 0) return;
    for (int j = 0; j < kColumns; ++j) listed_[count_ + j].sums = next(j);
    Multiply(count_);
    count_ = 0;
  }

 private:
  void Multiply(int count) {
    AccumulateColumns<kFold, kGroup, kColumns>(tiles_, a_, inputs_, listed_,
                                               count);
  }

  static constexpr int kListed = 8 * kColumns;
  const SampledTiles<T, To>& tiles_;
  const T* a_;
  int64_t inputs_;
  SampledColumns<T> listed_[kListed + 2 * kColumns] = {};
  int count_ = 0;
};

// Blocks that are cleared before sums are written to them, if any.
struct Cleared {
  char* blocks = nullptr;
  int64_t element = 0;  // bytes
};

// Those of a task: once is enough, so with the first pass.
template <typename Stored, typename T, typename Task>
inline Cleared ClearedBy(const Task& task) {
  if (!task.first_pass) return {};
  if (task.joined) return {static_cast<char*>(task.partial), sizeof(T)};
  return {static_cast<char*>(task.problem->blocks), sizeof(Stored)};
}

// Queues the columns of a block of `output_block` and of `inputs` rows, whose
// sums go to place `sums`. What nobody writes is cleared: all of a block if
// `scale` is 0, else what lies beyond the edges.
template <typename T, typename Queue>
inline void AddBlock(const Layout& layout, int64_t output_block, int64_t inputs,
                     const T* panel, int64_t sums, T scale,
                     const Cleared& cleared, Queue* queue) {
  constexpr int kLanes = Queue::kLanes;
  constexpr int kFold = kFullLanes<T> / kLanes;
  const int64_t left = layout.outputs - output_block * layout.block_outputs;
  const int64_t outputs =
      left < layout.block_outputs ? left : layout.block_outputs;
  const bool partly =
      inputs < layout.block_inputs || outputs < layout.block_outputs;
  if (cleared.blocks != nullptr && (scale == 0 || partly)) {
    const int64_t size =
        static_cast<int64_t>(layout.block_inputs) * layout.block_outputs;
    __builtin_memset(cleared.blocks + sums * cleared.element, 0,
                     size * cleared.element);
  }
  if (scale == 0) return;
  for (int64_t j = 0; j < outputs; j += kLanes) {
    queue->Add({panel + j * kFold, sums + j, outputs - j, scale});
  }
}

template <typename X, typename Stored, int kFold, int kGroup, int kColumns,
          typename To>
void SampledMatmulFolded(const SampledMatmulTask& task, To* to) {
  using T = Compute<X>;
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
  const Cleared cleared = ClearedBy<Stored, T>(task);
  const int64_t together = BlocksTogether(a_padded);
  for (int64_t c = task.begin; c < task.end; ++c) {
    const int64_t in_strip = (c - task.begin) % together;
    if (in_strip == 0) PackA<X, kFold>(task, c, together);
    const T* a =
        static_cast<const T*>(task.a_panel) + in_strip * panel_rows * a_padded;
    const int64_t left = layout.inputs - c * layout.block_inputs;
    const int64_t inputs =
        left < layout.block_inputs ? left : layout.block_inputs;
    ColumnQueue<kFold, kGroup, kColumns, T, To> queue(tiles, a, inputs);
    int64_t e = view.splits[c];
    for (; e < view.splits[c + 1]; ++e) {
      const int64_t block = view.block_id[e];
      AddBlock(layout, view.index[e], inputs,
               static_cast<const T*>(task.b_panel) +
                   view.index[e] * panel_rows * padded,
               block * size, p.gate == nullptr ? T(1) : T(p.gate[block]),
               cleared, &queue);
    }
    queue.Finish([&](int64_t j) {
      return e + j < view.nnz ? view.block_id[e + j] * size : 0;
    });
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
