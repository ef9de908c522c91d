// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// As products.h, of convolutions.
#ifndef TF_BLOCKSPARSE_CC_GPU_CHECK_CONV_PRODUCTS_H_
#define TF_BLOCKSPARSE_CC_GPU_CHECK_CONV_PRODUCTS_H_

#include <vector>

#include "cc/gpu_check/conv_kernel_cases.h"
#include "cc/gpu_check/product.h"
#include "cc/kernels/cuda/conv.h"
#include "cc/kernels/cuda/conv_table.h"
#include "cc/testing/conv_case.h"

namespace blocksparse {
namespace cuda {

template <typename Base>
struct PixelsProduct : Base {
  using typename Base::Kernel;
  using typename Base::Plan;

  static std::vector<ConvShape> ExactShapes(const Kernel& kernel,
                                            size_t place) {
    return ConvShapesOf(kernel.path, place);
  }
  // Of shapes that every kernel may take.
  static std::vector<ConvShape> ChosenShapes() {
    return ConvShapesOf(Path::kVectors, 0);
  }
  static std::vector<ConvShape> OwnShapes(const Kernel&) {
    return ConvShapesOf(Path::kVectors, 1);
  }
  // Those of the product that it may be.
  static const std::vector<int32_t>& TableOf(const Plan& plan) {
    return plan.kernel == nullptr ? plan.product.table : plan.table;
  }
  static const char* NameOf(const Plan& plan) {
    return plan.kernel == nullptr ? plan.product.kernel->name
                                  : plan.kernel->name;
  }
};

struct ConvProduct
    : PixelsProduct<ProductOf<
          ProductTypes<ConvKernel, ConvProblem, ConvPlan, ConvCase, ConvShape>,
          ConvKernels, PlanConv, PlanConvWith, RunConv, &ConvCase::conv,
          &ConvCase::CheckConv, &ConvProblem::y>> {
  static constexpr const char* kName = "conv";
};

struct ConvSampledProduct
    : PixelsProduct<
          ProductOf<ProductTypes<ConvSampledKernel, ConvSampledProblem,
                                 ConvSampledPlan, ConvCase, ConvShape>,
                    ConvSampledKernels, PlanConvSampled, PlanConvSampledWith,
                    RunConvSampled, &ConvCase::sampled, &ConvCase::CheckSampled,
                    &ConvSampledProblem::blocks>> {
  static constexpr const char* kName = "conv_sampled";
};

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_GPU_CHECK_CONV_PRODUCTS_H_
