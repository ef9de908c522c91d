// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What a convolution's kernel is to the code that runs it: the rows of
// kernels.inc, as kernel_table.h has them for products.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_TABLE_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_TABLE_H_

#include <cstdint>

#include "cc/kernels/cpu/conv_bands.h"
#include "cc/kernels/cpu/kernel_table.h"

namespace blocksparse {

// One phase of a band of pixels times a range of target blocks.
struct ConvTask {
  const ConvProblem* problem;
  LayoutView view;              // the direction that is multiplied
  int64_t source_features = 0;  // of x
  int64_t target_features = 0;  // of y
  int32_t source_block = 0;     // features of a source block
  int32_t target_block = 0;     // features of a target block
  int64_t target_blocks = 0;
  int64_t target_begin = 0;
  int64_t target_end = 0;
  // Target blocks whose sums are in one tile: enough to fill lines of y.
  int tile_targets = 1;

  // Those of the kernel that have pixels to read, and all of them.
  const ConvTap* taps = nullptr;
  int64_t tap_count = 0;
  int64_t kernel_taps = 0;
  const int64_t* tap_offsets = nullptr;  // [kernel_taps], -1: no pixels

  // The band and the phase; see conv_bands.h.
  int64_t image = 0;    // the first one
  int64_t images = 1;   // beside each other in the panel
  int64_t present = 1;  // of them that exist
  int64_t source_pixels = 0;
  int64_t target_pixels = 0;
  const int64_t* source = nullptr;  // [cells]
  int64_t cells = 0;                // of one image
  const int64_t* tiles = nullptr;  // first cells
  int64_t tile_count = 0;
  // [tiles][rows] where the pixels of their cells are in y, feature 0, or -1.
  const int64_t* pixels = nullptr;

  // Scratch of this worker, in the kernel's compute type.
  void* panel = nullptr;  // [source feature][panel_stride], x's pixels
  int64_t panel_stride = 0;
  const void* zeros = nullptr;  // an x of no pixel: source_features zeros
  void* sums = nullptr;         // of all tiles of a band
  void* staging = nullptr;      // kConvChunk blocks, widened and gated, or null
};

// Inputs whose products are added to all tiles of a band before the next ones,
// and as many blocks at most.
constexpr int kConvInputs = 512;
constexpr int kConvChunk = 128;

// Features a tile of sums has room for: whole registers, of which those that
// don't exist are read, not written.
// static: see convert.h.
static inline int64_t ConvTileFeatures(const ConvTask& task, int lanes) {
  const int64_t features = int64_t{task.tile_targets} * task.target_block;
  return (features + lanes - 1) / lanes * lanes;
}

struct ConvKernel {
  const char* name;
  Isa isa;
  Dtype x_dtype;
  Dtype blocks_dtype;
  int rows;          // pixels of a tile
  int outputs;       // of a tile
  int lanes;         // elements of a full register
  int compute_size;  // bytes of the type computed in
  // Copies the band's pixels to the panel.
  void (*pack)(const ConvTask& task);
  void (*run)(const ConvTask& task);
};

// All rows of kernels.inc that this build has, best instruction set first.
KernelList<ConvKernel> ConvKernels();

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_TABLE_H_
