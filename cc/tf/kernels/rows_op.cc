// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/kernels/rows_op.h"

#include "cc/base/message.h"
#include "tensorflow/core/platform/errors.h"

namespace blocksparse {

using tensorflow::OpKernelConstruction;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::errors::InvalidArgument;

RowsOp::RowsOp(OpKernelConstruction* ctx) : BaseOp(ctx) {
  OP_REQUIRES_OK(ctx, ctx->GetAttr("feature_axis", &feature_axis_));
  OP_REQUIRES(ctx, feature_axis_ == -1 || feature_axis_ == 0,
              InvalidArgument("feature_axis is ", feature_axis_,
                              ", expected -1 or 0; transpose the input"));
}

absl::Status RowsOp::CountRows(const Tensor& tensor, const char* name,
                               int64_t features, int64_t* rows) const {
  if (tensor.dims() < 1 || tensor.dim_size(FeatureDim(tensor)) != features) {
    return InvalidArgument(name, " has shape ", tensor.shape().DebugString(),
                           ", expected ", features, " features along axis ",
                           feature_axis_,
                           "; pass the features the layout was made for");
  }
  *rows = tensor.NumElements() / features;
  return absl::OkStatus();
}

absl::Status RowsOp::ReplaceFeatures(const Tensor& tensor, int64_t features,
                                     TensorShape* shape) const {
  *shape = tensor.shape();
  return shape->SetDimWithStatus(FeatureDim(tensor), features);
}

std::string RowsOp::Axes() const {
  return Message("feature_axis ", feature_axis_);
}

}  // namespace blocksparse
