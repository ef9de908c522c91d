// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Block-sparse products on the CPU: pick a kernel, say how much
// scratch it needs, run it. The layout of a problem must have passed
// ParseLayout and, for the view that is read, ValidateView.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_MATMUL_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_MATMUL_H_

#include <cstddef>
#include <cstdint>

#include "cc/base/isa.h"
#include "cc/base/parallel_for.h"
#include "cc/kernels/problem.h"

namespace blocksparse {

// Scratch handed to a Run function must start at a multiple of this.
constexpr size_t kScratchAlignment = 64;

// Bytes that keep the next part of a scratch aligned.
inline size_t AlignScratch(size_t bytes) {
  return (bytes + kScratchAlignment - 1) / kScratchAlignment *
         kScratchAlignment;
}

struct MatmulKernel;  // a row of kernels.inc
struct SampledMatmulKernel;

struct MatmulPlan {
  // Rows, from where the last range ended, and the kernel that takes them.
  struct Range {
    const MatmulKernel* kernel;
    int64_t rows;
  };
  // Full tiles, then a smaller tile, then the few rows left.
  static constexpr int kMaxRanges = 3;
  bool supported() const { return range_count > 0; }

  Range ranges[kMaxRanges] = {};
  int range_count = 0;  // 0: dtypes not supported
  int threads = 1;      // workers that pay; at most those asked for
  size_t scratch_bytes = 0;
};

// Chooses by dtypes, rows, block size and instruction set. The result of
// RunMatmul does not depend on `threads`.
MatmulPlan PlanMatmul(const MatmulProblem& problem, int threads, Isa isa);
// The same with a given kernel for all rows; it must take the problem's dtypes.
MatmulPlan PlanMatmulWith(const MatmulKernel& kernel,
                          const MatmulProblem& problem, int threads);
void RunMatmul(const MatmulProblem& problem, const MatmulPlan& plan,
               const Executor& executor, void* scratch);

struct SampledMatmulPlan {
  bool supported() const { return kernel != nullptr; }

  const SampledMatmulKernel* kernel = nullptr;
  int threads = 1;
  size_t scratch_bytes = 0;
};

SampledMatmulPlan PlanSampledMatmul(const SampledMatmulProblem& problem,
                                    int threads, Isa isa);
SampledMatmulPlan PlanSampledMatmulWith(const SampledMatmulKernel& kernel,
                                        const SampledMatmulProblem& problem,
                                        int threads);
void RunSampledMatmul(const SampledMatmulProblem& problem,
                      const SampledMatmulPlan& plan, const Executor& executor,
                      void* scratch);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_MATMUL_H_
