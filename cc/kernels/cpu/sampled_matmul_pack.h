// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Copies of a and b into panels, [block][row / kFold][column][kFold], zero
// where a row or a feature does not exist. Columns between a block's width and
// what it is padded to hold anything.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_SAMPLED_MATMUL_PACK_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_SAMPLED_MATMUL_PACK_H_

#include "cc/kernels/cpu/kernel_table.h"
#include "cc/kernels/cpu/transpose.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

// Calls body with the rows that share a register, as a type's value: as many
// as fit beside each other, but at most kMaxFold. Where halves of registers
// leave less of a wider block's last one empty, two: blocks of 24 then take a
// quarter off the time of many rows, blocks of 100 hardly anything. But twice
// as many pieces are stored, which 32 rows for each whole register make up for:
// blocks of 24, 40 and 56 break even at 32, 64 and about 100 rows, and 8 rows
// would take 1.2 to 1.5 times as long.
template <typename T, typename Body>
inline void WithFold(int64_t block_outputs, int64_t rows, const Body& body) {
  constexpr int kFull = kFullLanes<T>;
  constexpr int64_t kRowsForPieces = 32;
  if constexpr (kFull >= 8) {
    if (block_outputs <= kFull / 4) {
      return body(std::integral_constant<int, 4>());
    }
  }
  if constexpr (kFull >= 4) {
    const int64_t whole = block_outputs / kFull;
    const int64_t rest = block_outputs % kFull;
    if (rest > 0 && rest <= kFull / 2 && rows >= kRowsForPieces * whole) {
      return body(std::integral_constant<int, 2>());
    }
  }
  body(std::integral_constant<int, 1>());
}

// Features a block of a's panels is padded to: what folding writes at a time.
template <typename T, int kFold>
inline int64_t PaddedInputs(int64_t block_inputs) {
  constexpr int64_t kLanes = kFold == 1 ? 1 : kFullLanes<T> / kFold;
  return (block_inputs + kLanes - 1) / kLanes * kLanes;
}

// Columns a block of b's panels is padded to: whole registers.
template <typename T, int kFold>
inline int64_t PaddedOutputs(int64_t block_outputs) {
  constexpr int64_t kLanes = kFullLanes<T> / kFold;
  return (block_outputs + kLanes - 1) / kLanes * kLanes;
}

// The most of it for any number of rows.
template <typename T>
int64_t PaddedColumns(int64_t block_outputs) {
  int64_t padded = 0;
  WithFold<T>(block_outputs, 0, [&](auto fold) {
    padded = PaddedOutputs<T, fold.value>(block_outputs);
  });
  return padded;
}

// kFold elements, over and over.
template <int kFold, int kLanes, typename T>
inline Vector<T, kLanes> BroadcastRows(const T* from) {
  typedef Vector<T, kLanes> V;
  constexpr int kBytes = kFold * sizeof(T);
  if constexpr (kFold == 1) {
    return Broadcast<V>(*from);
  } else if constexpr (kBytes == 8) {
    // Two floats as one double, which a load broadcasts.
    typedef Vector<double, sizeof(V) / 8> Doubles;
    double both;
    __builtin_memcpy(&both, from, sizeof both);
    return (V)Broadcast<Doubles>(both);
  } else {
#if defined(__AVX512DQ__)
    if constexpr (kBytes == 16) {
      return (V)_mm512_broadcast_f32x4(LoadBits<__m128>(from));
    }
    if constexpr (kBytes == 32) {
      return (V)_mm512_broadcast_f64x4(LoadBits<__m256d>(from));
    }
#elif defined(__AVX2__)
    if constexpr (kBytes == 16) {
      const __m128 rows = LoadBits<__m128>(from);
      return (V)_mm256_broadcast_ps(&rows);
    }
#endif
    V value;
    for (int lane = 0; lane < kLanes; ++lane) value[lane] = from[lane % kFold];
    return value;
  }
}

// One after the other, the lanes 0 of all rows, their lanes 1 and so on.
template <typename V, int... kLane>
inline void InterleaveTwo(V& low, V& high,
                          std::integer_sequence<int, kLane...>) {
  constexpr int kLanes = sizeof...(kLane);
  const V a = low;
  const V b = high;
  low = __builtin_shufflevector(a, b, (kLane / 2 + kLane % 2 * kLanes)...);
  high = __builtin_shufflevector(
      a, b, (kLanes / 2 + kLane / 2 + kLane % 2 * kLanes)...);
}

