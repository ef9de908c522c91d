// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/conv_product.h"
#include "cc/kernels/cuda/conv.h"
#include "cc/kernels/cuda/plan.h"

namespace blocksparse {
namespace cuda {

std::string PlanConvSampled(const ConvSampledProblem& problem,
                            const Device& device, ConvSampledPlan* plan) {
  *plan = ConvSampledPlan();
  if (!IsProduct(problem)) {
    return NoKernel("sampled conv", problem.x_dtype, problem.blocks_dtype,
                    problem.layout);
  }
  const std::string error =
      PlanSampledMatmul(AsSampledMatmul(problem), device, &plan->product);
  plan->scratch_bytes = plan->product.scratch_bytes;
  return error;
}

std::string RunConvSampled(const ConvSampledProblem& problem,
                           const ConvSampledPlan& plan, void* scratch,
                           void* stream) {
  return RunSampledMatmul(AsSampledMatmul(problem), plan.product, scratch,
                          stream);
}

}  // namespace cuda
}  // namespace blocksparse
