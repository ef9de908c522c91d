// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The derivative of a convolution for its blocks: the product of
// sampled_matmul_kernel.h, whose rows are the cells of conv_bands.h. One side's
// cells hold the coarse pixels, with zeros between the rows, the other's the
// fine ones; a tap is a distance between the two.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_SAMPLED_KERNEL_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_SAMPLED_KERNEL_H_

#include "cc/kernels/cpu/conv_table.h"
#include "cc/kernels/cpu/sampled_matmul_kernel.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

// Wider blocks are folded if there are many rows, see WithFold. Here rows are
// images times pixels, and images that don't exist would take as long.
constexpr int64_t kRowsOfFold = 0;

// Feature blocks [begin, end) of a side, to panels of [cell / kFold][column]
// [kFold], `panel_cells` cells apart, in each of which kFold images share a
// place.
template <int kFold, typename X, typename T>
void PackSide(const ConvSampledTask& task, const ConvSide& side, int64_t begin,
              int64_t end, int64_t padded, int64_t panel_cells, T* panels) {
  const int64_t block = side.block;
  const int64_t first = begin * block;
  const int64_t last =
      end * block < side.features ? end * block : side.features;
  const int64_t panel = panel_cells * padded;
  const X* const pixels = static_cast<const X*>(side.pixels);
  const X* const zeros = static_cast<const X*>(task.zeros);
  const bool features_first = task.problem->features_first;
  const int64_t image_size = side.image_pixels * side.features;
  for (int64_t cell = 0; cell < side.cells; ++cell) {
    const int64_t source = side.source[cell];
    for (int64_t image = 0; image < task.images; image += kFold) {
      T* const to = panels + (cell * task.images + image) * padded;
      const int64_t left = task.present - image;
      if (source < 0 || left <= 0) {
        FoldRows<kFold>(zeros, 0, kFold, last - first, block, padded, to,
                        panel);
      } else if (!features_first) {
        FoldRows<kFold>(pixels + (task.image + image) * image_size +
                            source * side.features + first,
                        image_size, left, last - first, block, padded, to,
                        panel);
      } else {
        X some[kFold][kMaxBlockSize];
        for (int64_t j = first; j < last; j += block) {
          const int64_t width = last - j < block ? last - j : block;
          for (int s = 0; s < kFold && s < left; ++s) {
            const X* const from = pixels +
                                  (task.image + image + s) * image_size +
                                  j * side.image_pixels + source;
            for (int64_t i = 0; i < width; ++i) {
              some[s][i] = from[i * side.image_pixels];
            }
          }
          FoldRows<kFold>(some[0], kMaxBlockSize, left, width, block, padded,
                          to + (j - first) / block * panel, panel);
        }
      }
    }
  }
}

template <typename X>
void PackConvOutputs(const ConvSampledTask& task) {
  using T = Compute<X>;
  WithFold<T>(task.b.block, kRowsOfFold, [&](auto fold) {
    const int64_t padded = PaddedOutputs<T, fold.value>(task.b.block);
    const int64_t margin = task.b_margin * padded;
    T* panel = static_cast<T*>(task.b_panel) +
               task.begin * task.b_panel_cells * padded;
    PackSide<fold.value, X>(task, task.b, task.begin, task.end, padded,
                            task.b_panel_cells, panel + margin);
    for (int64_t i = task.begin; i < task.end; ++i) {
      T* const after = panel + margin + task.b.cells * task.images * padded;
      for (int64_t j = 0; j < margin; ++j) panel[j] = after[j] = 0;
      panel += task.b_panel_cells * padded;
    }
  });
}

// The blocks of one input block at a group of taps.
template <typename X, typename Stored, int kFold, int kGroup, int kColumns,
          typename To>
