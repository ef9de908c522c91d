// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Pixels on their way into a convolution's panel, and out of its tiles.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_PIXELS_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_PIXELS_H_

#include "cc/kernels/cpu/activation.h"
#include "cc/kernels/cpu/conv_table.h"
#include "cc/kernels/cpu/lines_ahead.h"
#include "cc/kernels/cpu/transpose.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

// The next band's pixels, fetched while a band is convolved.
class BandAhead {
 public:
  BandAhead(const ConvTask& task, int64_t steps)
      : x_(task.next_x, task.next_x_stride, task.next_x_rows, task.next_x_bytes,
           steps),
        y_(task.next_y, 0, 1, task.next_y_bytes, steps) {}

  void Fetch() {
    x_.Fetch();
    y_.Fetch();
  }

 private:
  LinesAhead x_;
  LinesAhead y_;
};

// The lines of y that a tile will be written to, fetched a few at a time: all
// at once would fill the buffers that x and the weights come through.
class LineQueue {
 public:
  // `count` of `pixels`, from feature `first` on, in about `steps` steps.
  LineQueue(const ConvTask& task, const int64_t* pixels, int count,
            int64_t first, int64_t steps)
      : element_(static_cast<int64_t>(SizeOf(task.problem->x_dtype))),
        y_(static_cast<const char*>(task.problem->y) + first * element_),
        pixel_(pixels),
        end_(task.problem->features_first ? pixels : pixels + count),
        at_once_(static_cast<int>(count / (steps + 1)) + 1) {}

  void Fetch() {
    for (int i = 0; i < at_once_ && pixel_ < end_; ++i, ++pixel_) {
      if (*pixel_ >= 0) PrefetchWrite(y_ + *pixel_ * element_);
    }
  }

 private:
  int64_t element_;
  const char* y_;
  const int64_t* pixel_;
  const int64_t* end_;
  int at_once_;
};

// to[j * to_stride + i] = from[i][j] for i < kLanes and the range of j. Fetches
// the same of `next`, and the lines that are written next, which takes 4 % off
// a convolution whose pixels come from memory.
template <typename X, int kLanes, typename T>
inline void GatherTransposed(const X* const* from, const X* const* next,
                             const FeatureRange& range, T* to,
                             int64_t to_stride) {
  int64_t j = range.begin;
  for (; j + kLanes <= range.end; j += kLanes) {
    Vector<T, kLanes> square[kLanes];
#pragma GCC unroll 16
    for (int r = 0; r < kLanes; ++r) {
      Prefetch(reinterpret_cast<uintptr_t>(next[r] + j));
      PrefetchWrite(to + (j + kLanes + r) * to_stride);
      square[r] = Load<kLanes>(from[r] + j);
    }
    TransposeSteps<kLanes / 2, kLanes>(square);
#pragma GCC unroll 16
    for (int r = 0; r < kLanes; ++r) {
      Store<kLanes>(square[r], to + (j + r) * to_stride);
    }
  }
  for (; j < range.end; ++j) {
    for (int r = 0; r < kLanes; ++r) {
      to[j * to_stride + r] = static_cast<T>(Widen(from[r][j]));
    }
  }
}

// x of the task's band, features last, to [feature][cell].
template <typename X>
void PackFeaturesLast(const ConvTask& task) {
  using T = Compute<X>;
  constexpr int kLanes = kFullLanes<T>;
  const int64_t features = task.source_features;
  const X* const zeros = static_cast<const X*>(task.zeros);
  T* const panel = static_cast<T*>(task.panel);
  int64_t pixel = 0;
  int64_t image = 0;
  const auto locate = [&](const X** pixels) {
    for (int i = 0; i < kLanes; ++i) {
      const int64_t source = pixel < task.cells ? task.source[pixel] : -1;
      pixels[i] =
          source < 0 || image >= task.present
              ? zeros
              : static_cast<const X*>(task.problem->x) +
                    ((task.image + image) * task.source_pixels + source) *
                        features;
      if (++image == task.images) {
        image = 0;
        ++pixel;
      }
    }
  };
  const X* from[kLanes];
  const X* next[kLanes];
  locate(from);
  // The panel goes on to whole registers.
  for (int64_t cell = 0; cell < task.cells * task.images; cell += kLanes) {
    locate(next);
    for (int64_t i = 0; i < task.used_count; ++i) {
      GatherTransposed<X, kLanes>(from, next, task.used[i], panel + cell,
                                  task.panel_stride);
    }
    __builtin_memcpy(from, next, sizeof from);
  }
}

// The same for a feature of an image that has its features first.
template <typename X, typename T>
void PackPlane(const ConvTask& task, const X* x, bool present, T* to) {
  const int64_t images = task.images;
  int64_t cell = 0;
  while (cell < task.cells) {
    const int64_t source = task.source[cell];
    // Pixels that follow each other are copied together.
    int64_t end = cell + 1;
    if (!present || source < 0) {
      to[cell * images] = 0;
    } else if (images > 1) {
      to[cell * images] = static_cast<T>(Widen(x[source]));
    } else {
      while (end < task.cells && task.source[end] == source + end - cell) {
        ++end;
      }
      CopyRow(x + source, end - cell, to + cell);
    }
    cell = end;
  }
}

