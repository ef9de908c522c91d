// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Blocks made ready to multiply, a chunk at a time, for both families of matmul
// kernels.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_MATMUL_BLOCKS_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_MATMUL_BLOCKS_H_

#include "cc/kernels/cpu/kernel_table.h"
#include "cc/kernels/cpu/vector.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

// One block, ready to multiply: as it is in memory, or as StageBlock left it.
template <typename T, typename Weights>
struct BlockRef {
  const Weights* weights;  // [block_inputs][block_outputs]
  int64_t depth;           // source features that exist
  const T* inputs;         // its source features
  const Weights* ahead;    // weights of the block task.ahead later
};

// Widens block `from` into `to` and multiplies it by `gate`, if there is one.
// Fetches `ahead`, a block that is staged later, into the second-level cache:
// what is staged now needs the first.
template <typename T, typename Stored>
inline void StageBlock(const Stored* from, int64_t size, const float* gate,
                       const Stored* ahead, T* to) {
  constexpr int kLanes = kFullLanes<T>;
  const auto stage = [&](const auto& scale) {
    int64_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
      PrefetchFar(reinterpret_cast<uintptr_t>(ahead + i));
      Store<kLanes>(scale(Load<kLanes>(from + i)), to + i);
    }
    for (; i < size; ++i) to[i] = scale(static_cast<T>(Widen(from[i])));
  };
  if (gate == nullptr) {
    stage([](auto value) { return value; });
  } else {
    const T factor = *gate;
    stage([factor](auto value) { return value * factor; });
  }
}

template <bool kStaged, bool kInOrder, typename Stored, typename T,
          typename Weights>
int64_t CollectBlocks(const MatmulTask& task, int64_t entry, int64_t end,
                      int64_t input_stride, BlockRef<T, Weights>* refs,
                      int* count) {
  // Copied, since what is written to refs could otherwise be a part of them.
  const int32_t* const index = task.view.index;
  const int32_t* const ids = task.view.block_id;
  const int64_t last = task.view.nnz - 1;
  const int64_t chunk = task.chunk;
  const int64_t blocks_ahead = task.ahead;
  const Stored* const blocks = static_cast<const Stored*>(task.problem->blocks);
  const int64_t size =
      static_cast<int64_t>(task.source_block) * task.target_block;
  const T* const inputs = static_cast<const T*>(task.inputs);
  const int64_t source_step = task.source_block * input_stride;
  const int64_t last_source = (task.source_features - 1) / task.source_block;
  const int64_t depth = task.source_block;
  const int64_t last_depth =
      task.source_features - last_source * task.source_block;
  const auto block_of = [&](int64_t e) {
    return blocks + (kInOrder ? e : ids[e]) * size;
  };
  BlockRef<T, Weights>* ref = refs;
  BlockRef<T, Weights>* const full = refs + chunk;
  for (; entry < end && ref < full; ++entry) {
    const Stored* stored = block_of(entry);
    const int64_t later = entry + blocks_ahead;
    const Stored* ahead = block_of(later < last ? later : last);
    if constexpr (kStaged) {
      const float* gate = task.problem->gate;
      if (gate != nullptr) {
        gate += kInOrder ? entry : ids[entry];
        if (*gate == 0) continue;
      }
      T* staged = static_cast<T*>(task.staging) + (ref - refs) * size;
      StageBlock<T, Stored>(stored, size, gate, ahead, staged);
      ref->weights = ref->ahead = staged;
    } else {
      ref->weights = stored;
      ref->ahead = ahead;
    }
    const int64_t source = index[entry];
    ref->depth = source == last_source ? last_depth : depth;
    ref->inputs = inputs + source * source_step;
    ++ref;
  }
  *count = static_cast<int>(ref - refs);
  ref->inputs = inputs + index[entry < last ? entry : last] * source_step;
  return entry;
}

// Collects blocks of entries [entry, end) into `refs` until the chunk is full.
// A closed gate leaves its block out. Behind the last one stands one more, of
// which only `inputs` is set: those that come next. Returns the entry to go on
// with.
template <typename Stored, typename T, typename Weights>
int64_t CollectChunk(const MatmulTask& task, int64_t entry, int64_t end,
                     int64_t input_stride, BlockRef<T, Weights>* refs,
                     int* count) {
  const bool in_order = task.view.block_id == nullptr;
  if constexpr (std::is_same_v<Weights, Stored>) {
    if (task.staging == nullptr) {
      return in_order ? CollectBlocks<false, true, Stored>(
                            task, entry, end, input_stride, refs, count)
                      : CollectBlocks<false, false, Stored>(
                            task, entry, end, input_stride, refs, count);
    }
  }
  if constexpr (std::is_same_v<Weights, T>) {
    return in_order ? CollectBlocks<true, true, Stored>(
                          task, entry, end, input_stride, refs, count)
                    : CollectBlocks<true, false, Stored>(
                          task, entry, end, input_stride, refs, count);
  }
  __builtin_unreachable();  // another type is staged if and only if it is T
}

// Calls multiply() for the blocks in `refs`; if it is one block that is too
// large for the first-level cache, for a piece of it after the other, as the
// only one in `refs`.
template <typename T, typename Weights, typename Multiply>
void ForEachPiece(const MatmulTask& task, int64_t input_stride,
                  BlockRef<T, Weights>* refs, int count,
                  const Multiply& multiply) {
  const int64_t piece = task.piece;
  if (count != 1 || refs[0].depth <= piece) return multiply();
  const BlockRef<T, Weights> whole = refs[0];
  const T* next_inputs = refs[1].inputs;
  // From the weights of one input to those of the next.
  const int64_t step = task.problem->transpose ? 1 : task.target_block;
  for (int64_t d = 0; d < whole.depth; d += piece) {
    const bool last = d + piece >= whole.depth;
    refs[0].weights = whole.weights + d * step;
    refs[0].depth = last ? whole.depth - d : piece;
    refs[0].inputs = whole.inputs + d * input_stride;
    refs[0].ahead = last ? whole.ahead : refs[0].weights + piece * step;
    refs[1].inputs = last ? next_inputs : refs[0].inputs + piece * input_stride;
    multiply();
  }
}

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_MATMUL_BLOCKS_H_
