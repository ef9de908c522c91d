// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// As products.h, of convolutions.
#ifndef TF_BLOCKSPARSE_CC_GPU_CHECK_CONV_PRODUCTS_H_
#define TF_BLOCKSPARSE_CC_GPU_CHECK_CONV_PRODUCTS_H_

#include <functional>
#include <string>
#include <vector>

#include "cc/gpu_check/conv_kernel_cases.h"
#include "cc/kernels/cuda/conv.h"
#include "cc/kernels/cuda/conv_table.h"
#include "cc/testing/conv_case.h"

namespace blocksparse {
namespace cuda {

struct ConvProduct {
  using Kernel = ConvKernel;
  using Problem = ConvProblem;
  using Plan = ConvPlan;
  using Case = ConvCase;
  using Shape = ConvShape;

  static constexpr const char* kName = "conv";
  static const std::vector<Kernel>& Kernels() { return ConvKernels(); }
  static std::vector<Shape> ExactShapes(const Kernel& kernel, size_t place) {
    return ConvShapesOf(kernel.path, place);
  }
  // Of shapes that every kernel may take.
  static std::vector<Shape> ChosenShapes() {
    return ConvShapesOf(Path::kVectors, 0);
  }
  static std::vector<Shape> OwnShapes(const Kernel&) {
    return ConvShapesOf(Path::kVectors, 1);
  }
  static const Problem& ProblemOf(const Case& test) { return test.conv(); }
  static std::string Check(Case* test,
                           const std::function<void(const Problem&)>& run,
                           double ulps) {
    return test->CheckConv(run, ulps);
  }
  static std::string Choose(const Problem& problem, const Device& device,
                            Plan* plan) {
    return PlanConv(problem, device, plan);
  }
  static std::string PlanWith(const Kernel& kernel, const Problem& problem,
                              const Device& device, Plan* plan) {
    return PlanConvWith(kernel, problem, device, plan);
  }
  static std::string Run(const Problem& problem, const Plan& plan,
                         void* scratch) {
    return RunConv(problem, plan, scratch, nullptr);
  }
  static void* OutputOf(const Problem& problem) { return problem.y; }
  // Those of the product that it may be.
  static const std::vector<int32_t>& TableOf(const Plan& plan) {
    return plan.kernel == nullptr ? plan.product.table : plan.table;
  }
  static const char* NameOf(const Plan& plan) {
    return plan.kernel == nullptr ? plan.product.kernel->name
                                  : plan.kernel->name;
  }
};

struct ConvSampledProduct {
  using Kernel = ConvSampledKernel;
  using Problem = ConvSampledProblem;
  using Plan = ConvSampledPlan;
  using Case = ConvCase;
  using Shape = ConvShape;

  static constexpr const char* kName = "conv_sampled";
  static const std::vector<Kernel>& Kernels() { return ConvSampledKernels(); }
  static std::vector<Shape> ExactShapes(const Kernel& kernel, size_t place) {
    return ConvShapesOf(kernel.path, place);
  }
  // Of shapes that every kernel may take.
  static std::vector<Shape> ChosenShapes() {
    return ConvShapesOf(Path::kVectors, 0);
  }
  static std::vector<Shape> OwnShapes(const Kernel&) {
    return ConvShapesOf(Path::kVectors, 1);
  }
  static const Problem& ProblemOf(const Case& test) { return test.sampled(); }
  static std::string Check(Case* test,
                           const std::function<void(const Problem&)>& run,
                           double ulps) {
    return test->CheckSampled(run, ulps);
  }
  static std::string Choose(const Problem& problem, const Device& device,
                            Plan* plan) {
    return PlanConvSampled(problem, device, plan);
  }
  static std::string PlanWith(const Kernel& kernel, const Problem& problem,
                              const Device& device, Plan* plan) {
    return PlanConvSampledWith(kernel, problem, device, plan);
  }
  static std::string Run(const Problem& problem, const Plan& plan,
                         void* scratch) {
    return RunConvSampled(problem, plan, scratch, nullptr);
  }
  static void* OutputOf(const Problem& problem) { return problem.blocks; }
  // Those of the product that it may be.
  static const std::vector<int32_t>& TableOf(const Plan& plan) {
    return plan.kernel == nullptr ? plan.product.table : plan.table;
  }
  static const char* NameOf(const Plan& plan) {
    return plan.kernel == nullptr ? plan.product.kernel->name
                                  : plan.kernel->name;
  }
};

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_GPU_CHECK_CONV_PRODUCTS_H_
