// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/kernels/pixels_op.h"

#include "tensorflow/core/platform/errors.h"

namespace blocksparse {

using tensorflow::OpKernelConstruction;
using tensorflow::Tensor;
using tensorflow::errors::InvalidArgument;

PixelsOp::PixelsOp(OpKernelConstruction* ctx) : BaseOp(ctx) {
  OP_REQUIRES_OK(ctx, ReadConvAttributes(ctx, &attributes_));
}

absl::Status PixelsOp::ReadSide(const Tensor& tensor, const char* name,
                                int64_t features, Side* side) const {
  const int dims = attributes_.dims();
  const int feature_axis = attributes_.feature_axis();
  if (tensor.dims() != dims || tensor.dim_size(feature_axis) != features) {
    return InvalidArgument(name, " has shape ", tensor.shape().DebugString(),
                           ", expected ", dims, " dimensions with ", features,
                           " features along axis ", feature_axis,
                           "; pass the features the layout was made for");
  }
  side->batch = tensor.dim_size(0);
  side->spatial.clear();
  for (int i = 0; i < attributes_.geometry.rank(); ++i) {
    side->spatial.push_back(tensor.dim_size(attributes_.spatial_axis() + i));
  }
  return absl::OkStatus();
}

std::string PixelsOp::Axes() const {
  return attributes_.features_first ? "data_format channels_first"
                                    : "data_format channels_last";
}

}  // namespace blocksparse