template <typename X>
void PackFeaturesFirst(const ConvTask& task) {
  using T = Compute<X>;
  for (int64_t image = 0; image < task.images; ++image) {
    const X* const x =
        static_cast<const X*>(task.problem->x) +
        (task.image + image) * task.source_features * task.source_pixels;
    T* const to = static_cast<T*>(task.panel) + image;
    for (int64_t i = 0; i < task.used_count; ++i) {
      for (int64_t j = task.used[i].begin; j < task.used[i].end; ++j) {
        PackPlane(task, x + j * task.source_pixels, image < task.present,
                  to + j * task.panel_stride);
      }
    }
  }
}

template <typename X>
void PackConv(const ConvTask& task) {
  if (task.problem->features_first) {
    PackFeaturesFirst<X>(task);
  } else {
    PackFeaturesLast<X>(task);
  }
}

// Features [j, j + features) of pixels [row, row + kLanes) of a tile of sums,
// [feature][kRows], to `to`, which is like y; there are at most kLanes of them.
template <typename T, typename X, int kRows>
void WriteSquare(const ConvTask& task, const int64_t* pixels, const T* sums,
                 int64_t first, int64_t features, X* to) {
  constexpr int kLanes = kFullLanes<T>;
  if (task.problem->features_first) {
    for (int64_t j = 0; j < features; ++j) {
      X* const plane = to + (first + j) * task.target_pixels;
      for (int r = 0; r < kLanes; ++r) {
        if (pixels[r] >= 0) Narrow(sums[j * kRows + r], plane + pixels[r]);
      }
    }
    return;
  }
  Vector<T, kLanes> square[kLanes];
#pragma GCC unroll 16
  for (int r = 0; r < kLanes; ++r) square[r] = Load<kLanes>(sums + r * kRows);
  TransposeSteps<kLanes / 2, kLanes>(square);
#pragma GCC unroll 16
  for (int r = 0; r < kLanes; ++r) {
    if (pixels[r] < 0) continue;
    X* const pixel = to + pixels[r] + first;
    if (features == kLanes) {
      Store<kLanes>(square[r], pixel);
    } else {
      T some[kLanes];
      Store<kLanes>(square[r], some);
      CopyRow(some, features, pixel);
    }
  }
}

// Writes a finished tile to y, or to what is like y, a square at a time, see
// TileWriter of matmul_tile.h.
template <typename T, typename X, int kRows>
class PixelWriter {
 public:
  explicit PixelWriter(const ConvTask& task)
      : PixelWriter(task, task.problem->y) {}
  PixelWriter(const ConvTask& task, void* to)
      : task_(task), to_(static_cast<X*>(to)) {}

  // Of a tile of sums, [feature][kRows], features [first, first + features).
  // The last tile must have been written.
  void Start(const int64_t* pixels, int64_t first, int64_t features,
             const T* sums) {
    pixels_ = pixels;
    first_ = first;
    left_ = features;
    sums_ = sums;
    row_ = 0;
  }

  void WriteSome() {
    if (left_ <= 0) return;
    WriteSquare<T, X, kRows>(task_, pixels_ + row_, sums_ + row_, first_,
                             left_ < kLanes ? left_ : kLanes, to_);
    row_ += kLanes;
    if (row_ < kRows) return;
    row_ = 0;
    first_ += kLanes;
    left_ -= kLanes;
    sums_ += kLanes * kRows;
  }

  void WriteAll() {
    while (left_ > 0) WriteSome();
  }

 private:
  static constexpr int kLanes = kFullLanes<T>;
  const ConvTask& task_;
  X* to_;
  const int64_t* pixels_ = nullptr;
  int64_t first_ = 0;
  int64_t left_ = 0;  // features
  const T* sums_ = nullptr;
  int row_ = 0;
};

// Adds the bias to a tile, stores it as the preactivation where that is wanted
// and applies the activation: what remains is to write it to y.
template <typename T, typename X, int kRows>
void FinishPixels(const ConvTask& task, const int64_t* pixels, int64_t first,
                  int64_t features, T* sums) {
  constexpr int kLanes = kFullLanes<T>;
  const ConvProblem& problem = *task.problem;
  const auto for_each_vector = [&](const auto& change) {
    for (int64_t j = 0; j < features; ++j) {
      for (int i = 0; i < kRows; i += kLanes) {
        T* const at = sums + j * kRows + i;
        Store<kLanes>(change(Load<kLanes>(at), j), at);
      }
    }
  };
  if (problem.bias != nullptr) {
    const X* const bias = static_cast<const X*>(problem.bias) + first;
    for_each_vector([&](Vector<T, kLanes> z, int64_t j) {
      return z + static_cast<T>(Widen(bias[j]));
    });
  }
  if (problem.preactivation != nullptr) {
    PixelWriter<T, X, kRows> writer(task, problem.preactivation);
    writer.Start(pixels, first, features, sums);
    writer.WriteAll();
  }
  if (problem.activation != Activation::kNone) {
    for_each_vector([&](Vector<T, kLanes> z, int64_t) {
      return Activate<kLanes, T>(z, problem.activation);
    });
  }
}

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_PIXELS_H_