void MultiplyTaps(const ConvSampledTask& task, const ConvTapGroup& group,
                  int64_t input_block, const Compute<X>* a, To* to) {
  using T = Compute<X>;
  const ConvSampledProblem& p = *task.problem;
  const Layout& layout = p.layout;
  const LayoutView& view = layout.transposed;
  const int64_t a_padded = PaddedInputs<T, kFold>(layout.block_inputs);
  const int64_t padded = PaddedOutputs<T, kFold>(layout.block_outputs);
  const int64_t size =
      static_cast<int64_t>(layout.block_inputs) * layout.block_outputs;
  const int64_t steps = task.positions + (p.adjoint ? 0 : group.extra);
  const SampledTiles<T, To> tiles = {
      steps / kFold,
      a_padded * kFold,
      padded * kFold,
      layout.block_outputs,
      task.first_pass ? nullptr : static_cast<const T*>(task.partial),
      to,
      task.last_pass && p.gate != nullptr};
  const Cleared cleared = ClearedBy<Stored, T>(task);
  const int64_t first = group.taps[0].offset;
  if (!p.adjoint) a += first * a_padded;
  const int64_t left = p.inputs - input_block * layout.block_inputs;
  const int64_t inputs =
      left < layout.block_inputs ? left : layout.block_inputs;
  ColumnQueue<kFold, kGroup, kColumns, T, To> queue(tiles, a, inputs);
  int64_t last = 0;
  for (int64_t t = 0; t < group.count; ++t) {
    const ConvTap& tap = group.taps[t];
    const T* const b =
        static_cast<const T*>(task.b_panel) +
        (p.adjoint ? tap.offset : task.b_margin - (tap.offset - first)) *
            padded;
    const int64_t row =
        p.shared_taps ? input_block : input_block * task.kernel_taps + tap.tap;
    for (int64_t e = view.splits[row]; e < view.splits[row + 1]; ++e) {
      const int64_t block = view.block_id[e];
      const int64_t sums =
          (p.shared_taps ? block * task.kernel_taps + tap.tap : block) * size;
      const T scale = !group.live         ? T(0)
                      : p.gate == nullptr ? T(1)
                                          : T(p.gate[block]);
      last = sums;
      AddBlock(layout, view.index[e], inputs,
               b + view.index[e] * task.b_panel_cells * padded, sums, scale,
               cleared, &queue);
    }
  }
  queue.Finish([&](int64_t) { return last; });
}

template <typename X, typename Stored, int kFold, int kGroup, int kColumns,
          typename To>
void ConvSampledFolded(const ConvSampledTask& task, To* to) {
  using T = Compute<X>;
  const int64_t block = task.a.block;
  const int64_t a_padded = PaddedInputs<T, kFold>(block);
  const int64_t strip_blocks = ConvStripBlocks(block);
  const int64_t input_blocks = (task.a.features + block - 1) / block;
  for (int64_t pair = task.begin; pair < task.end; ++pair) {
    const int64_t input_block = pair / task.group_count;
    const int64_t strip = input_block / strip_blocks;
    const int64_t first = strip * strip_blocks;
    if (*task.strip != strip) {
      const int64_t end = first + strip_blocks < input_blocks
                              ? first + strip_blocks
                              : input_blocks;
      PackSide<kFold, X>(task, task.a, first, end, a_padded,
                         task.a.cells * task.images,
                         static_cast<T*>(task.a_panel));
      *task.strip = strip;
    }
    const T* const a =
        static_cast<const T*>(task.a_panel) +
        (input_block - first) * task.a.cells * task.images * a_padded;
    MultiplyTaps<X, Stored, kFold, kGroup, kColumns>(
        task, task.groups[pair % task.group_count], input_block, a, to);
  }
}

// Rows of narrow blocks are few as well, see sampled_matmul_kernel.h.
template <typename X, typename Stored, int kGroup, int kColumns, typename To>
void ConvSampledTo(const ConvSampledTask& task, To* to) {
  const Layout& layout = task.problem->layout;
  WithFold<Compute<X>>(layout.block_outputs, kRowsOfFold, [&](auto fold) {
    constexpr int kFold = fold.value;
    if (layout.block_inputs <= kGroup / 2) {
      ConvSampledFolded<X, Stored, kFold, kGroup / 2, 2 * kColumns>(task, to);
    } else {
      ConvSampledFolded<X, Stored, kFold, kGroup, kColumns>(task, to);
    }
  });
}

template <typename X, typename Stored, int kGroup, int kColumns>
void ConvSampled(const ConvSampledTask& task) {
  if (task.last_pass) {
    ConvSampledTo<X, Stored, kGroup, kColumns>(
        task, static_cast<Stored*>(task.problem->blocks));
  } else {
    ConvSampledTo<X, Stored, kGroup, kColumns>(
        task, static_cast<Compute<X>*>(task.partial));
  }
}

template <typename T>
ConvSampledPadding PaddingOf(int64_t block_inputs, int64_t block_outputs) {
  ConvSampledPadding padding = {};
  WithFold<T>(block_outputs, kRowsOfFold, [&](auto fold) {
    padding = {fold.value, PaddedInputs<T, fold.value>(block_inputs),
               PaddedOutputs<T, fold.value>(block_outputs)};
  });
  return padding;
}

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_SAMPLED_KERNEL_H_
