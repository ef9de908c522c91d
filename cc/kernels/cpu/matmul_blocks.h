// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier:
// Apache-2.0 Blocks made ready to multiply, a chunk at a time, for both
// families of matmul kernels.
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
  const Weights* ahead;    // weights of the block a chunk later, to prefetch
};

// Widens block `from` into `to` and multiplies it by `gate`. Prefetches
// `ahead`, a block that is staged later.
template <typename T, typename Stored>
inline void StageBlock(const Stored* from, int64_t size, T gate,
                       const Stored* ahead, T* to) {
  constexpr int kLanes = kFullLanes<T>;
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    Prefetch(reinterpret_cast<uintptr_t>(ahead + i));
    Store<kLanes>(Load<kLanes>(from + i) * gate, to + i);
  }
  for (; i < size; ++i) to[i] = static_cast<T>(Widen(from[i])) * gate;
}

template <bool kStaged, typename Stored, typename T, typename Weights>
int64_t CollectBlocks(const MatmulTask& task, int64_t entry, int64_t end,
                      int64_t input_stride, BlockRef<T, Weights>* refs,
                      int* count) {
  const float* gates = task.problem->gate;
  const Stored* blocks = static_cast<const Stored*>(task.problem->blocks);
  const T* inputs = static_cast<const T*>(task.inputs);
  // Copied, since what is written to refs could otherwise be a part of it.
  const LayoutView view = task.view;
  const int64_t source_block = task.source_block;
  const int64_t source_features = task.source_features;
  const int64_t size = source_block * task.target_block;
  const int64_t chunk = task.chunk;
  const int64_t last = view.nnz - 1;
  BlockRef<T, Weights>* ref = refs;
  for (; entry < end && ref < refs + chunk; ++entry) {
    const int64_t id = BlockId(view, entry);
    const int64_t later = entry + chunk;
    const int64_t later_id = BlockId(view, later < last ? later : last);
    const Stored* stored = blocks + id * size;
    const Stored* ahead = blocks + later_id * size;
    if constexpr (kStaged) {
      T gate = 1;
      if (gates != nullptr) {
        gate = gates[id];
        if (gate == 0) continue;
      }
      T* staged = static_cast<T*>(task.staging) + (ref - refs) * size;
      StageBlock<T, Stored>(stored, size, gate, ahead, staged);
      ref->weights = ref->ahead = staged;
    } else {
      ref->weights = stored;
      ref->ahead = ahead;
    }
    const int64_t source = view.index[entry] * source_block;
    const int64_t left = source_features - source;
    ref->depth = left < source_block ? left : source_block;
    ref->inputs = inputs + source * input_stride;
    ++ref;
  }
  *count = static_cast<int>(ref - refs);
  ref->inputs = inputs + view.index[entry < last ? entry : last] *
                             source_block * input_stride;
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
  if constexpr (std::is_same_v<Weights, Stored>) {
    if (task.staging == nullptr) {
      return CollectBlocks<false, Stored>(task, entry, end, input_stride, refs,
                                          count);
    }
  }
  if constexpr (std::is_same_v<Weights, T>) {
    return CollectBlocks<true, Stored>(task, entry, end, input_stride, refs,
                                       count);
  }
  __builtin_unreachable();  // another type is staged if and only if it is T
}

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_MATMUL_BLOCKS_H_
