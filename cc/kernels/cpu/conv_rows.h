// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// y = x * W over a band of pixels, see conv_bands.h: for each target block,
//
//   for each tile of pixels of the band:
//     for each group of kGroup outputs of the target block:
//       acc[kGroup][kVectors] = 0
//       for each block of the target block, for each tap, for each input d:
//         acc[g][v] += panel[d][tile + tap][v] * broadcast(W[tap][d][g])
//
// The product of matmul_rows.h, whose rows are pixels and whose inputs are
// every tap of every feature: shifted rows of the panel.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_ROWS_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_ROWS_H_

#include "cc/kernels/cpu/conv_pixels.h"
#include "cc/kernels/cpu/conv_taps.h"
#include "cc/kernels/cpu/matmul_rows.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

// A group of outputs of a target block, and a tile of pixels.
struct PixelGroup {
  int64_t block_outputs;
  int64_t first;  // output of the target block
  int64_t cell;   // of the panel
  int64_t panel_stride;
  bool fresh;  // no sums yet
};

// tile[g][.] += the products of `refs`, for a group of kGroup outputs.
// kBlockOutputs is their block_outputs, or 0 for any.
template <bool kTranspose, int kBlockOutputs, int kGroup, int kVectors,
          typename T>
void AccumulatePixels(const BlockRef<T, T>* refs, int count,
                      const PixelGroup& group, LineQueue* lines, T* tile) {
  constexpr int kLanes = kFullLanes<T>;
  constexpr int kRows = kTileRows<T, kVectors>;
  constexpr int kUnroll = 4;
  typedef Vector<T, kLanes> V;
  const int64_t width = kBlockOutputs > 0 ? kBlockOutputs : group.block_outputs;
  // From one input to the next, and from one output to the next.
  const int64_t step = kTranspose ? 1 : width;
  const int64_t across = kTranspose ? width : 1;
  const int64_t start = group.first * across;
  const int64_t stride = group.panel_stride;
  const int64_t ahead_step = kTranspose ? kGroup : width;
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
    lines->Fetch();
    const T* w = refs[r].weights + start;
    const T* x = refs[r].inputs + group.cell;
    const T* next = refs[r + 1].inputs + group.cell;
    uintptr_t ahead = reinterpret_cast<uintptr_t>(refs[r].ahead + start);
    int64_t left = refs[r].depth;
    for (; left >= kUnroll; left -= kUnroll) {
#pragma GCC unroll 4
      for (int d = 0; d < kUnroll; ++d) {
        Prefetch(ahead + d * ahead_step * sizeof(T));
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          Prefetch(reinterpret_cast<uintptr_t>(next + d * stride + v * kLanes));
        }
        MultiplyInput<kGroup, kVectors>(x + d * stride, w + d * step, across,
                                        acc);
      }
      next += kUnroll * stride;
      x += kUnroll * stride;
      w += kUnroll * step;
      ahead += kUnroll * ahead_step * sizeof(T);
    }
    for (; left > 0; --left) {
      MultiplyInput<kGroup, kVectors>(x, w, across, acc);
      x += stride;
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

// AccumulatePixels as FullGroup and its kin want it.
template <int kVectors, typename T>
struct PixelsFamily {
  using Function = void (*)(const BlockRef<T, T>* refs, int count,
                            const PixelGroup& group, LineQueue* lines, T* tile);
  template <bool kTranspose, int kBlockOutputs, int kGroup>
  static constexpr Function kAccumulate =
      AccumulatePixels<kTranspose, kBlockOutputs, kGroup, kVectors, T>;
};

template <typename X, typename Stored, int kGroup, int kVectors>
void ConvPixels(const ConvTask& task) {
  using T = Compute<X>;
  constexpr int kRows = kTileRows<T, kVectors>;
  const ConvProblem& problem = *task.problem;
  const int64_t target_block = task.target_block;
  const int64_t tile_size = ConvTileFeatures(task, kFullLanes<T>) * kRows;
  GroupKernel<PixelsFamily<kVectors, T>> kernels[kMaxGroups];
  const int64_t block_outputs = problem.layout.block_outputs;
  AllGroups<kGroup>(problem.transpose, block_outputs, kernels);
  TapChunk<T> chunk;
  PixelWriter<T, X, kRows> writer(task);
  const int groups = (target_block + kGroup - 1) / kGroup;
  BandAhead ahead(
      task, (task.target_end - task.target_begin) * groups * task.tile_count);
  int64_t stop;
  for (int64_t begin = task.target_begin; begin < task.target_end;
       begin = stop) {
    stop = begin + task.tile_targets;
    if (stop > task.target_end) stop = task.target_end;
    const int64_t first = begin * target_block;
    int64_t features = (stop - begin) * target_block;
    if (features > task.target_features - first) {
      features = task.target_features - first;
    }
    TapWalk walk(task, begin, stop);
    bool first_chunk = true;
    bool last_chunk;
    do {
      CollectTaps<Stored>(task, &walk, &chunk);
      last_chunk = walk.done();
      // All at once: sums need not be kept for all tiles, but for the one that
      // is written meanwhile.
      const bool at_once = first_chunk && last_chunk;
      const bool fresh = at_once && chunk.run_count == stop - begin;
      writer.WriteAll();
      for (int64_t tile = 0; tile < task.tile_count; ++tile) {
        T* const sums = static_cast<T*>(task.sums) +
                        (at_once ? tile % 2 : tile) * tile_size;
        if (first_chunk && !fresh) {
          for (int64_t i = 0; i < tile_size; ++i) sums[i] = 0;
        }
        PixelGroup group = {block_outputs, 0, task.tiles[tile],
                            task.panel_stride, fresh};
        const int64_t* const pixels = task.pixels + tile * kRows;
        LineQueue lines(task, pixels, last_chunk ? kRows : 0, first,
                        chunk.count * groups);
        for (int i = 0; i < chunk.run_count; ++i) {
          const TapRun& run = chunk.runs[i];
          T* const run_sums =
              sums + (run.target - begin) * target_block * kRows;
          const auto* kernel = kernels;
          for (group.first = 0; group.first < target_block;
               group.first += kernel->outputs) {
            while (group.first + kernel->outputs > target_block) ++kernel;
            writer.WriteSome();
            ahead.Fetch();
            kernel->accumulate(chunk.refs + run.begin, run.end - run.begin,
                               group, &lines, run_sums + group.first * kRows);
          }
        }
        if (last_chunk) {
          writer.WriteAll();
          FinishPixels<T, X, kRows>(task, pixels, first, features, sums);
          writer.Start(pixels, first, features, sums);
        }
      }
      first_chunk = false;
    } while (!last_chunk);
  }
  writer.WriteAll();
}

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_ROWS_H_