template <int kRows, int kLanes, typename V>
inline void Interleave(V* rows) {
  if constexpr (kRows > 1) {
    constexpr int kHalf = kRows / 2;
    V low[kHalf];
    V high[kHalf];
#pragma GCC unroll 4
    for (int s = 0; s < kHalf; ++s) {
      low[s] = rows[s];
      high[s] = rows[s + kHalf];
      InterleaveTwo(low[s], high[s], std::make_integer_sequence<int, kLanes>());
    }
    Interleave<kHalf, kLanes>(low);
    Interleave<kHalf, kLanes>(high);
#pragma GCC unroll 4
    for (int s = 0; s < kHalf; ++s) {
      rows[s] = low[s];
      rows[s + kHalf] = high[s];
    }
  }
}

// `columns` features of up to kFold rows into as many panels as they fill.
template <int kFold, typename From, typename T>
inline void FoldRows(const From* from, int64_t stride, int64_t rows,
                     int64_t columns, int64_t block, int64_t padded, T* to,
                     int64_t panel) {
  constexpr int kFull = kFullLanes<T>;
  constexpr int kLanes = kFull / kFold;
  int64_t j = 0;
  if constexpr (kFold == 1) {
    for (; j < columns; j += block) {
      const int64_t width = columns - j < block ? columns - j : block;
      T* target = to + j / block * panel;
      CopyRow(from + j, width, target);
      for (int64_t k = width; k < padded; ++k) target[k] = 0;
    }
  } else if (block % kLanes == 0) {
    for (; j + kFull <= columns; j += kFull) {
      Vector<T, kFull> values[kFold];
#pragma GCC unroll 4
      for (int s = 0; s < kFold; ++s) {
        values[s] =
            s < rows ? Load<kFull>(from + s * stride + j) : Vector<T, kFull>{};
      }
      Interleave<kFold, kFull>(values);
#pragma GCC unroll 4
      for (int s = 0; s < kFold; ++s) {
        const int64_t column = j + s * kLanes;
        Store<kFull>(values[s],
                     to + column / block * panel + column % block * kFold);
      }
    }
  } else {
    // A piece of a block at a time, and what is beside it.
    T* target = to;
    int64_t k = 0;
    while (j + kFull <= columns) {
      Vector<T, kFull> values[kFold];
#pragma GCC unroll 4
      for (int s = 0; s < kFold; ++s) {
        values[s] =
            s < rows ? Load<kFull>(from + s * stride + j) : Vector<T, kFull>{};
      }
      Interleave<kFold, kFull>(values);
      Store<kFull>(values[0], target + k * kFold);
      const int64_t width = block - k < kLanes ? block - k : kLanes;
      j += width;
      k += width;
      if (k == block) {
        k = 0;
        target += panel;
      }
    }
  }
  for (; j < columns; j += block - j % block) {
    T* target = to + j / block * panel;
    const int64_t begin = j % block;
    const int64_t left = columns - j + begin;
    for (int64_t k = begin; k < padded; ++k) {
      for (int s = 0; s < kFold; ++s) {
        target[k * kFold + s] = s < rows && k < left
                                    ? T(Widen(from[s * stride + j - begin + k]))
                                    : T(0);
      }
    }
  }
}

// Rows 4 below kFold rows: rows are far apart, and packing waits for nothing
// but their lines. Without, products with blocks of 16 and many rows take a
// tenth longer, others hardly; 2 and 8 below are as good.
template <int kFold, typename X>
inline void PrefetchRows(const X* row, int64_t stride, int64_t columns) {
  constexpr int64_t kAhead = 4;
  for (int64_t s = kAhead; s < kAhead + kFold; ++s) {
    const auto begin = reinterpret_cast<uintptr_t>(row) +
                       s * stride * static_cast<int64_t>(sizeof(X));
    const auto end = begin + columns * static_cast<int64_t>(sizeof(X));
    for (uintptr_t line = begin; line < end; line += kCacheLine) Prefetch(line);
  }
}

