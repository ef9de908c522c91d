// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// An update of Adam: one pass over a variable, its gradient and its moments.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_ADAM_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_ADAM_H_

#include <cstdint>

#include "cc/base/dtype.h"
#include "cc/base/isa.h"
#include "cc/base/parallel_for.h"

namespace blocksparse {

// For each number, every operation rounded by itself as in Keras's ops:
//   m += (gradient - m) * first
//   v += (gradient^2 - v) * second
//   w -= m * alpha / (sqrt(v) + epsilon)
struct AdamProblem {
  Dtype dtype = Dtype::kFloat32;  // or kFloat64
  int64_t size = 0;
  const void* gradient = nullptr;
  // What is read, and where the results go: the same place, or another.
  const void* old_w = nullptr;
  const void* old_m = nullptr;
  const void* old_v = nullptr;
  void* w = nullptr;
  void* m = nullptr;
  void* v = nullptr;
  // Numbers that the dtype has.
  double alpha = 0;
  double first = 0;
  double second = 0;
  double epsilon = 0;
};

// The same bits for every instruction set and number of threads. The dtype is
// one of the two above.
void RunAdam(const AdamProblem& problem, Isa isa, const Executor& executor);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_ADAM_H_
