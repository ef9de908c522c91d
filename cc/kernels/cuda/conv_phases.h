// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// A convolution as GPUs see it: phases of target pixels, each with the taps
// that they meet, and the blocks of each of them.
//
// A convolution has one phase. A transposed one has one for each remainder of
// its target pixels by the strides that meets a tap: every tap is of one phase
// only, so the phases together are no more work than the taps that count.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_PHASES_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_PHASES_H_

#include <cstdint>
#include <vector>

#include "cc/kernels/cuda/conv_arguments.h"
#include "cc/layout/conv_geometry.h"
#include "cc/layout/layout.h"

namespace blocksparse {
namespace cuda {

struct ConvPhases {
  std::vector<ConvPhase> phases;
  std::vector<ConvTap> taps;  // phase by phase
  // Where the taps of each phase begin, and where the last ones end.
  std::vector<int32_t> splits = {0};
  int32_t source_step[kSpatial];
  int32_t target_step[kSpatial];

  int32_t TapsOf(int64_t phase) const {
    return splits[phase + 1] - splits[phase];
  }
  // Target pixels of an image that are in a phase.
  static int64_t PixelsOf(const ConvPhase& phase) {
    return int64_t{phase.count[0]} * phase.count[1] * phase.count[2];
  }
};

// Taps without any pixel to read, and phases without taps, are left out.
ConvPhases PhasesOf(const ConvGeometry& geometry, bool adjoint);

// All taps of one phase of all coarse pixels, the lowest one being that of the
// padding.
ConvPhases AllTaps(const ConvGeometry& geometry);

// The blocks of each target block.
struct ConvEntries {
  std::vector<ConvEntry> entries;
  // Where those of a target block begin, or where every tap has blocks of its
  // own, those of a phase and a target block.
  std::vector<int32_t> splits;
  int64_t targets;
  bool by_phase;

  int64_t BucketOf(int64_t phase, int64_t target) const {
    return by_phase ? phase * targets + target : target;
  }
};

// `layout_taps` taps have blocks of their own; 1 if they share them.
ConvEntries EntriesOf(const Layout& layout, bool transpose, int64_t layout_taps,
                      const ConvPhases& phases);

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_PHASES_H_
