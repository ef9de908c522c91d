// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What both families of matmul kernels share: blocks made ready to multiply,
// and the way from a finished tile to y.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_MATMUL_COMMON_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_MATMUL_COMMON_H_

#include "cc/kernels/cpu/activation.h"
#include "cc/kernels/cpu/kernel_table.h"
#include "cc/kernels/cpu/transpose.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

// One block, ready to multiply.
template <typename T, typename Stored>
struct BlockRef {
  const T* weights;      // [block_inputs][block_outputs], if of type T
  const T* inputs;       // where its source features begin
  int64_t depth;         // source features that exist
  const Stored* stored;  // the block as it is in memory
  const Stored* ahead;   // the same place of the next chunk
  const T* next_inputs;  // the inputs of the next block: prefetch them
};

// Widens block `from` into `to` and multiplies it by `gate`.
template <typename T, typename Stored>
inline void StageBlock(const Stored* from, int64_t size, T gate, T* to) {
  constexpr int kLanes = kFullLanes<T>;
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    Store<kLanes>(Load<kLanes>(from + i) * gate, to + i);
  }
  for (; i < size; ++i) to[i] = static_cast<T>(Widen(from[i])) * gate;
}

// Collects blocks of entries [entry, end) into `refs` until the chunk is full.
// A closed gate leaves its block out. Returns the entry to go on with.
template <typename T, typename Stored>
int64_t CollectChunk(const MatmulTask& task, int64_t entry, int64_t end,
                     int64_t input_stride, BlockRef<T, Stored>* refs,
                     int* count) {
  const MatmulProblem& problem = *task.problem;
  const LayoutView& view = task.view;
  const Stored* blocks = static_cast<const Stored*>(problem.blocks);
  const T* inputs = static_cast<const T*>(task.inputs);
  const int64_t size =
      static_cast<int64_t>(task.source_block) * task.target_block;
  const int64_t last = view.nnz - 1;
  *count = 0;
  for (; entry < end && *count < task.chunk; ++entry) {
    const int64_t id = BlockId(view, entry);
    T gate = 1;
    if (problem.gate != nullptr) {
      gate = problem.gate[id];
      if (gate == 0) continue;
    }
    BlockRef<T, Stored>& ref = refs[*count];
    if constexpr (std::is_same_v<T, Stored>) ref.weights = blocks + id * size;
    if (task.staging != nullptr) {
      T* staged = static_cast<T*>(task.staging) + *count * size;
      StageBlock<T, Stored>(blocks + id * size, size, gate, staged);
      ref.weights = staged;
    }
    const int64_t source =
        static_cast<int64_t>(view.index[entry]) * task.source_block;
    const int64_t left = task.source_features - source;
    ref.depth = left < task.source_block ? left : task.source_block;
    ref.inputs = inputs + source * input_stride;
    ref.stored = blocks + id * size;
    const int64_t ahead = entry + task.chunk;
    ref.ahead = blocks + BlockId(view, ahead < last ? ahead : last) * size;
    const int64_t next = entry < last ? entry + 1 : last;
    ref.next_inputs = inputs + static_cast<int64_t>(view.index[next]) *
                                   task.source_block * input_stride;
    ++*count;
  }
  return entry;
}

// Adds the bias to `tile`, stores it as the preactivation where that is
// wanted, applies the activation and stores y. Element (target feature j, row
// n) of the tile is tile[j * feature_stride + n * row_stride], one of them 1;
// the strided side is a multiple of the register, and readable beyond `rows`
// and `features`.
template <typename T, typename X>
void FinishTile(const MatmulTask& task, int64_t target, T* tile,
                int64_t feature_stride, int64_t row_stride) {
  constexpr int kLanes = kFullLanes<T>;
  const MatmulProblem& problem = *task.problem;
  const int64_t first = target * task.target_block;
  const int64_t left = task.target_features - first;
  const int64_t features = left < task.target_block ? left : task.target_block;
  const bool rows_inside = row_stride == 1;
  const int64_t outer = rows_inside ? features : task.rows;
  const int64_t inner = rows_inside ? task.rows : features;
  const int64_t stride = rows_inside ? feature_stride : row_stride;
  const X* bias = static_cast<const X*>(problem.bias);

  const auto write = [&](void* y) {
    X* to = static_cast<X*>(y);
    const int64_t to_stride =
        problem.features_first ? problem.rows : task.target_features;
    to += problem.features_first ? first * to_stride + task.row
                                 : task.row * to_stride + first;
    if (rows_inside == problem.features_first) {
      Copy(tile, stride, outer, inner, to, to_stride);
    } else {
      CopyTransposed(tile, stride, outer, inner, to, to_stride);
    }
  };
  const auto for_each_vector = [&](const auto& change) {
    for (int64_t i = 0; i < outer; ++i) {
      for (int64_t j = 0; j < inner; j += kLanes) {
        T* at = tile + i * stride + j;
        Store<kLanes>(change(Load<kLanes>(at), i, j), at);
      }
    }
  };

  if (bias != nullptr) {
    bias += first;
    for_each_vector([&](Vector<T, kLanes> z, int64_t i, int64_t j) {
      if (rows_inside) return z + static_cast<T>(Widen(bias[i]));
      if (j + kLanes <= inner) return z + Load<kLanes>(bias + j);
      for (int lane = 0; j + lane < inner; ++lane) {
        z[lane] += static_cast<T>(Widen(bias[j + lane]));
      }
      return z;
    });
  }
  if (problem.preactivation != nullptr) write(problem.preactivation);
  if (problem.activation != Activation::kNone) {
    for_each_vector([&](Vector<T, kLanes> z, int64_t, int64_t) {
      return Activate<kLanes, T>(z, problem.activation);
    });
  }
  write(problem.y);
}

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_MATMUL_COMMON_H_