// Blocks of features that are packed together.
inline int64_t BlocksTogether(int64_t block) {
  return block < kStripFeatures ? kStripFeatures / block : 1;
}

// Features [first, last) of x that is [features, rows] into their panels.
template <int kFold, typename X, typename T>
void PackTransposed(const X* from, const SampledMatmulTask& task, int64_t first,
                    int64_t last, int64_t block, int64_t padded, T* to,
                    int64_t panel) {
  const int64_t total_rows = task.problem->rows;
  // Where rows are folded, they are transposed beside the panels: 64 at a time
  // are several cache lines of each feature, and 64 by 64 of them stay in the
  // first-level cache.
  constexpr int64_t kSide = 64;
  const int64_t together = kFold > 1 && block < kSide ? kSide / block : 1;
  const int64_t some = together * block;
  for (; first < last; first += some, to += together * panel) {
    const X* source = from + first * total_rows + task.row;
    const int64_t width = last - first < some ? last - first : some;
    if constexpr (kFold == 1) {
      CopyTransposed(source, total_rows, width, task.rows, to, padded);
      for (int64_t n = 0; n < task.rows && width < padded; ++n) {
        for (int64_t k = width; k < padded; ++k) to[n * padded + k] = 0;
      }
    } else {
      T transposed[kSide * kMaxBlockSize];
      for (int64_t n = 0; n < task.rows; n += kSide) {
        const int64_t rows = task.rows - n < kSide ? task.rows - n : kSide;
        CopyTransposed(source + n, total_rows, width, rows, transposed, width);
        for (int64_t s = 0; s < rows; s += kFold) {
          FoldRows<kFold>(transposed + s * width, width, rows - s, width, block,
                          padded, to + (n + s) * padded, panel);
        }
      }
    }
  }
}

// Feature blocks [begin, end) of the task's rows of `from`, the panels from
// that of `begin` on.
template <int kFold, typename X, typename T>
void PackPanels(const X* from, const SampledMatmulTask& task, int64_t features,
                int64_t begin, int64_t end, int64_t block, int64_t padded,
                T* panels) {
  const bool features_first = task.problem->features_first;
  const int64_t rows = task.rows;
  const int64_t panel = (rows + kFold - 1) / kFold * kFold * padded;
  const int64_t together = BlocksTogether(padded);
  for (int64_t b = begin; b < end; b += together) {
    const int64_t stop = b + together < end ? b + together : end;
    const int64_t first = b * block;
    const int64_t last = stop * block < features ? stop * block : features;
    T* to = panels + (b - begin) * panel;
    if (features_first) {
      PackTransposed<kFold>(from, task, first, last, block, padded, to, panel);
    } else {
      for (int64_t n = 0; n < rows; n += kFold) {
        const X* source = from + (task.row + n) * features + first;
        PrefetchRows<kFold>(source, features, last - first);
        FoldRows<kFold>(source, features, rows - n, last - first, block, padded,
                        to + n * padded, panel);
      }
    }
  }
}

// The panels of input blocks [c, c + together).
template <typename X, int kFold>
void PackA(const SampledMatmulTask& task, int64_t c, int64_t together) {
  const SampledMatmulProblem& p = *task.problem;
  const int64_t end = c + together < task.end ? c + together : task.end;
  PackPanels<kFold>(static_cast<const X*>(p.a), task, p.layout.inputs, c, end,
                    p.layout.block_inputs,
                    PaddedInputs<Compute<X>, kFold>(p.layout.block_inputs),
                    static_cast<Compute<X>*>(task.a_panel));
}

template <typename X>
void PackB(const SampledMatmulTask& task) {
  using T = Compute<X>;
  const SampledMatmulProblem& p = *task.problem;
  const int64_t block = p.layout.block_outputs;
  WithFold<T>(block, p.rows, [&](auto fold) {
    const int64_t padded = PaddedOutputs<T, fold.value>(block);
    const int64_t panel =
        (task.rows + fold.value - 1) / fold.value * fold.value * padded;
    PackPanels<fold.value>(static_cast<const X*>(p.b), task, p.layout.outputs,
                           task.begin, task.end, block, padded,
                           static_cast<T*>(task.b_panel) + task.begin * panel);
  });
}

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_SAMPLED_MATMUL_PACK_H_
