// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Block-sparse convolutions on the CPU: pick a kernel, say how much scratch it
// needs, run it. The layout of a problem must have passed ParseLayout and
// ValidateView or, for a sampled one, ValidateViews.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/base/isa.h"
#include "cc/base/parallel_for.h"
#include "cc/kernels/cpu/conv_bands.h"
#include "cc/kernels/cpu/matmul.h"
#include "cc/kernels/problem.h"

namespace blocksparse {

struct ConvKernel;
struct ConvSampledKernel;

struct ConvPlan {
  bool supported() const { return kernel != nullptr || product.supported(); }

  const ConvKernel* kernel = nullptr;  // null: a product, or not supported
  MatmulPlan product;                  // of all pixels, see conv_product.h
  std::vector<ConvBands> bands;        // one, if there is a kernel
  int threads = 1;  // workers that pay; at most those asked for
  size_t scratch_bytes = 0;
};

// Chooses by dtypes, geometry, block size and instruction set. The result of
// RunConv does not depend on `threads`. There must be pixels in y.
ConvPlan PlanConv(const ConvProblem& problem, int threads, Isa isa);
// The same with a given kernel; not supported if it can't take the problem.
ConvPlan PlanConvWith(const ConvKernel& kernel, const ConvProblem& problem,
                      int threads);
void RunConv(const ConvProblem& problem, const ConvPlan& plan,
             const Executor& executor, void* scratch);

struct ConvSampledPlan {
  bool supported() const { return kernel != nullptr || product.supported(); }

  const ConvSampledKernel* kernel = nullptr;  // as for ConvPlan
  SampledMatmulPlan product;
  std::vector<ConvBands> bands;  // one, if there is a kernel
  int threads = 1;
  size_t scratch_bytes = 0;
};

// There must be pixels in the coarse side.
ConvSampledPlan PlanConvSampled(const ConvSampledProblem& problem, int threads,
                                Isa isa);
void RunConvSampled(const ConvSampledProblem& problem,
                    const ConvSampledPlan& plan, const Executor& executor,
                    void* scratch);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_H_
