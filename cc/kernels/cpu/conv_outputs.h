// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// y = x * W over a band of pixels, see conv_bands.h, with a vector along the
// outputs: for each target block,
//
//   for each tile of kPixels cells of the band:
//     for each kVectors registers of outputs of the target block:
//       acc[kPixels][kVectors] = 0
//       for each block of the target block, for each tap, for each input d:
//         acc[p][v] += broadcast(panel[tile + p + tap][d]) * W[tap][d][v]
//
// The panel holds pixels as they are, so nothing is transposed on the way in
// or out. Blocks must be whole registers on both sides.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_OUTPUTS_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_OUTPUTS_H_

#include "cc/kernels/cpu/activation.h"
#include "cc/kernels/cpu/conv_pixels.h"
#include "cc/kernels/cpu/conv_taps.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

// x of the task's band to [register of features][cell][lane].
template <typename X>
void PackPixels(const ConvTask& task) {
  using T = Compute<X>;
  constexpr int64_t kLanes = kFullLanes<T>;
  const int64_t features = task.source_features;
  const int64_t image_size = task.source_pixels * features;
  const X* const x =
      static_cast<const X*>(task.problem->x) + task.image * image_size;
  const X* const zeros = static_cast<const X*>(task.zeros);
  T* to = static_cast<T*>(task.panel);
  for (int64_t cell = 0; cell < task.cells; ++cell) {
    const int64_t source = task.source[cell];
    for (int64_t image = 0; image < task.images; ++image, to += kLanes) {
      const X* const from = source < 0 || image >= task.present
                                ? zeros
                                : x + image * image_size + source * features;
      T* at = to;
      int64_t j = 0;
      for (; j + kLanes <= features; j += kLanes, at += task.panel_stride) {
        Store<kLanes>(Load<kLanes>(from + j), at);
      }
      if (j < features) CopyRow(from + j, features - j, at);
    }
  }
}

// sums[p][v] += the products of `refs` for kPixels cells and kVectors registers
// of outputs.
template <int kPixels, int kVectors, typename T>
void AccumulateRegisters(const BlockRef<T, T>* refs, int count,
                         const ConvTask& task, int64_t cell, int64_t first,
                         bool fresh, LineQueue* lines, T* sums,
                         int64_t sums_stride) {
  constexpr int kLanes = kFullLanes<T>;
  typedef Vector<T, kLanes> V;
  const int64_t width = task.target_block;
  V acc[kPixels][kVectors] = {};
  if (!fresh) {
#pragma GCC unroll 32
    for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        acc[p][v] = Load<kLanes>(sums + p * sums_stride + v * kLanes);
      }
    }
  }
  for (int r = 0; r < count; ++r) {
    lines->Fetch();
    const T* w = refs[r].weights + first;
    const T* group = refs[r].inputs + cell * kLanes;
    uintptr_t ahead = reinterpret_cast<uintptr_t>(refs[r].ahead + first);
    for (int64_t left = refs[r].depth; left > 0; left -= kLanes) {
      const T* x = group;
      const T* const end = x + (left < kLanes ? left : kLanes);
      for (; x < end; ++x) {
        Prefetch(ahead);
        V weights[kVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          weights[v] = Load<kLanes>(w + v * kLanes);
        }
#pragma GCC unroll 32
        for (int p = 0; p < kPixels; ++p) {
          const V input = Broadcast<V>(x[p * kLanes]);
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) acc[p][v] += input * weights[v];
        }
        w += width;
        ahead += width * sizeof(T);
      }
      group += task.panel_stride;
    }
  }
#pragma GCC unroll 32
  for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      Store<kLanes>(acc[p][v], sums + p * sums_stride + v * kLanes);
    }
  }
}

// Adds the bias to a tile of sums, [pixel][features], stores it as the
// preactivation where that is wanted, applies the activation and writes y.
template <typename T, typename X, int kPixels>
void WriteRegisters(const ConvTask& task, const int64_t* pixels, int64_t first,
                    int64_t features, const T* sums, int64_t sums_stride) {
  constexpr int kLanes = kFullLanes<T>;
  const ConvProblem& problem = *task.problem;
  const X* const bias = static_cast<const X*>(problem.bias);
  for (int p = 0; p < kPixels; ++p) {
    if (pixels[p] < 0) continue;
    const T* const from = sums + p * sums_stride;
    const int64_t to = pixels[p] + first;
    for (int64_t j = 0; j < features; j += kLanes) {
      const int64_t left = features - j < kLanes ? features - j : kLanes;
      const auto store = [&](Vector<T, kLanes> z, void* y) {
        X* const at = static_cast<X*>(y) + to + j;
        if (left == kLanes) {
          Store<kLanes>(z, at);
        } else {
          T some[kLanes];
          Store<kLanes>(z, some);
          CopyRow(some, left, at);
        }
      };
      Vector<T, kLanes> z = Load<kLanes>(from + j);
      if (bias != nullptr) {
        if (left == kLanes) {
          z += Load<kLanes>(bias + first + j);
        } else {
          for (int64_t i = 0; i < left; ++i) {
            z[i] += static_cast<T>(Widen(bias[first + j + i]));
          }
        }
      }
      if (problem.preactivation != nullptr) store(z, problem.preactivation);
      if (problem.activation != Activation::kNone) {
        z = Activate<kLanes, T>(z, problem.activation);
      }
      store(z, problem.y);
    }
  }
}

template <typename X, typename Stored, int kPixels, int kVectors>
void ConvOutputs(const ConvTask& task) {
  using T = Compute<X>;
  constexpr int kLanes = kFullLanes<T>;
  const int64_t width = task.target_block;
  TapChunk<T> chunk;
  BandAhead ahead(task,
                  (task.target_end - task.target_begin) * task.tile_count);
  for (int64_t target = task.target_begin; target < task.target_end; ++target) {
    const int64_t first = target * width;
    const int64_t left = task.target_features - first;
    const int64_t features = left < width ? left : width;
    TapWalk walk(task, target, target + 1);
    bool first_chunk = true;
    bool last_chunk;
    do {
      CollectTaps<Stored>(task, &walk, &chunk);
      last_chunk = walk.done();
      const bool at_once = first_chunk && last_chunk;
      for (int64_t tile = 0; tile < task.tile_count; ++tile) {
        T* const sums =
            static_cast<T*>(task.sums) + (at_once ? 0 : tile * kPixels * width);
        const int64_t* const pixels = task.pixels + tile * kPixels;
        LineQueue lines(task, pixels, last_chunk ? kPixels : 0, first,
                        chunk.count);
        ahead.Fetch();
        for (int64_t j = 0; j < width; j += kVectors * kLanes) {
          AccumulateRegisters<kPixels, kVectors>(
              chunk.refs, chunk.count, task, task.tiles[tile], j, first_chunk,
              &lines, sums + j, width);
        }
        if (last_chunk) {
          WriteRegisters<T, X, kPixels>(task, pixels, first, features, sums,
                                        width);
        }
      }
      first_chunk = false;
    } while (!last_chunk);
  }
}

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_OUTPUTS_H_
