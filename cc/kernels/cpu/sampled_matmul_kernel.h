// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// blocks[w] = a[:, c]^T b[:, k], for one input block c after the other: all
// its blocks side by side are one product of a[:, c] with columns of b,
//
//   acc[kGroup][kColumns] = 0
//   for each row n:
//     acc[i][j] += broadcast(a[n][i]) * b[n][j]
//
// where j counts vectors of columns, whichever block they belong to. Blocks
// narrower than a register share one: its parts come from several panels.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_SAMPLED_MATMUL_KERNEL_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_SAMPLED_MATMUL_KERNEL_H_

#include "cc/kernels/cpu/kernel_table.h"
#include "cc/kernels/cpu/transpose.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

// Lanes a block's columns are padded to: a full register, a half or a quarter.
template <typename T>
inline int PartLanes(int64_t block_outputs) {
  constexpr int kFull = kFullLanes<T>;
  if (kFull >= 8 && block_outputs <= kFull / 4) return kFull / 4;
  if (kFull >= 4 && block_outputs <= kFull / 2) return kFull / 2;
  return kFull;
}

template <typename T>
int64_t PaddedColumns(int64_t block_outputs) {
  const int64_t lanes = PartLanes<T>(block_outputs);
  return (block_outputs + lanes - 1) / lanes * lanes;
}

// Feature blocks [begin, end) of the task's rows of `from`, as
// [block][row][padded], zero where a feature does not exist.
template <typename X, typename T>
void PackPanels(const X* from, bool features_first, int64_t total_rows,
                int64_t features, int64_t row, int64_t rows, int64_t begin,
                int64_t end, int64_t block, int64_t padded, T* panels) {
  // Narrow blocks are copied side by side, so that a whole cache line of a row
  // is used at a time; 64 floats are four of them.
  constexpr int64_t kWidth = 64;
  const int64_t together = block < kWidth ? kWidth / block : 1;
  for (int64_t b = begin; b < end; b += together) {
    const int64_t stop = b + together < end ? b + together : end;
    if (features_first) {
      for (int64_t k = b; k < stop; ++k) {
        const int64_t first = k * block;
        const int64_t width =
            features - first < block ? features - first : block;
        CopyTransposed(from + first * total_rows + row, total_rows, width, rows,
                       panels + k * rows * padded, padded);
      }
    }
    for (int64_t n = 0; n < rows; ++n) {
      for (int64_t k = b; k < stop; ++k) {
        const int64_t first = k * block;
        const int64_t width =
            features - first < block ? features - first : block;
        T* to = panels + (k * rows + n) * padded;
        if (!features_first) {
          CopyRow(from + (row + n) * features + first, width, to);
        }
        for (int64_t j = width; j < padded; ++j) to[j] = 0;
      }
    }
  }
}

template <typename X>
void PackA(const SampledMatmulTask& task) {
  const SampledMatmulProblem& p = *task.problem;
  const int64_t block = p.layout.block_inputs;
  PackPanels(static_cast<const X*>(p.a), p.features_first, p.rows,
             p.layout.inputs, task.row, task.rows, task.begin, task.end, block,
             block, static_cast<Compute<X>*>(task.a_panel));
}

template <typename X>
void PackB(const SampledMatmulTask& task) {
  const SampledMatmulProblem& p = *task.problem;
  const int64_t block = p.layout.block_outputs;
  PackPanels(static_cast<const X*>(p.b), p.features_first, p.rows,
             p.layout.outputs, task.row, task.rows, task.begin, task.end, block,
             PaddedColumns<Compute<X>>(block),
             static_cast<Compute<X>*>(task.b_panel));
}

// A part of a register of columns: where it is read, and where its sums go.
template <typename T>
struct ColumnPart {
  const T* columns;  // row 0 of its panel
  int64_t block;     // -1: fills up a register, its sums are dropped
  int64_t first;     // its first column in the block
  int64_t outputs;   // columns from there on that exist
};

template <typename V, int... kLane>
inline auto Join(V low, V high, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(low, high, kLane...);
}

template <int kParts, int kLanes, typename T>
inline Vector<T, kParts * kLanes> LoadParts(const T* const* parts,
                                            int64_t offset) {
  if constexpr (kParts == 1) {
    return Load<kLanes>(parts[0] + offset);
  } else {
    // Halves, so that each join is one insertion.
    constexpr int kHalf = kParts / 2 * kLanes;
    const Vector<T, kHalf> low = LoadParts<kParts / 2, kLanes>(parts, offset);
    const Vector<T, kHalf> high =
        LoadParts<kParts / 2, kLanes>(parts + kParts / 2, offset);
    return Join(low, high, std::make_integer_sequence<int, 2 * kHalf>());
  }
}

