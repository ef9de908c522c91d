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
      for (int64_t i = 0; i < task.used_count; ++i) {
        int64_t j = task.used[i].begin;
        const int64_t end = task.used[i].end;
        T* at = to + j / kLanes * task.panel_stride;
        for (; j + kLanes <= end; j += kLanes, at += task.panel_stride) {
          Store<kLanes>(Load<kLanes>(from + j), at);
        }
        if (j < end) CopyRow(from + j, end - j, at);
      }
    }
  }
}

// sums[p][v] += the products of `refs` for kPixels cells and kVectors registers
// of outputs, from output `first` of the target block on.
template <int kPixels, int kVectors, typename T>
void AccumulateRegisters(const BlockRef<T, T>* refs, int count,
                         const ConvTask& task, int64_t cell, int64_t first,
                         bool fresh, LineQueue* lines, T* sums) {
  constexpr int kLanes = kFullLanes<T>;
  typedef Vector<T, kLanes> V;
  const int64_t width = task.target_block;
  V acc[kPixels][kVectors] = {};
  if (!fresh) {
#pragma GCC unroll 32
    for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        acc[p][v] = Load<kLanes>(sums + (p * kVectors + v) * kLanes);
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
      Store<kLanes>(acc[p][v], sums + (p * kVectors + v) * kLanes);
    }
  }
}

// Writes sums, [pixel][kOutputs], to as many features of `to`, which is like y,
// from `first` on, or to `features` of them if there are fewer.
template <int kPixels, int kOutputs, typename T, typename X>
void WriteRegisters(const int64_t* pixels, int64_t first, int64_t features,
                    const T* sums, X* to) {
  constexpr int kLanes = kFullLanes<T>;
  for (int p = 0; p < kPixels; ++p, sums += kOutputs) {
    if (pixels[p] < 0) continue;
    X* const pixel = to + pixels[p] + first;
    if (features < kOutputs) {
      CopyRow(sums, features, pixel);
      continue;
    }
#pragma GCC unroll 4
    for (int j = 0; j < kOutputs; j += kLanes) {
      Store<kLanes>(Load<kLanes>(sums + j), pixel + j);
    }
  }
}

// Adds the bias to a tile's sums, [pixel][kOutputs], stores them as the
// preactivation where that is wanted and applies the activation: what remains
// is to write them to y.
template <int kPixels, int kOutputs, typename X, typename T>
void FinishRegisters(const ConvTask& task, const int64_t* pixels, int64_t first,
                     int64_t features, T* sums) {
  constexpr int kLanes = kFullLanes<T>;
  const ConvProblem& problem = *task.problem;
  if (problem.bias != nullptr) {
    const X* const bias = static_cast<const X*>(problem.bias) + first;
    for (int j = 0; j < kOutputs && j < features; j += kLanes) {
      Vector<T, kLanes> added = {};
      if (j + kLanes <= features) {
        added = Load<kLanes>(bias + j);
      } else {
        for (int i = 0; i < features - j; ++i) {
          added[i] = static_cast<T>(Widen(bias[j + i]));
        }
      }
      for (int p = 0; p < kPixels; ++p) {
        T* const at = sums + p * kOutputs + j;
        Store<kLanes>(Load<kLanes>(at) + added, at);
      }
    }
  }
  if (problem.preactivation != nullptr) {
    WriteRegisters<kPixels, kOutputs>(pixels, first, features, sums,
                                      static_cast<X*>(problem.preactivation));
  }
  if (problem.activation != Activation::kNone) {
    for (int i = 0; i < kPixels * kOutputs; i += kLanes) {
      const Vector<T, kLanes> z = Load<kLanes>(sums + i);
      Store<kLanes>(Activate<kLanes, T>(z, problem.activation), sums + i);
    }
  }
}

template <typename X, typename Stored, int kPixels, int kVectors>
void ConvOutputs(const ConvTask& task) {
  using T = Compute<X>;
  constexpr int kOutputs = kVectors * kFullLanes<T>;
  X* const y = static_cast<X*>(task.problem->y);
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
        for (int64_t j = 0; j < width; j += kOutputs) {
          T* const some = sums + j * kPixels;
          AccumulateRegisters<kPixels, kVectors>(chunk.refs, chunk.count, task,
                                                 task.tiles[tile], j,
                                                 first_chunk, &lines, some);
          if (!last_chunk || j >= features) continue;
          FinishRegisters<kPixels, kOutputs, X>(task, pixels, first + j,
                                                features - j, some);
          WriteRegisters<kPixels, kOutputs>(pixels, first + j, features - j,
                                            some, y);
        }
      }
      first_chunk = false;
    } while (!last_chunk);
  }
}

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_OUTPUTS_H_
