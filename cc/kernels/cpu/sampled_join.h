// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Adds up the parts of a sampled product, the first one first, and writes the
// blocks.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_SAMPLED_JOIN_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_SAMPLED_JOIN_H_

#include "cc/kernels/cpu/sampled_parts.h"
#include "cc/kernels/cpu/vector.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

// kLanes elements from `at` on; `stride` lies between those of two parts.
template <int kLanes, typename T, typename Stored>
inline void JoinLanes(const SampledJoin& join, int64_t stride, int64_t at,
                      T scale) {
  const T* from = static_cast<const T*>(join.partial) + at;
  Vector<T, kLanes> sum = Load<kLanes>(from);
  for (int64_t part = 1; part < join.parts; ++part) {
    sum += Load<kLanes>(from + part * stride);
  }
  if (join.gate != nullptr) sum *= scale;
  Store<kLanes>(sum, static_cast<Stored*>(join.blocks) + at);
}

template <typename T, typename Stored>
inline void JoinRange(const SampledJoin& join, int64_t begin, int64_t end,
                      T scale) {
  constexpr int kLanes = kFullLanes<T>;
  const int64_t stride = join.elements();
  int64_t at = begin;
  for (; at + kLanes <= end; at += kLanes) {
    JoinLanes<kLanes, T, Stored>(join, stride, at, scale);
  }
  for (; at < end; ++at) JoinLanes<1, T, Stored>(join, stride, at, scale);
}

template <typename X, typename Stored>
void JoinParts(const SampledJoin& join) {
  using T = Compute<X>;
  const Layout& layout = *join.layout;
  const LayoutView& view = layout.forward;
  const int64_t size = join.block_elements();
  for (int64_t k = join.begin; k < join.end; ++k) {
    const int64_t right = layout.outputs - k * layout.block_outputs;
    const int64_t outputs =
        right < layout.block_outputs ? right : layout.block_outputs;
    for (int64_t e = view.splits[k]; e < view.splits[k + 1]; ++e) {
      const int64_t left =
          join.inputs - view.index[e] / join.taps * layout.block_inputs;
      const int64_t inputs =
          left < layout.block_inputs ? left : layout.block_inputs;
      const T scale = join.gate == nullptr ? T(1) : T(join.gate[e]);
      const bool whole =
          inputs == layout.block_inputs && outputs == layout.block_outputs;
      for (int64_t copy = 0; copy < join.copies; ++copy) {
        const int64_t at = (e * join.copies + copy) * size;
        if (whole && scale != 0) {
          JoinRange<T, Stored>(join, at, at + size, scale);
          continue;
        }
        // What a closed gate hides, or lies beyond the edges, is 0 whatever the
        // sums are.
        __builtin_memset(static_cast<Stored*>(join.blocks) + at, 0,
                         size * sizeof(Stored));
        for (int64_t i = 0; i < inputs && scale != 0; ++i) {
          const int64_t row = at + i * layout.block_outputs;
          JoinRange<T, Stored>(join, row, row + outputs, scale);
        }
      }
    }
  }
}

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_SAMPLED_JOIN_H_
