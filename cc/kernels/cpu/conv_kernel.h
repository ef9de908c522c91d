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
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_KERNEL_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_KERNEL_H_

#include "cc/kernels/cpu/conv_pixels.h"
#include "cc/kernels/cpu/lines_ahead.h"
#include "cc/kernels/cpu/matmul_rows.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

// Walks the taps of the blocks of target blocks [begin, end), each target's in
// the order of its blocks.
class TapWalk {
 public:
  TapWalk(const ConvTask& task, int64_t begin, int64_t end)
      : task_(task), target_(begin), end_(end) {
    StartTarget();
  }

  // The tap at hand.
  bool done() const { return target_ == end_; }
  int64_t target() const { return target_; }
  int64_t block() const { return BlockId(task_.view, entry_); }
  int64_t source() const {
    const int64_t index = task_.view.index[entry_];
    return by_row_ ? index / task_.kernel_taps : index;
  }
  // Of [nnz, taps] or, where a block has one tap, of [nnz].
  int64_t matrix() const {
    return task_.problem->shared_taps
               ? block() * task_.kernel_taps + task_.taps[tap_].tap
               : block();
  }
  int64_t offset() const {
    return by_row_ ? RowOffset() : task_.taps[tap_].offset;
  }

  void Next() {
    if (task_.problem->shared_taps && ++tap_ < task_.tap_count) return;
    if (task_.problem->shared_taps) tap_ = 0;
    ++entry_;
    Settle();
  }

 private:
  int64_t RowOffset() const {
    return task_.tap_offsets[task_.view.index[entry_] % task_.kernel_taps];
  }

  void StartTarget() {
    by_row_ = !task_.problem->shared_taps && !task_.problem->transpose;
    tap_ = 0;
    if (done()) return;
    SetEntries();
    Settle();
  }

  // Transposed, a target block is a row of blocks for each tap.
  void SetEntries() {
    int64_t row = target_;
    if (!task_.problem->shared_taps && task_.problem->transpose) {
      if (task_.tap_count == 0) {
        entry_ = entry_end_ = 0;
        return;
      }
      row = target_ * task_.kernel_taps + task_.taps[tap_].tap;
    }
    entry_ = task_.view.splits[row];
    entry_end_ = task_.view.splits[row + 1];
  }

  // Goes on to an entry that has a tap.
  void Settle() {
    while (!done()) {
      if (task_.tap_count == 0) entry_ = entry_end_;
      while (by_row_ && entry_ < entry_end_ && RowOffset() < 0) ++entry_;
      if (entry_ < entry_end_) return;
      const bool by_tap =
          !task_.problem->shared_taps && task_.problem->transpose;
      if (!by_tap || ++tap_ >= task_.tap_count) {
        tap_ = 0;
        if (++target_ == end_) return;
      }
      SetEntries();
    }
  }

  const ConvTask& task_;
  int64_t target_;
  int64_t end_;
  int64_t entry_ = 0;
  int64_t entry_end_ = 0;
  int64_t tap_ = 0;  // of task.taps
  bool by_row_ = false;
};

// A run of taps of one target block.
struct TapRun {
  int64_t target;
  int begin;
  int end;
};

// Lines of y that will be written, to be fetched a few at a time: all at once
// would fill the buffers that x and the weights come through.
struct LineQueue {
  const int64_t* pixels;  // the next one's, and their end
  const int64_t* end;
  uintptr_t y;
  int64_t element;
  int at_once;
};

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
  const int64_t* pixel = lines->pixels;
  const int64_t* const last_pixel = lines->end;
  for (int r = 0; r < count; ++r) {
    for (int i = 0; i < lines->at_once && pixel < last_pixel; ++i, ++pixel) {
      if (*pixel >= 0) {
        PrefetchWrite(
            reinterpret_cast<const char*>(lines->y + *pixel * lines->element));
      }
    }
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
  lines->pixels = pixel;
#pragma GCC unroll 16
  for (int g = 0; g < kGroup; ++g) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      Store<kLanes>(acc[g][v], tile + g * kRows + v * kLanes);
    }
  }
}

// AccumulatePixels for groups of `outputs`.
template <typename T>
struct PixelKernel {
  int outputs;
  void (*accumulate)(const BlockRef<T, T>* refs, int count,
                     const PixelGroup& group, LineQueue* lines, T* tile);
};

template <bool kTranspose, int kGroup, int kVectors, typename T>
PixelKernel<T> FullPixels(int64_t block_outputs) {
  switch (block_outputs) {
    case 8:
      return {kGroup, AccumulatePixels<kTranspose, 8, kGroup, kVectors, T>};
    case 16:
      return {kGroup, AccumulatePixels<kTranspose, 16, kGroup, kVectors, T>};
    case 32:
      return {kGroup, AccumulatePixels<kTranspose, 32, kGroup, kVectors, T>};
    default:
      return {kGroup, AccumulatePixels<kTranspose, 0, kGroup, kVectors, T>};
  }
}

