// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "cc/kernels/cpu/matmul.h"
#include "cc/kernels/problem.h"
#include "cc/tf/kernels/dtypes.h"
#include "cc/tf/kernels/gpu.h"
#include "cc/tf/kernels/rows_op.h"
#include "tensorflow/core/platform/errors.h"

namespace blocksparse {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::errors::InvalidArgument;

class SampledMatmulOp : public RowsOp {
 public:
  explicit SampledMatmulOp(OpKernelConstruction* ctx) : RowsOp(ctx) {
    OP_REQUIRES_OK(ctx, ReadBlockSize(ctx, &block_size_));
  }

  void Compute(OpKernelContext* ctx) override {
    SampledMatmulProblem problem;
    OP_REQUIRES_OK(ctx, ReadProblem(ctx, &problem));
    TensorShape shape;
    OP_REQUIRES_OK(
        ctx, TensorShape::BuildTensorShape(
                 {problem.layout.nnz, block_size_[0], block_size_[1]}, &shape));
    Tensor* blocks = nullptr;
    OP_REQUIRES_OK(ctx, ctx->allocate_output(0, shape, &blocks));
    problem.blocks = blocks->data();
    OP_REQUIRES_OK(ctx, Run(ctx, problem));
  }

 private:
  absl::Status ReadProblem(OpKernelContext* ctx,
                           SampledMatmulProblem* problem) const {
    const Tensor& a = ctx->input(0);
    const Tensor& b = ctx->input(1);
    TF_RETURN_IF_ERROR(CountRows(a, "a", inputs(), &problem->rows));
    int64_t b_rows;
    TF_RETURN_IF_ERROR(CountRows(b, "b", outputs(), &b_rows));
    TensorShape expected;
    TF_RETURN_IF_ERROR(ReplaceFeatures(a, outputs(), &expected));
    if (b.shape() != expected) {
      return InvalidArgument(
          "a has shape ", a.shape().DebugString(), " and b ",
          b.shape().DebugString(), ", expected ", expected.DebugString(),
          " for b: shapes that differ only in their features");
    }
    Layout& layout = problem->layout;
    TF_RETURN_IF_ERROR(ReadLayout(ctx, 2, /*taps=*/1, block_size_[0],
                                  block_size_[1],
                                  /*nnz=*/-1, &layout));
    TF_RETURN_IF_ERROR(ToStatus(ValidateViews(layout)));
    TF_RETURN_IF_ERROR(ReadGate(ctx, 3, layout.nnz, &problem->gate));
    problem->features_first = features_first();
    problem->x_dtype = x_dtype();
    problem->blocks_dtype = blocks_dtype();
    problem->a = a.data();
    problem->b = b.data();
    return absl::OkStatus();
  }

  absl::Status Run(OpKernelContext* ctx,
                   const SampledMatmulProblem& problem) const {
    if (problem.layout.nnz == 0) return absl::OkStatus();
#ifdef TF_BLOCKSPARSE_CUDA
    if (on_gpu()) return RunOnGpu(ctx, problem);
#endif
    return PlanAndRun(ctx, problem, PlanSampledMatmul, RunSampledMatmul);
  }

  std::vector<int64_t> block_size_;
};

#define REGISTER_ON(DEVICE, TX, TB)                         \
  REGISTER_KERNEL_BUILDER(Name("Blocksparse>SampledMatmul") \
                              .Device(tensorflow::DEVICE)   \
                              .TypeConstraint<TX>("Tx")     \
                              .TypeConstraint<TB>("Tb")     \
                              .HostMemory("layout"),        \
                          SampledMatmulOp);
#define REGISTER_SAMPLED_MATMUL(TX, TB) \
  BLOCKSPARSE_FOR_EACH_DEVICE(REGISTER_ON, TX, TB)
BLOCKSPARSE_FOR_EACH_DTYPES(REGISTER_SAMPLED_MATMUL)
#undef REGISTER_SAMPLED_MATMUL
#undef REGISTER_ON

}  // namespace
}  // namespace blocksparse
