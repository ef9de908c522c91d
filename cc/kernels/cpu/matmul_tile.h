// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The way from a tile of sums to y, for both families of matmul
// kernels.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_MATMUL_TILE_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_MATMUL_TILE_H_

#include "cc/kernels/cpu/activation.h"
#include "cc/kernels/cpu/kernel_table.h"
#include "cc/kernels/cpu/transpose.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

// A tile of y. Element (target feature j, row n) is
// sums[j * feature_stride + n * row_stride], one of the strides 1; the strided
// side is a multiple of the register, and readable beyond `rows` and
// `features`.
template <typename T>
struct Tile {
  T* sums;
  int64_t first;     // target feature
  int64_t features;  // that exist
  int64_t row;
  int64_t rows;
  int64_t feature_stride;
  int64_t row_stride;
};

// The tile of target blocks [begin, end) for the task's rows.
template <typename T>
Tile<T> TileOf(const MatmulTask& task, int64_t begin, int64_t end, T* sums,
               int64_t feature_stride, int64_t row_stride) {
  const int64_t first = begin * task.target_block;
  const int64_t features = (end - begin) * task.target_block;
  const int64_t left = task.target_features - first;
  return {sums,      first,     left < features ? left : features,
          task.row,  task.rows, feature_stride,
          row_stride};
}

// Rows [n, n + rows) and features [j, j + features) of a tile, to `y`.
template <typename T, typename X>
void WriteTile(const MatmulTask& task, const Tile<T>& tile, int64_t j,
               int64_t features, int64_t n, int64_t rows, void* y) {
  const MatmulProblem& problem = *task.problem;
  const T* from = tile.sums + j * tile.feature_stride + n * tile.row_stride;
  const bool rows_inside = tile.row_stride == 1;
  const int64_t outer = rows_inside ? features : rows;
  const int64_t inner = rows_inside ? rows : features;
  const int64_t stride = rows_inside ? tile.feature_stride : tile.row_stride;
  const int64_t to_stride =
      problem.features_first ? problem.rows : task.target_features;
  const int64_t feature = tile.first + j;
  const int64_t row = tile.row + n;
  X* to =
      static_cast<X*>(y) + (problem.features_first ? feature * to_stride + row
                                                   : row * to_stride + feature);
  if (rows_inside == problem.features_first) {
    Copy(from, stride, outer, inner, to, to_stride);
  } else {
    CopyTransposed(from, stride, outer, inner, to, to_stride);
  }
}

// Adds the bias to a tile, stores it as the preactivation where that is wanted
// and applies the activation: what remains is to write it to y.
template <typename T, typename X>
void FinishTile(const MatmulTask& task, const Tile<T>& tile) {
  constexpr int kLanes = kFullLanes<T>;
  const MatmulProblem& problem = *task.problem;
  const bool rows_inside = tile.row_stride == 1;
  const int64_t outer = rows_inside ? tile.features : tile.rows;
  const int64_t inner = rows_inside ? tile.rows : tile.features;
  const int64_t stride = rows_inside ? tile.feature_stride : tile.row_stride;
  const auto for_each_vector = [&](const auto& change) {
    for (int64_t i = 0; i < outer; ++i) {
      for (int64_t j = 0; j < inner; j += kLanes) {
        T* at = tile.sums + i * stride + j;
        Store<kLanes>(change(Load<kLanes>(at), i, j), at);
      }
    }
  };

  if (problem.bias != nullptr) {
    const X* bias = static_cast<const X*>(problem.bias) + tile.first;
    for_each_vector([&](Vector<T, kLanes> z, int64_t i, int64_t j) {
      if (rows_inside) return z + static_cast<T>(Widen(bias[i]));
      if (j + kLanes <= inner) return z + Load<kLanes>(bias + j);
      for (int lane = 0; j + lane < inner; ++lane) {
        z[lane] += static_cast<T>(Widen(bias[j + lane]));
      }
      return z;
    });
  }
  if (problem.preactivation != nullptr) {
    WriteTile<T, X>(task, tile, 0, tile.features, 0, tile.rows,
                    problem.preactivation);
  }
  if (problem.activation != Activation::kNone) {
    for_each_vector([&](Vector<T, kLanes> z, int64_t, int64_t) {
      return Activate<kLanes, T>(z, problem.activation);
    });
  }
}

// Writes a finished tile to y a square at a time. The lines of y are seldom in
// the first-level cache; few stores at a time wait for them in the processor's
// buffer, beside what is computed next, where all would fill it.
template <typename T, typename X>
class TileWriter {
 public:
  explicit TileWriter(const MatmulTask& task) : task_(task) {}

  // The last tile must have been written.
  void Start(const Tile<T>& tile) {
    tile_ = tile;
    feature_ = 0;
    row_ = 0;
    done_ = tile.features <= 0;
  }

  void WriteSome() {
    if (done_) return;
    constexpr int64_t kSide = kFullLanes<T>;
    const int64_t features_left = tile_.features - feature_;
    const int64_t rows_left = tile_.rows - row_;
    WriteTile<T, X>(task_, tile_, feature_,
                    features_left < kSide ? features_left : kSide, row_,
                    rows_left < kSide ? rows_left : kSide, task_.problem->y);
    row_ += kSide;
    if (row_ < tile_.rows) return;
    row_ = 0;
    feature_ += kSide;
    done_ = feature_ >= tile_.features;
  }

  void WriteAll() {
    while (!done_) WriteSome();
  }

 private:
  const MatmulTask& task_;
  Tile<T> tile_ = {};
  int64_t feature_ = 0;
  int64_t row_ = 0;
  bool done_ = true;
};

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_MATMUL_TILE_H_
