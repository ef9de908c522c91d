// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What a kernel is told: plain numbers and pointers, for hosts and devices.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_ARGUMENTS_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_ARGUMENTS_H_

#include <cstdint>

#include "cc/kernels/problem.h"

namespace blocksparse {
namespace cuda {

// A number to divide by: a division is a multiplication, an addition and a
// shift (Granlund and Montgomery, "Division by Invariant Integers using
// Multiplication", 1994, figure 4.1).
struct Divisor {
  int32_t value = 1;
  uint32_t factor = 1;
  int32_t shift = 0;
};

inline Divisor DivisorOf(int32_t value) {
  Divisor divisor;
  divisor.value = value;
  while ((int64_t{1} << divisor.shift) < value) ++divisor.shift;
  const uint64_t beyond = (uint64_t{1} << divisor.shift) - value;
  divisor.factor = static_cast<uint32_t>((beyond << 32) / value + 1);
  return divisor;
}

// The quotient, on hosts and devices.
#ifdef __CUDACC__
__host__ __device__
#endif
    inline uint32_t DivideUnsigned(uint32_t number, Divisor divisor) {
  const uint64_t high = (uint64_t{number} * divisor.factor) >> 32;
  return static_cast<uint32_t>((high + number) >> divisor.shift);
}

// The same of a number that is not negative.
#ifdef __CUDACC__
__host__ __device__
#endif
    inline int32_t Divide(int32_t number, Divisor divisor) {
  return static_cast<int32_t>(
      DivideUnsigned(static_cast<uint32_t>(number), divisor));
}

// A tile's share of a product: entries [begin, end) of a target block's view,
// for the target's features from `offset` on. If it is not all of them, the
// sums are part `part` of several.
struct MatmulTask {
  int32_t target;
  int32_t offset;
  int32_t begin;
  int32_t end;
  int32_t part;  // or -1
};

// Tasks of one target and offset, to be added up: parts [first, first + count).
struct Split {
  int32_t target;
  int32_t offset;
  int32_t first;
  int32_t count;
};

struct MatmulArguments {
  int64_t rows;
  int64_t nnz;
  int64_t source_features;
  int64_t target_features;
  Divisor source_block;
  int32_t target_block;
  int32_t block_outputs;
  bool transpose;
  bool features_first;
  const void* x;
  const void* blocks;
  const float* gate;
  const void* bias;
  Activation activation;
  void* y;
  void* preactivation;
  const MatmulTask* tasks;
  const Split* splits;
  const int32_t* index;
  const int32_t* block_id;  // or null: entry e is block e
  void* parts;              // [part, tile of rows, left, right] sums
  int32_t task_count;
  int32_t row_tiles;
};

// A tile of blocks: of output block `target`, its outputs from `offset` on and
// its inputs from `first` on, if those of entries [begin, end) are counted one
// after the other.
struct SampledTask {
  int32_t target;
  int32_t offset;
  int32_t begin;
  int32_t end;
  int32_t first;
};

struct SampledMatmulArguments {
  int64_t rows;
  int64_t inputs;
  int64_t outputs;
  Divisor block_inputs;
  int32_t block_outputs;
  bool features_first;
  const void* a;
  const void* b;
  const float* gate;
  void* blocks;
  const SampledTask* tasks;
  const int32_t* index;
  void* parts;  // [pass, task, left, right] sums, or null for one pass
  int32_t task_count;
  int32_t passes;
  int64_t pass_rows;
};

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_ARGUMENTS_H_
