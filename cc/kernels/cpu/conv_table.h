// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What a convolution's kernel is to the code that runs it: the rows of
// kernels.inc, as kernel_table.h has them for products.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_TABLE_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_TABLE_H_

#include <cstdint>

#include "cc/kernels/cpu/conv_bands.h"
#include "cc/kernels/cpu/kernel_table.h"

namespace blocksparse {

struct FeatureRange {
  int64_t begin;
  int64_t end;
};

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
  // Features of x that have blocks, in order: no others are packed.
  const FeatureRange* used = nullptr;
  int64_t used_count = 0;
  const int64_t* tiles = nullptr;  // first cells
  int64_t tile_count = 0;
  // [tiles][rows] where the pixels of their cells are in y, feature 0, or -1.
  const int64_t* pixels = nullptr;

  // x and y of the band that the same worker takes next, as far as is known.
  const void* next_x = nullptr;
  int64_t next_x_stride = 0;
  int64_t next_x_rows = 0;
  int64_t next_x_bytes = 0;  // of a row
  const void* next_y = nullptr;
  int64_t next_y_bytes = 0;

  // Scratch of this worker, in the kernel's compute type.
  // x's pixels: [source feature][cell], or [register of source features][cell]
  // [lane], see ConvFamily.
  void* panel = nullptr;
  // Elements from one feature, or register of them, to the next; from one
  // source block to the next; and from one cell to the next.
  int64_t panel_stride = 0;
  int64_t block_stride = 0;
  int64_t cell_stride = 0;
  const void* zeros = nullptr;  // an x of no pixel: source_features zeros
  void* sums = nullptr;         // of all tiles of a band
  // Blocks of a chunk, widened and gated, or null; transposed if wanted.
  void* staging = nullptr;
  bool transpose_staged = false;
};

// Inputs whose products are added to all tiles of a band before the next ones,
// and as many blocks at most.
constexpr int kConvInputs = 512;
constexpr int kConvChunk = 128;

// Blocks of a chunk, at most.
static inline int64_t ConvChunkBlocks(int64_t source_block) {
  const int64_t blocks = (kConvInputs + source_block - 1) / source_block;
  return blocks < kConvChunk ? blocks : kConvChunk;
}

// Features a tile of sums has room for: whole registers, of which those that
// don't exist are read, not written.
// static: see convert.h.
static inline int64_t ConvTileFeatures(const ConvTask& task, int lanes) {
  const int64_t features = int64_t{task.tile_targets} * task.target_block;
  return (features + lanes - 1) / lanes * lanes;
}

// kRows: a vector holds one feature of several pixels, so that blocks of any
// size are multiplied alike.
// kOutputs: a vector holds several outputs of one pixel, where blocks are whole
// registers on both sides and features come last: pixels need not be
// transposed on their way in and out.
enum class ConvFamily { kRows, kOutputs };

struct ConvKernel {
  const char* name;
  ConvFamily family;
  Isa isa;
  Dtype x_dtype;
  Dtype blocks_dtype;
  int pixels;        // of a tile
  int outputs;       // of a tile
  int lanes;         // elements of a full register
  int compute_size;  // bytes of the type computed in
  // Copies the band's pixels to the panel.
  void (*pack)(const ConvTask& task);
  void (*run)(const ConvTask& task);
};

// One side of a sampled convolution: pixels that are copied to a panel of cells
// for each feature block.
struct ConvSide {
  const void* pixels = nullptr;  // [image, pixel, feature], or features first
  int64_t image_pixels = 0;
  int64_t features = 0;
  int32_t block = 0;
  const int64_t* source = nullptr;  // [cells], the pixel of a cell or -1
  int64_t cells = 0;                // of one image
};

// Taps that are multiplied together: the inputs of all of them are read from
// the same cell on, and the outputs of a tap so many cells earlier (or, with
// `adjoint`, later) as it is beyond the first one.
struct ConvTapGroup {
  const ConvTap* taps;
  int64_t count;
  int64_t extra;  // cells of the last tap beyond the first one
  bool live;      // or else all pixels of its taps are padding
};

// Some images' bands of a sampled convolution.
struct ConvSampledTask {
  const ConvSampledProblem* problem;
  ConvSide a;             // inputs
  ConvSide b;             // outputs
  int64_t image = 0;      // the first one
  int64_t images = 1;     // beside each other in the panels
  int64_t present = 1;    // of them that exist
  int64_t positions = 0;  // cells of coarse pixels, all images counted
  int64_t kernel_taps = 0;
  const ConvTapGroup* groups = nullptr;
  int64_t group_count = 0;
  bool first_pass = true;  // store, else add to partial
  bool last_pass = true;   // write blocks, else partial
  bool joined = false;     // partial is of one part, so never the last pass
  // Blocks of outputs to pack, or pairs to multiply: an input block, and of
  // each one group of taps after the other.
  int64_t begin = 0;
  int64_t end = 0;
  // Cells of zeros before and after the outputs of a block, and all its cells.
  int64_t b_margin = 0;
  int64_t b_panel_cells = 0;
  void* a_panel = nullptr;      // of this worker: a strip of input blocks
  void* b_panel = nullptr;      // of everyone: all output blocks
  const void* zeros = nullptr;  // a pixel of either side
  void* partial = nullptr;      // sums of earlier passes, like blocks
  int64_t* strip = nullptr;     // which one a_panel holds, or -1
};

// Input blocks in a strip: four cache lines of each pixel, or one block.
static inline int64_t ConvStripBlocks(int64_t block) {
  constexpr int64_t kFeatures = 64;
  return block < kFeatures ? kFeatures / block : 1;
}

// How blocks are padded in the panels.
struct ConvSampledPadding {
  int64_t images;   // that share a register
  int64_t inputs;   // columns of a block of a_panel
  int64_t outputs;  // columns of a block of b_panel
};

struct ConvSampledKernel {
  const char* name;
  Isa isa;
  Dtype x_dtype;
  Dtype blocks_dtype;
  int compute_size;
  ConvSampledPadding (*padding)(int64_t block_inputs, int64_t block_outputs);
  void (*pack)(const ConvSampledTask& task);
  void (*run)(const ConvSampledTask& task);
  void (*join)(const SampledJoin& join);
};

// All rows of kernels.inc that this build has, best instruction set first.
KernelList<ConvKernel> ConvKernels();
KernelList<ConvSampledKernel> ConvSampledKernels();

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_TABLE_H_
