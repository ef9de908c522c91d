// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Copies of matrices into and out of the order the kernels compute in.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_TRANSPOSE_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_TRANSPOSE_H_

#include "cc/kernels/cpu/vector.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

// One exchange of Eklundh's transpose: in groups of 2 kStep lanes, `low` gets
// the first halves of both vectors and `high` the second ones.
template <int kStep, int kLanes, typename V, int... kLane>
inline void Exchange(V& low, V& high, std::integer_sequence<int, kLane...>) {
  const V a = low;
  const V b = high;
  low = __builtin_shufflevector(
      a, b, ((kLane & kStep) ? kLanes + kLane - kStep : kLane)...);
  high = __builtin_shufflevector(
      a, b, ((kLane & kStep) ? kLanes + kLane : kLane + kStep)...);
}

template <int kStep, int kLanes, typename V>
inline void TransposeSteps(V (&rows)[kLanes]) {
  if constexpr (kStep > 0) {
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      if ((i & kStep) == 0) {
        Exchange<kStep, kLanes>(rows[i], rows[i + kStep],
                                std::make_integer_sequence<int, kLanes>());
      }
    }
    TransposeSteps<kStep / 2, kLanes>(rows);
  }
}

// to[j * to_stride + i] = from[i * from_stride + j] for i < rows, j < columns:
// squares of a full register's lanes, what is left over in squares of half the
// lanes, and so on.
template <typename To, typename From, int kLanes = kFullLanes<Compute<From>>>
void CopyTransposed(const From* from, int64_t from_stride, int64_t rows,
                    int64_t columns, To* to, int64_t to_stride) {
  const int64_t square_rows = rows / kLanes * kLanes;
  const int64_t square_columns = columns / kLanes * kLanes;
  for (int64_t i = 0; i < square_rows; i += kLanes) {
    for (int64_t j = 0; j < square_columns; j += kLanes) {
      const From* source = from + i * from_stride + j;
      To* target = to + j * to_stride + i;
      Vector<Compute<From>, kLanes> square[kLanes];
#pragma GCC unroll 16
      for (int r = 0; r < kLanes; ++r) {
        square[r] = Load<kLanes>(source + r * from_stride);
      }
      TransposeSteps<kLanes / 2, kLanes>(square);
#pragma GCC unroll 16
      for (int r = 0; r < kLanes; ++r) {
        Store<kLanes>(square[r], target + r * to_stride);
      }
    }
  }
  if constexpr (kLanes > 1) {
    if (square_columns < columns) {
      CopyTransposed<To, From, kLanes / 2>(
          from + square_columns, from_stride, square_rows,
          columns - square_columns, to + square_columns * to_stride, to_stride);
    }
    if (square_rows < rows) {
      CopyTransposed<To, From, kLanes / 2>(
          from + square_rows * from_stride, from_stride, rows - square_rows,
          columns, to + square_rows, to_stride);
    }
  }
}

// to[i] = from[i] for i < count: full registers, then half of one, and so on.
template <typename To, typename From, int kLanes = kFullLanes<Compute<From>>>
inline void CopyRow(const From* from, int64_t count, To* to) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Store<kLanes>(Load<kLanes>(from + i), to + i);
  }
  if constexpr (kLanes > 1) {
    if (i < count) {
      CopyRow<To, From, kLanes / 2>(from + i, count - i, to + i);
    }
  }
}

// to[i * to_stride + j] = from[i * from_stride + j].
template <typename To, typename From>
void Copy(const From* from, int64_t from_stride, int64_t rows, int64_t columns,
          To* to, int64_t to_stride) {
  for (int64_t i = 0; i < rows; ++i) {
    CopyRow(from + i * from_stride, columns, to + i * to_stride);
  }
}

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_TRANSPOSE_H_