// Writes or adds one part of a tile, kGroup rows of a block from `first` on,
// where it belongs. The sums of a row are tile_stride apart.
template <int kLanes, int kGroup, typename T, typename Stored>
void StorePart(const SampledMatmulTask& task, const ColumnPart<T>& part,
               int64_t first, const T* tile, int64_t tile_stride) {
  const SampledMatmulProblem& p = *task.problem;
  const int64_t stride = p.layout.block_outputs;
  const int64_t offset =
      (part.block * p.layout.block_inputs + first) * stride + part.first;
  T* partial = static_cast<T*>(task.partial) + offset;
  Stored* to = static_cast<Stored*>(p.blocks) + offset;
  const T gate =
      task.last_pass && p.gate != nullptr ? p.gate[part.block] : T(1);
  if (part.outputs >= kLanes) {
    for (int g = 0; g < kGroup; ++g) {
      Vector<T, kLanes> sums = Load<kLanes>(tile + g * tile_stride);
      if (!task.first_pass) sums += Load<kLanes>(partial + g * stride);
      if (task.last_pass) {
        Store<kLanes>(sums * gate, to + g * stride);
      } else {
        Store<kLanes>(sums, partial + g * stride);
      }
    }
    return;
  }
  for (int g = 0; g < kGroup; ++g) {
    for (int64_t j = 0; j < part.outputs; ++j) {
      T sum = tile[g * tile_stride + j];
      if (!task.first_pass) sum += partial[g * stride + j];
      if (task.last_pass) {
        Narrow(sum * gate, to + g * stride + j);
      } else {
        partial[g * stride + j] = sum;
      }
    }
  }
}

// tile[i][j] = the sums of row i of the blocks in register j of columns. Apart
// from what follows it, so that the compiler keeps all sums in registers.
template <int kParts, int kLanes, int kGroup, int kColumns, typename T>
__attribute__((noinline)) void MultiplySampled(
    int64_t rows, const T* a, int64_t a_stride, const ColumnPart<T>* parts,
    int64_t b_stride, Vector<T, kParts * kLanes> (&tile)[kGroup][kColumns]) {
  typedef Vector<T, kParts * kLanes> V;
  const T* columns[kColumns * kParts];
#pragma GCC unroll 16
  for (int i = 0; i < kColumns * kParts; ++i) columns[i] = parts[i].columns;
  V acc[kGroup][kColumns] = {};
  for (int64_t n = 0; n < rows; ++n) {
    V b[kColumns];
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) {
      b[j] = LoadParts<kParts, kLanes>(columns + j * kParts, n * b_stride);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kGroup; ++i) {
      const V scale = Broadcast<V>(a[n * a_stride + i]);
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j) acc[i][j] += b[j] * scale;
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kGroup; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) tile[i][j] = acc[i][j];
  }
}

// Rows [first, first + kGroup) of the blocks in kColumns registers of columns.
template <int kParts, int kLanes, int kGroup, int kColumns, typename T,
          typename Stored>
void AccumulateSampled(const SampledMatmulTask& task, const T* a,
                       int64_t padded, int64_t first,
                       const ColumnPart<T>* parts) {
  const Layout& layout = task.problem->layout;
  Vector<T, kParts * kLanes> tile[kGroup][kColumns];
  MultiplySampled<kParts, kLanes, kGroup, kColumns, T>(
      task.rows, a + first, layout.block_inputs, parts, padded, tile);
  for (int i = 0; i < kColumns * kParts; ++i) {
    if (parts[i].block < 0) continue;
    StorePart<kLanes, kGroup, T, Stored>(
        task, parts[i], first, reinterpret_cast<const T*>(tile) + i * kLanes,
        kColumns * kParts * kLanes);
  }
}

// All `inputs` rows: as many groups of kGroup as fit, then halves.
template <int kParts, int kLanes, int kGroup, int kColumns, typename T,
          typename Stored>
