// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The same names for each product: its kernels, problems, plans and cases.
#ifndef TF_BLOCKSPARSE_CC_GPU_CHECK_PRODUCTS_H_
#define TF_BLOCKSPARSE_CC_GPU_CHECK_PRODUCTS_H_

#include <functional>
#include <string>
#include <vector>

#include "cc/gpu_check/kernel_cases.h"
#include "cc/kernels/cuda/kernel_table.h"
#include "cc/kernels/cuda/matmul.h"
#include "cc/testing/case.h"

namespace blocksparse {
namespace cuda {

struct MatmulProduct {
  using Kernel = MatmulKernel;
  using Problem = MatmulProblem;
  using Plan = MatmulPlan;
  using Case = blocksparse::Case;
  using Shape = CaseShape;

  static constexpr const char* kName = "matmul";
  static const std::vector<Kernel>& Kernels() { return MatmulKernels(); }
  // A kernel's share of the shapes, where results have to be exact.
  static std::vector<Shape> ExactShapes(const Kernel& kernel, size_t place) {
    return CaseShapesOf(kernel.path, place);
  }
  static std::vector<Shape> ChosenShapes() {
    return CaseShapesOf(Path::kElements, 0);
  }
  // What asks most of a kernel, beside a share of the shapes.
  static std::vector<Shape> OwnShapes(const Kernel& kernel) {
    std::vector<Shape> shapes = ActivationShapes(kernel);
    shapes.push_back(LongColumn(kernel));
    return shapes;
  }
  static const Problem& ProblemOf(const Case& test) { return test.matmul(); }
  static std::string Check(Case* test,
                           const std::function<void(const Problem&)>& run,
                           double ulps) {
    return test->CheckMatmul(run, ulps);
  }
  static std::string Choose(const Problem& problem, const Device& device,
                            Plan* plan) {
    return PlanMatmul(problem, device, plan);
  }
  static std::string PlanWith(const Kernel& kernel, const Problem& problem,
                              const Device& device, Plan* plan) {
    return PlanMatmulWith(kernel, problem, device, plan);
  }
  static std::string Run(const Problem& problem, const Plan& plan,
                         void* scratch) {
    return RunMatmul(problem, plan, scratch, nullptr);
  }
  static void* OutputOf(const Problem& problem) { return problem.y; }
  // What is copied to the GPU, and by which kernel's name it goes.
  static const std::vector<int32_t>& TableOf(const Plan& plan) {
    return plan.table;
  }
  static const char* NameOf(const Plan& plan) { return plan.kernel->name; }
};

struct SampledMatmulProduct {
  using Kernel = SampledMatmulKernel;
  using Problem = SampledMatmulProblem;
  using Plan = SampledMatmulPlan;
  using Case = blocksparse::Case;
  using Shape = CaseShape;

  static constexpr const char* kName = "sampled_matmul";
  static const std::vector<Kernel>& Kernels() { return SampledMatmulKernels(); }
  static std::vector<Shape> ExactShapes(const Kernel& kernel, size_t place) {
    return CaseShapesOf(kernel.path, place);
  }
  static std::vector<Shape> ChosenShapes() {
    return CaseShapesOf(Path::kElements, 0);
  }
  static std::vector<Shape> OwnShapes(const Kernel& kernel) {
    return {ManyRows(kernel, GateKind::kNone),
            ManyRows(kernel, GateKind::kMixed)};
  }
  static const Problem& ProblemOf(const Case& test) { return test.sampled(); }
  static std::string Check(Case* test,
                           const std::function<void(const Problem&)>& run,
                           double ulps) {
    return test->CheckSampled(run, ulps);
  }
  static std::string Choose(const Problem& problem, const Device& device,
                            Plan* plan) {
    return PlanSampledMatmul(problem, device, plan);
  }
  static std::string PlanWith(const Kernel& kernel, const Problem& problem,
                              const Device& device, Plan* plan) {
    return PlanSampledMatmulWith(kernel, problem, device, plan);
  }
  static std::string Run(const Problem& problem, const Plan& plan,
                         void* scratch) {
    return RunSampledMatmul(problem, plan, scratch, nullptr);
  }
  static void* OutputOf(const Problem& problem) { return problem.blocks; }
  // What is copied to the GPU, and by which kernel's name it goes.
  static const std::vector<int32_t>& TableOf(const Plan& plan) {
    return plan.table;
  }
  static const char* NameOf(const Plan& plan) { return plan.kernel->name; }
};

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_GPU_CHECK_PRODUCTS_H_
