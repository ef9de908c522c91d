// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier:
// Apache-2.0
#include "cc/kernels/cpu/matmul.h"

#include "cc/kernels/reference/reference.h"

namespace blocksparse {

MatmulPlan PlanMatmul(const MatmulProblem&, int, Isa) { return {}; }
void RunMatmul(const MatmulProblem& problem, const MatmulPlan&, const Executor&,
               void*) {
  ReferenceMatmul(problem);
}
SampledMatmulPlan PlanSampledMatmul(const SampledMatmulProblem&, int, Isa) {
  return {};
}
void RunSampledMatmul(const SampledMatmulProblem& problem,
                      const SampledMatmulPlan&, const Executor&, void*) {
  ReferenceSampledMatmul(problem);
}

}  // namespace blocksparse
