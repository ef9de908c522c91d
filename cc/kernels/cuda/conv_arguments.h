// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What kernels of convolutions are told: plain numbers and pointers, for hosts
// and devices.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_ARGUMENTS_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_ARGUMENTS_H_

#include <cstdint>

#include "cc/kernels/cuda/arguments.h"
#include "cc/layout/conv_geometry.h"

namespace blocksparse {
namespace cuda {

// Images of pixels of features.
struct ConvSide {
  uint32_t size[kSpatial];
  uint32_t pixels;  // of an image
  int64_t features;
  bool features_first;
};

// Target pixels (of y) that see the same taps: along each dimension `count` of
// them from `first` on, ConvArguments::target_step apart. For the i-th of them
// the source pixel (of x) of a tap is i * source_step + lowest + tap.shift, if
// there is such a pixel.
struct ConvPhase {
  int32_t first[kSpatial];
  int32_t count[kSpatial];
  int32_t lowest[kSpatial];
};

// Read at once.
struct alignas(16) ConvTap {
  int32_t shift[kSpatial];  // not negative
  int32_t number;           // of the kernel's taps
};

// A block that a target block has, with one tap of it or, from there on, with
// several: see ConvTask.
struct ConvEntry {
  int32_t source;  // block of features
  int32_t block;
  int32_t tap;
};

// A tile's share of a phase: entries [begin, end) of a target block, of each of
// them as many of the phase's taps as `taps` says, for the target's features
// from `offset` on. Tap t of an entry is taps[first_tap + entry.tap + t].
struct ConvTask {
  int32_t phase;
  int32_t target;
  int32_t offset;
  int32_t begin;
  int32_t end;
  int32_t part;  // of several that are added up, or -1
  int32_t first_tap;
  Divisor taps;
};

// Tasks of one phase, target and offset: parts [first, first + count).
struct ConvSplit {
  int32_t phase;
  int32_t target;
  int32_t offset;
  int32_t first;
  int32_t count;
};

struct ConvArguments {
  int64_t batch;
  ConvSide source;
  ConvSide target;
  int64_t target_features;
  int32_t source_step[kSpatial];
  int32_t target_step[kSpatial];
  Divisor source_block;
  int32_t target_block;
  int32_t block_outputs;
  int32_t block_taps;  // that a block has
  bool transpose;
  const void* x;
  const void* blocks;
  const float* gate;
  const void* bias;
  Activation activation;
  void* y;
  void* preactivation;
  const ConvPhase* phases;
  const ConvTap* taps;
  const ConvTask* tasks;
  const ConvSplit* splits;
  const ConvEntry* entries;
  void* parts;  // [part, tile of rows, left, right] sums
  int32_t task_count;
  int32_t row_tiles;
};

// The kernel that gives every number of y the value of a pixel without taps, by
// blocks of so many threads.
constexpr int kFillThreads = 128;

struct ConvFillArguments {
  ConvSide target;
  int64_t size;  // of y
  const void* bias;
  Activation activation;
  void* y;
  void* preactivation;
  int64_t threads;
};

// Tasks are as those of a product, of a target block of the coarse side's
// features: its inputs are the numbers of the fine side that a coarse pixel
// meets, tap by tap of each entry. Its rows are coarse pixels.
struct ConvSampledArguments {
  int64_t rows;
  ConvSide fine;
  ConvSide coarse;
  Divisor coarse_size[kSpatial];
  int32_t strides[kSpatial];
  int32_t padding[kSpatial];
  Divisor fine_block;
  int32_t coarse_block;
  int32_t block_outputs;
  Divisor block_taps;
  bool transpose;  // the fine side has the outputs
  const void* a;   // of the fine side
  const void* b;   // of the coarse side
  const float* gate;
  void* blocks;
  const ConvTap* taps;
  const SampledTask* tasks;
  const ConvEntry* entries;
  void* parts;  // [pass, task, left, right] sums, or null for one pass
  int32_t task_count;
  int32_t passes;
  int64_t pass_rows;
};

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_ARGUMENTS_H_
