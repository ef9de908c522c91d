// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/kernels/conv_base.h"

#include "cc/base/message.h"
#include "cc/kernels/cpu/conv.h"
#include "cc/tf/kernels/gpu.h"
#include "tensorflow/core/platform/errors.h"

namespace blocksparse {

using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::errors::InvalidArgument;

ConvBaseOp::ConvBaseOp(OpKernelConstruction* ctx) : PixelsOp(ctx) {
  OP_REQUIRES_OK(ctx, ctx->GetAttr("transpose", &transpose_));
}

absl::Status ConvBaseOp::ReadWeight(OpKernelContext* ctx,
                                    ConvProblem* problem) const {
  const Tensor& blocks = ctx->input(1);
  const int dims = conv().shared_taps ? 4 : 3;
  if (blocks.dims() != dims ||
      (conv().shared_taps && blocks.dim_size(1) != conv().taps)) {
    return InvalidArgument(
        "blocks have shape ", blocks.shape().DebugString(), ", expected ",
        conv().shared_taps
            ? Message("[nnz, taps, b_in, b_out] with ", conv().taps, " taps")
            : "[nnz, b_in, b_out]",
        "; pass the kernel_size they were made for");
  }
  const int64_t nnz = blocks.dim_size(0);
  Layout& layout = problem->layout;
  TF_RETURN_IF_ERROR(ReadLayout(ctx, 2, conv().layout_taps(),
                                blocks.dim_size(dims - 2),
                                blocks.dim_size(dims - 1), nnz, &layout));
  TF_RETURN_IF_ERROR(
      ToStatus(transpose_ ? ValidateView(layout.transposed, "transposed view")
                          : ValidateView(layout.forward, "forward view")));
  problem->blocks = blocks.data();
  return ReadGate(ctx, 3, nnz, &problem->gate);
}

absl::Status ConvBaseOp::ReadOutSpatial(OpKernelContext* ctx,
                                        const std::vector<int64_t>& x_spatial,
                                        std::vector<int64_t>* y_spatial) const {
  const Tensor& tensor = ctx->input(ctx->num_inputs() - 1);
  const int rank = conv().geometry.rank();
  if (tensor.dims() == 1 && tensor.NumElements() == 0 && !conv().adjoint) {
    y_spatial->resize(rank);
    for (int i = 0; i < rank; ++i) {
      TF_RETURN_IF_ERROR(ToStatus(DeriveCoarseSize(
          conv().geometry, i, x_spatial[i], &(*y_spatial)[i])));
    }
    return absl::OkStatus();
  }
  if (tensor.dims() != 1 || tensor.NumElements() != rank) {
    return InvalidArgument("out_spatial has shape ",
                           tensor.shape().DebugString(), ", expected [", rank,
                           "], the spatial sizes of y",
                           conv().adjoint ? "" : ", or [0] to derive them");
  }
  for (int i = 0; i < rank; ++i) {
    const int64_t size = tensor.flat<int32_t>()(i);
    if (size < 0) {
      return InvalidArgument("out_spatial has ", size, " at ", i,
                             ", expected 0 or more; pass the spatial sizes of "
                             "y");
    }
    y_spatial->push_back(size);
  }
  return absl::OkStatus();
}

absl::Status ConvBaseOp::ShapeOf(const Side& y, TensorShape* shape) const {
  std::vector<int64_t> sizes = y.spatial;
  sizes.insert(conv().features_first ? sizes.begin() : sizes.end(),
               y_features());
  sizes.insert(sizes.begin(), y.batch);
  return TensorShape::BuildTensorShape(sizes, shape);
}

absl::Status ConvBaseOp::ReadProblem(OpKernelContext* ctx, ConvProblem* problem,
                                     TensorShape* y_shape) const {
  const Tensor& tensor = ctx->input(0);
  Side x;
  Side y;
  TF_RETURN_IF_ERROR(
      ReadSide(tensor, "x", transpose_ ? outputs() : inputs(), &x));
  TF_RETURN_IF_ERROR(ReadWeight(ctx, problem));
  y.batch = x.batch;
  TF_RETURN_IF_ERROR(ReadOutSpatial(ctx, x.spatial, &y.spatial));
  TF_RETURN_IF_ERROR(conv().adjoint ? SetGeometry(y, x, problem)
                                    : SetGeometry(x, y, problem));
  TF_RETURN_IF_ERROR(ShapeOf(y, y_shape));
  problem->gate_is_mask = gate_is_mask();
  problem->transpose = transpose_;
  problem->x = tensor.data();
  return absl::OkStatus();
}

absl::Status ConvBaseOp::Run(OpKernelContext* ctx,
                             const ConvProblem& problem) const {
  const ConvGeometry& geometry = problem.geometry;
  const int64_t y_pixels =
      problem.adjoint ? geometry.fine_pixels() : geometry.coarse_pixels();
  if (geometry.batch == 0 || y_pixels == 0) return absl::OkStatus();
#ifdef TF_BLOCKSPARSE_CUDA
  if (on_gpu()) return RunOnGpu(ctx, problem);
#endif
  return PlanAndRun(ctx, problem, PlanConv, RunConv);
}

}  // namespace blocksparse
