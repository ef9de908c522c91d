// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cuda/conv.h"

#include "cc/kernels/conv_product.h"
#include "cc/kernels/cuda/plan.h"

namespace blocksparse {
namespace cuda {

std::string PlanConv(const ConvProblem& problem, const Device& device,
                     ConvPlan* plan) {
  *plan = ConvPlan();
  if (!IsProduct(problem)) {
    return NoKernel("conv", problem.x_dtype, problem.blocks_dtype,
                    problem.layout);
  }
  const std::string error =
      PlanMatmul(AsMatmul(problem), device, &plan->product);
  plan->scratch_bytes = plan->product.scratch_bytes;
  return error;
}

std::string RunConv(const ConvProblem& problem, const ConvPlan& plan,
                    void* scratch, void* stream) {
  return RunMatmul(AsMatmul(problem), plan.product, scratch, stream);
}

}  // namespace cuda
}  // namespace blocksparse
