// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What a kernel of kernels.inc is to the code that runs it. Everything here is
// independent of the instruction set.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_KERNEL_TABLE_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_KERNEL_TABLE_H_

#include <cstddef>
#include <cstdint>

#include "cc/base/dtype.h"
#include "cc/base/isa.h"
#include "cc/kernels/cpu/sampled_parts.h"
#include "cc/kernels/problem.h"
#include "cc/layout/layout.h"

namespace blocksparse {

// Blocks that are prepared together, see MatmulTask::chunk.
constexpr int kMaxChunk = 64;

// Bytes that memory is read and written in.
constexpr int kCacheLine = 64;

// Rows that a forward kernel of kOutputs takes at once. More read the weights
// again.
constexpr int kFewRowsAtOnce = 4;

// A range of rows times a range of target blocks.
struct MatmulTask {
  const MatmulProblem* problem;
  LayoutView view;              // the direction that is multiplied
  int64_t source_features = 0;  // of x
  int64_t target_features = 0;  // of y
  int32_t source_block = 0;     // features of a source block
  int32_t target_block = 0;     // features of a target block
  int64_t row = 0;
  int64_t rows = 0;  // at most the kernel's
  int64_t target_begin = 0;
  int64_t target_end = 0;
  // Blocks whose weights and inputs are kept in the first-level cache while
  // all outputs of a target block are computed.
  int chunk = 1;
  // Inputs of a block that are multiplied at a time, for the same reason.
  int piece = 1;
  // How many blocks ahead weights are prefetched.
  int ahead = 1;
  // Target blocks whose sums are in one tile: enough to fill lines of y.
  int tile_targets = 1;
  // Rows after these that the same worker packs next, as far as is known.
  int64_t next_rows = 0;
  // Scratch of this worker, in the kernel's compute type.
  void* inputs = nullptr;   // x, packed; see MatmulKernel::pack
  void* tile = nullptr;     // sums; see the families
  void* staging = nullptr;  // [chunk] blocks, widened and gated, or null
};

// kRows: a vector holds one feature of several rows. x is packed feature by
// feature, and weights are broadcast in their natural order, so forward and
// transposed products read the same blocks.
// kOutputs: a vector holds several weights of one input, for few rows. x is
// read row by row.
enum class MatmulFamily { kRows, kOutputs };

struct MatmulKernel {
  const char* name;
  MatmulFamily family;
  Isa isa;
  Dtype x_dtype;
  Dtype blocks_dtype;
  int rows;          // rows of a task
  int outputs;       // of a tile of rows; 0 in the other family
  int lanes;         // elements of a full register
  int compute_size;  // bytes of the type computed in
  // Packs rows [row, row + rows) of x into task.inputs.
  void (*pack)(const MatmulTask& task);
  void (*run)(const MatmulTask& task);
};

// Most rows of a sampled product that share a register.
constexpr int kMaxFold = 4;
// Features that are packed at a time, of more than one block if they are
// narrower: 16 cache lines of floats, read from each row. 64 took up to a
// tenth of the whole product longer.
constexpr int kStripFeatures = 256;

// Blocks of the layout's transposed view, over one range of rows.
struct SampledMatmulTask {
  const SampledMatmulProblem* problem;
  int64_t row = 0;         // rows of this pass; the panels hold them
  int64_t rows = 0;        // of this pass
  bool first_pass = true;  // store, else add to partial
  bool last_pass = true;   // write blocks, else partial
  bool joined = false;     // partial is of one part, so never the last pass
  int64_t begin = 0;       // output blocks to pack, or input blocks to multiply
  int64_t end = 0;
  // Panels of blocks, see sampled_matmul_pack.h: of this worker, a strip's;
  // and of everyone, all of b's.
  void* a_panel = nullptr;
  void* b_panel = nullptr;
  void* partial = nullptr;  // sums of earlier passes, like blocks
};

struct SampledMatmulKernel {
  const char* name;
  Isa isa;
  Dtype x_dtype;
  Dtype blocks_dtype;
  int compute_size;
  // Columns a block of b_panel is padded to at most.
  int64_t (*padded)(int64_t block_outputs);
  void (*pack)(const SampledMatmulTask& task);
  void (*run)(const SampledMatmulTask& task);
  void (*join)(const SampledJoin& join);
};

template <typename Kernel>
struct KernelList {
  const Kernel* begin;
  const Kernel* end;
};

// All rows of kernels.inc that this build has, best instruction set first.
KernelList<MatmulKernel> MatmulKernels();
KernelList<SampledMatmulKernel> SampledMatmulKernels();

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_KERNEL_TABLE_H_
