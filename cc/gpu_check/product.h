// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The same names for each product: what its checks call.
#ifndef TF_BLOCKSPARSE_CC_GPU_CHECK_PRODUCT_H_
#define TF_BLOCKSPARSE_CC_GPU_CHECK_PRODUCT_H_

#include <functional>
#include <string>
#include <vector>

#include "cc/kernels/cuda/matmul.h"

namespace blocksparse {
namespace cuda {

template <typename KernelType, typename ProblemType, typename PlanType,
          typename CaseType, typename ShapeType>
struct ProductTypes {
  using Kernel = KernelType;
  using Problem = ProblemType;
  using Plan = PlanType;
  using Case = CaseType;
  using Shape = ShapeType;
};

// By functions of its own, and members of its case and of its problem.
template <typename Types, auto kKernels, auto kChoose, auto kPlanWith,
          auto kRun, auto kProblem, auto kCheck, auto kOutput>
struct ProductOf : Types {
  using typename Types::Case;
  using typename Types::Kernel;
  using typename Types::Plan;
  using typename Types::Problem;

  static const std::vector<Kernel>& Kernels() { return kKernels(); }
  static const Problem& ProblemOf(const Case& test) {
    return (test.*kProblem)();
  }
  static std::string Check(Case* test,
                           const std::function<void(const Problem&)>& run,
                           double ulps) {
    return (test->*kCheck)(run, ulps);
  }
  static std::string Choose(const Problem& problem, const Device& device,
                            Plan* plan) {
    return kChoose(problem, device, plan);
  }
  static std::string PlanWith(const Kernel& kernel, const Problem& problem,
                              const Device& device, Plan* plan) {
    return kPlanWith(kernel, problem, device, plan);
  }
  static std::string Run(const Problem& problem, const Plan& plan,
                         void* scratch) {
    return kRun(problem, plan, scratch, nullptr);
  }
  static void* OutputOf(const Problem& problem) { return problem.*kOutput; }
};

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_GPU_CHECK_PRODUCT_H_