void AccumulateSampledGroups(const SampledMatmulTask& task, const T* a,
                             int64_t padded, int64_t first, int64_t inputs,
                             const ColumnPart<T>* parts) {
  for (; first + kGroup <= inputs; first += kGroup) {
    AccumulateSampled<kParts, kLanes, kGroup, kColumns, T, Stored>(
        task, a, padded, first, parts);
  }
  if constexpr (kGroup > 1) {
    if (first < inputs) {
      AccumulateSampledGroups<kParts, kLanes, kGroup / 2, kColumns, T, Stored>(
          task, a, padded, first, inputs, parts);
    }
  }
}

// All columns in `parts`: groups of kColumns registers, then fewer.
template <int kParts, int kLanes, int kGroup, int kColumns, typename T,
          typename Stored>
void AccumulateSampledColumns(const SampledMatmulTask& task, const T* a,
                              int64_t padded, int64_t inputs,
                              const ColumnPart<T>* parts, int registers) {
  for (; registers >= kColumns; registers -= kColumns) {
    AccumulateSampledGroups<kParts, kLanes, kGroup, kColumns, T, Stored>(
        task, a, padded, 0, inputs, parts);
    parts += kColumns * kParts;
  }
  if constexpr (kColumns > 1) {
    if (registers > 0) {
      AccumulateSampledColumns<kParts, kLanes, kGroup, kColumns - 1, T, Stored>(
          task, a, padded, inputs, parts, registers);
    }
  }
}

template <typename T, typename Stored, int kParts, int kGroup, int kColumns>
void SampledMatmulParts(const SampledMatmulTask& task) {
  constexpr int kLanes = kFullLanes<T> / kParts;
  const SampledMatmulProblem& p = *task.problem;
  const Layout& layout = p.layout;
  const LayoutView& view = layout.transposed;
  const int64_t padded = PaddedColumns<T>(layout.block_outputs);
  const int64_t size =
      static_cast<int64_t>(layout.block_inputs) * layout.block_outputs;
  // As many registers as are multiplied before the list is made anew.
  constexpr int kListed = 8 * kColumns;
  ColumnPart<T> parts[kListed * kParts];
  for (int64_t c = task.begin; c < task.end; ++c) {
    const T* a = static_cast<const T*>(task.a_panel) +
                 c * task.rows * layout.block_inputs;
    const int64_t left = layout.inputs - c * layout.block_inputs;
    const int64_t inputs =
        left < layout.block_inputs ? left : layout.block_inputs;
    int listed = 0;
    const auto flush = [&] {
      if (listed == 0) return;
      for (; listed % kParts != 0; ++listed) {
        parts[listed] = parts[listed - 1];
        parts[listed].block = -1;
      }
      AccumulateSampledColumns<kParts, kLanes, kGroup, kColumns, T, Stored>(
          task, a, padded, inputs, parts, listed / kParts);
      listed = 0;
    };
    for (int64_t e = view.splits[c]; e < view.splits[c + 1]; ++e) {
      const int64_t block = view.block_id[e];
      const int64_t rest =
          layout.outputs -
          static_cast<int64_t>(view.index[e]) * layout.block_outputs;
      const int64_t outputs =
          rest < layout.block_outputs ? rest : layout.block_outputs;
      const bool closed = p.gate != nullptr && p.gate[block] == 0;
      const bool partly =
          inputs < layout.block_inputs || outputs < layout.block_outputs;
      if (task.first_pass && (closed || partly)) {
        __builtin_memset(static_cast<Stored*>(p.blocks) + block * size, 0,
                         size * sizeof(Stored));
      }
      if (closed) continue;
      const T* panel = static_cast<const T*>(task.b_panel) +
                       view.index[e] * task.rows * padded;
      for (int64_t first = 0; first < outputs; first += kLanes) {
        parts[listed++] = {panel + first, block, first, outputs - first};
        if (listed == kListed * kParts) flush();
      }
    }
    flush();
  }
}

template <typename X, typename Stored, int kGroup, int kColumns>
void SampledMatmul(const SampledMatmulTask& task) {
  using T = Compute<X>;
  constexpr int kFull = kFullLanes<T>;
  const int lanes = PartLanes<T>(task.problem->layout.block_outputs);
  if (lanes == kFull) {
    SampledMatmulParts<T, Stored, 1, kGroup, kColumns>(task);
  } else if (lanes == kFull / 2) {
    SampledMatmulParts<T, Stored, 2, kGroup, kColumns>(task);
  } else {
    if constexpr (kFull >= 8) {
      SampledMatmulParts<T, Stored, 4, kGroup, kColumns>(task);
    }
  }
}

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_SAMPLED_MATMUL_KERNEL_H_
