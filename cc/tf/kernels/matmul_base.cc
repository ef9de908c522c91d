// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/kernels/matmul_base.h"

#include "cc/kernels/cpu/matmul.h"
#include "cc/tf/kernels/gpu.h"
#include "tensorflow/core/platform/errors.h"

namespace blocksparse {

using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::errors::InvalidArgument;

MatmulBaseOp::MatmulBaseOp(OpKernelConstruction* ctx) : RowsOp(ctx) {
  OP_REQUIRES_OK(ctx, ctx->GetAttr("transpose", &transpose_));
}

absl::Status MatmulBaseOp::ReadProblem(OpKernelContext* ctx,
                                       MatmulProblem* problem,
                                       TensorShape* y_shape) const {
  const Tensor& x = ctx->input(0);
  const Tensor& blocks = ctx->input(1);
  const int64_t x_features = transpose_ ? outputs() : inputs();
  TF_RETURN_IF_ERROR(CountRows(x, "x", x_features, &problem->rows));
  if (blocks.dims() != 3) {
    return InvalidArgument("blocks have shape ", blocks.shape().DebugString(),
                           ", expected [nnz, b_in, b_out]");
  }
  const int64_t nnz = blocks.dim_size(0);
  Layout& layout = problem->layout;
  TF_RETURN_IF_ERROR(ReadLayout(ctx, 2, /*taps=*/1, blocks.dim_size(1),
                                blocks.dim_size(2), nnz, &layout));
  TF_RETURN_IF_ERROR(
      ToStatus(transpose_ ? ValidateView(layout.transposed, "transposed view")
                          : ValidateView(layout.forward, "forward view")));
  TF_RETURN_IF_ERROR(ReadGate(ctx, 3, nnz, &problem->gate));
  TF_RETURN_IF_ERROR(ReplaceFeatures(x, y_features(), y_shape));
  problem->gate_is_mask = gate_is_mask();
  problem->transpose = transpose_;
  problem->features_first = features_first();
  problem->x_dtype = x_dtype();
  problem->blocks_dtype = blocks_dtype();
  problem->x = x.data();
  problem->blocks = blocks.data();
  return absl::OkStatus();
}

absl::Status MatmulBaseOp::Run(OpKernelContext* ctx,
                               const MatmulProblem& problem) const {
  if (problem.rows == 0) return absl::OkStatus();
#ifdef TF_BLOCKSPARSE_CUDA
  if (on_gpu()) return RunOnGpu(ctx, problem);
#endif
  return PlanAndRun(ctx, problem, PlanMatmul, RunMatmul);
}

}  // namespace blocksparse
