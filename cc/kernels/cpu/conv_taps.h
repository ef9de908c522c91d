// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The taps of blocks made ready to multiply, a chunk at a time, for both
// families of convolution kernels.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_TAPS_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_TAPS_H_

#include "cc/kernels/cpu/conv_table.h"
#include "cc/kernels/cpu/matmul_blocks.h"
#include "cc/kernels/cpu/transpose.h"

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
      if (task.transpose_staged) {
        // [outputs][inputs], so that weights of a source feature are together.
        CopyTransposed(stored, task.source_block, task.target_block,
                       task.source_block, staged, task.target_block);
        if (gate != nullptr) {
          StageBlock<T, T>(staged, size, gate, staged, staged);
        }
      } else {
        StageBlock<T, Stored>(stored, size, gate, stored, staged);
      }
      ref.weights = staged;
    } else if constexpr (std::is_same_v<T, Stored>) {
      ref.weights = stored;
    }
    const int64_t source = walk->source();
    ref.depth = source == last_source ? last_depth : task.source_block;
    ref.inputs =
        panel + source * task.block_stride + walk->offset() * task.cell_stride;
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

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_TAPS_H_
