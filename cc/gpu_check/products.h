// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#ifndef TF_BLOCKSPARSE_CC_GPU_CHECK_PRODUCTS_H_
#define TF_BLOCKSPARSE_CC_GPU_CHECK_PRODUCTS_H_

#include <vector>

#include "cc/gpu_check/kernel_cases.h"
#include "cc/gpu_check/product.h"
#include "cc/kernels/cuda/kernel_table.h"
#include "cc/testing/case.h"

namespace blocksparse {
namespace cuda {

template <typename Base>
struct RowsProduct : Base {
  using typename Base::Kernel;
  using typename Base::Plan;

  // A kernel's share of the shapes, where results have to be exact.
  static std::vector<CaseShape> ExactShapes(const Kernel& kernel,
                                            size_t place) {
    return CaseShapesOf(kernel.path, place);
  }
  static std::vector<CaseShape> ChosenShapes() {
    return CaseShapesOf(Path::kElements, 0);
  }
  // What is copied to the GPU, and by which kernel's name it goes.
  static const std::vector<int32_t>& TableOf(const Plan& plan) {
    return plan.table;
  }
  static const char* NameOf(const Plan& plan) { return plan.kernel->name; }
};

struct MatmulProduct
    : RowsProduct<
          ProductOf<ProductTypes<MatmulKernel, MatmulProblem, MatmulPlan, Case,
                                 CaseShape>,
                    MatmulKernels, PlanMatmul, PlanMatmulWith, RunMatmul,
                    &Case::matmul, &Case::CheckMatmul, &MatmulProblem::y>> {
  static constexpr const char* kName = "matmul";
  // What asks most of a kernel, beside a share of the shapes.
  static std::vector<CaseShape> OwnShapes(const MatmulKernel& kernel) {
    std::vector<CaseShape> shapes = ActivationShapes(kernel);
    shapes.push_back(LongColumn(kernel));
    return shapes;
  }
};

struct SampledMatmulProduct
    : RowsProduct<
          ProductOf<ProductTypes<SampledMatmulKernel, SampledMatmulProblem,
                                 SampledMatmulPlan, Case, CaseShape>,
                    SampledMatmulKernels, PlanSampledMatmul,
                    PlanSampledMatmulWith, RunSampledMatmul, &Case::sampled,
                    &Case::CheckSampled, &SampledMatmulProblem::blocks>> {
  static constexpr const char* kName = "sampled_matmul";
  static std::vector<CaseShape> OwnShapes(const SampledMatmulKernel& kernel) {
    return {ManyRows(kernel, GateKind::kNone),
            ManyRows(kernel, GateKind::kMixed)};
  }
};

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_GPU_CHECK_PRODUCTS_H_
