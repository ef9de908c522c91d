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

// Feature blocks [begin, end) of a side, to panels of [cell / kFold][column]
// [kFold], in each of which kFold images share a place.
template <int kFold, typename X, typename T>
void PackSide(const ConvSampledTask& task, const ConvSide& side, int64_t begin,
              int64_t end, int64_t padded, T* panels) {
  const int64_t block = side.block;
  const int64_t first = begin * block;
  const int64_t last =
      end * block < side.features ? end * block : side.features;
  const int64_t panel = side.cells * task.images * padded;
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
  const int64_t padded = PaddedColumns<T>(task.b.block);
  WithFold<T>(task.b.block, [&](auto fold) {
    PackSide<fold.value, X>(
        task, task.b, task.begin, task.end, padded,
        static_cast<T*>(task.b_panel) +
            task.begin * task.b.cells * task.images * padded);
  });
}

// The blocks of one input block at one tap.
struct ConvSampledRow {
  int64_t begin;  // entries of the transposed view
  int64_t end;
  int64_t input;  // block
  int64_t tap;
};

template <typename X, typename Stored, int kFold, int kGroup, int kColumns,
          typename To>
void MultiplyRow(const ConvSampledTask& task, const ConvSampledRow& row,
                 const Compute<X>* a, To* to) {
  using T = Compute<X>;
  constexpr int kLanes = kFullLanes<T> / kFold;
  const ConvSampledProblem& p = *task.problem;
  const Layout& layout = p.layout;
  const LayoutView& view = layout.transposed;
  const int64_t padded = PaddedColumns<T>(layout.block_outputs);
  const int64_t size =
      static_cast<int64_t>(layout.block_inputs) * layout.block_outputs;
  const int64_t offset = task.tap_offsets[row.tap];
  const SampledTiles<T, To> tiles = {
      task.steps / kFold,
      layout.block_inputs * kFold,
      padded * kFold,
      layout.block_outputs,
      task.first_pass ? nullptr : static_cast<const T*>(task.partial),
      to,
      task.last_pass && p.gate != nullptr};
  // The fine side is shifted.
  const T* b = static_cast<const T*>(task.b_panel);
  if (p.adjoint) {
    b += offset * padded;
  } else {
    a += offset * layout.block_inputs;
  }
  const int64_t left = p.inputs - row.input * layout.block_inputs;
  const int64_t inputs =
      left < layout.block_inputs ? left : layout.block_inputs;
  // As many registers as are multiplied before the list is made anew.
  constexpr int kListed = 8 * kColumns;
  SampledColumns<T> listed[kListed + kColumns] = {};
  int count = 0;
  const auto place = [&](int64_t entry) {
    const int64_t block = view.block_id[entry];
    return p.shared_taps ? (block * task.kernel_taps + row.tap) * size
                         : block * size;
  };
  const auto flush = [&](int64_t entry) {
    // What comes after these, to be prefetched.
    for (int j = 0; j < kColumns; ++j, ++entry) {
      listed[count + j].sums =
          entry < row.end ? place(entry) : listed[count - 1].sums;
    }
    AccumulateColumns<kFold, kGroup, kColumns>(tiles, a, inputs, listed, count);
    count = 0;
  };
  for (int64_t entry = row.begin; entry < row.end; ++entry) {
    const int64_t rest = p.outputs - static_cast<int64_t>(view.index[entry]) *
                                         layout.block_outputs;
    const int64_t outputs =
        rest < layout.block_outputs ? rest : layout.block_outputs;
    const T scale = p.gate == nullptr ? T(1) : T(p.gate[view.block_id[entry]]);
    const bool zero = scale == 0 || offset < 0;
    const bool partly =
        inputs < layout.block_inputs || outputs < layout.block_outputs;
    const int64_t sums = place(entry);
    if (task.first_pass && (zero || partly)) {
      __builtin_memset(static_cast<Stored*>(p.blocks) + sums, 0,
                       size * sizeof(Stored));
    }
    if (zero) continue;
    const T* const panel =
        b + view.index[entry] * task.b.cells * task.images * padded;
    for (int64_t first = 0; first < outputs; first += kLanes) {
      listed[count++] = {panel + first * kFold, sums + first, outputs - first,
                         scale};
      if (count == kListed) flush(entry + 1);
    }
  }
  if (count > 0) flush(row.end);
}

template <typename X, typename Stored, int kFold, int kGroup, int kColumns,
          typename To>
void ConvSampledFolded(const ConvSampledTask& task, To* to) {
  using T = Compute<X>;
  const ConvSampledProblem& p = *task.problem;
  const LayoutView& view = p.layout.transposed;
  const int64_t block = p.layout.block_inputs;
  const int64_t strip_blocks = ConvStripBlocks(block);
  const int64_t input_blocks = (p.inputs + block - 1) / block;
  for (int64_t pair = task.begin; pair < task.end; ++pair) {
    ConvSampledRow row;
    row.input = pair / task.kernel_taps;
    row.tap = pair % task.kernel_taps;
    const int64_t target = p.shared_taps ? row.input : pair;
    row.begin = view.splits[target];
    row.end = view.splits[target + 1];
    if (row.begin == row.end) continue;
    const int64_t strip = row.input / strip_blocks;
    const int64_t first = strip * strip_blocks;
    if (*task.strip != strip) {
      const int64_t end = first + strip_blocks < input_blocks
                              ? first + strip_blocks
                              : input_blocks;
      PackSide<kFold, X>(task, task.a, first, end, block,
                         static_cast<T*>(task.a_panel));
      *task.strip = strip;
    }
    const T* const a = static_cast<const T*>(task.a_panel) +
                       (row.input - first) * task.a.cells * task.images * block;
    MultiplyRow<X, Stored, kFold, kGroup, kColumns>(task, row, a, to);
  }
}

// Rows of narrow blocks are few as well, see sampled_matmul_kernel.h.
template <typename X, typename Stored, int kGroup, int kColumns, typename To>
void ConvSampledTo(const ConvSampledTask& task, To* to) {
  const Layout& layout = task.problem->layout;
  WithFold<Compute<X>>(layout.block_outputs, [&](auto fold) {
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
int64_t FoldOf(int64_t block_outputs) {
  int64_t images = 1;
  WithFold<T>(block_outputs, [&](auto fold) { images = fold.value; });
  return images;
}

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_SAMPLED_KERNEL_H_