template <bool kTranspose, int kGroup, int kVectors, typename T>
void LesserPixels(PixelKernel<T>* kernels) {
  kernels[0] = {kGroup, AccumulatePixels<kTranspose, 0, kGroup, kVectors, T>};
  if constexpr (kGroup > 1) {
    LesserPixels<kTranspose, kGroup / 2, kVectors, T>(kernels + 1);
  }
}

template <bool kTranspose, int kGroup, int kVectors, typename T>
void AllPixels(int64_t block_outputs, PixelKernel<T>* kernels) {
  kernels[0] = FullPixels<kTranspose, kGroup, kVectors, T>(block_outputs);
  LesserPixels<kTranspose, kGroup / 2, kVectors, T>(kernels + 1);
}

// The taps that are multiplied together, a run for each target block.
template <typename T>
struct TapChunk {
  BlockRef<T, T> refs[kConvChunk + 1];
  TapRun runs[kConvChunk];
  int count = 0;
  int run_count = 0;
};

template <typename Stored, typename T>
void CollectTaps(const ConvTask& task, TapWalk* walk, TapChunk<T>* chunk) {
  const ConvProblem& problem = *task.problem;
  const Stored* const blocks = static_cast<const Stored*>(problem.blocks);
  const int64_t size =
      static_cast<int64_t>(task.source_block) * task.target_block;
  const int64_t last_source = (task.source_features - 1) / task.source_block;
  const int64_t last_depth =
      task.source_features - last_source * task.source_block;
  const T* const panel = static_cast<const T*>(task.panel);
  chunk->count = 0;
  chunk->run_count = 0;
  int64_t inputs = 0;
  for (; !walk->done() && chunk->count < kConvChunk && inputs < kConvInputs;
       walk->Next()) {
    const float* gate = problem.gate;
    if (gate != nullptr) {
      gate += walk->block();
      if (*gate == 0) continue;
    }
    const Stored* stored = blocks + walk->matrix() * size;
    BlockRef<T, T>& ref = chunk->refs[chunk->count];
    if (task.staging != nullptr) {
      T* staged = static_cast<T*>(task.staging) + chunk->count * size;
      StageBlock<T, Stored>(stored, size, gate, stored, staged);
      ref.weights = staged;
    } else if constexpr (std::is_same_v<T, Stored>) {
      ref.weights = stored;
    }
    const int64_t source = walk->source();
    ref.depth = source == last_source ? last_depth : task.source_block;
    ref.inputs =
        panel + source * task.source_block * task.panel_stride + walk->offset();
    if (chunk->run_count == 0 ||
        chunk->runs[chunk->run_count - 1].target != walk->target()) {
      chunk->runs[chunk->run_count++] = {walk->target(), chunk->count,
                                         chunk->count};
    }
    inputs += task.source_block;
    chunk->runs[chunk->run_count - 1].end = ++chunk->count;
  }
  // Inputs ahead of which weights are fetched.
  constexpr int kInputsAhead = 64;
  const int ahead = kInputsAhead / task.source_block + 1;
  for (int r = 0; r < chunk->count; ++r) {
    const int later = r + ahead < chunk->count ? r + ahead : chunk->count - 1;
    chunk->refs[r].ahead = chunk->refs[later].weights;
  }
  // What comes next is the next tile.
  chunk->refs[chunk->count].inputs = chunk->refs[0].inputs;
}

template <typename X, typename Stored, int kGroup, int kVectors>
void ConvPixels(const ConvTask& task) {
  using T = Compute<X>;
  constexpr int kRows = kTileRows<T, kVectors>;
  constexpr int kMaxGroups = 8;
  const ConvProblem& problem = *task.problem;
  const int64_t target_block = task.target_block;
  const int64_t tile_size = ConvTileFeatures(task, kFullLanes<T>) * kRows;
  PixelKernel<T> kernels[kMaxGroups];
  const int64_t block_outputs = problem.layout.block_outputs;
  if (problem.transpose) {
    AllPixels<true, kGroup, kVectors>(block_outputs, kernels);
  } else {
    AllPixels<false, kGroup, kVectors>(block_outputs, kernels);
  }
  TapChunk<T> chunk;
  PixelWriter<T, X, kRows> writer(task);
  const int groups = (target_block + kGroup - 1) / kGroup;
  LinesAhead next(
      static_cast<const char*>(task.next), 0, 1, task.next_bytes,
      (task.target_end - task.target_begin) * groups * task.tile_count);
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
        LineQueue lines = {pixels, pixels,
                           reinterpret_cast<uintptr_t>(problem.y) +
                               first * static_cast<int64_t>(sizeof(X)),
                           sizeof(X), kRows / (chunk.count * groups + 1) + 1};
        if (last_chunk && !problem.features_first) lines.end += kRows;
        for (int i = 0; i < chunk.run_count; ++i) {
          const TapRun& run = chunk.runs[i];
          T* const run_sums =
              sums + (run.target - begin) * target_block * kRows;
          const PixelKernel<T>* kernel = kernels;
          for (group.first = 0; group.first < target_block;
               group.first += kernel->outputs) {
            while (group.first + kernel->outputs > target_block) ++kernel;
            writer.WriteSome();
            next.Fetch();
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

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_KERNEL_H_
