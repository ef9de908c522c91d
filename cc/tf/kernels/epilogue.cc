// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/kernels/epilogue.h"

#include <string>

#include "tensorflow/core/platform/errors.h"

namespace blocksparse {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::errors::InvalidArgument;

struct NamedActivation {
  const char* name;
  Activation activation;
};

constexpr NamedActivation kActivations[] = {
    {"none", Activation::kNone}, {"relu", Activation::kRelu},
    {"gelu", Activation::kGelu}, {"silu", Activation::kSilu},
    {"tanh", Activation::kTanh}, {"sigmoid", Activation::kSigmoid},
};

}  // namespace

absl::Status Epilogue::Read(OpKernelConstruction* ctx) {
  TF_RETURN_IF_ERROR(ctx->GetAttr("bias_count", &bias_count_));
  if (bias_count_ != 0 && bias_count_ != 1) {
    return InvalidArgument("got ", bias_count_,
                           " biases, expected 0 or 1; add them");
  }
  TF_RETURN_IF_ERROR(ctx->GetAttr("save_preactivation", &save_preactivation_));
  std::string name;  // ops accept no name that is not in the table
  TF_RETURN_IF_ERROR(ctx->GetAttr("activation", &name));
  for (const NamedActivation& candidate : kActivations) {
    if (name == candidate.name) activation_ = candidate.activation;
  }
  return absl::OkStatus();
}

absl::Status Epilogue::ReadBias(OpKernelContext* ctx, int index,
                                int64_t y_features, const void** bias) const {
  if (bias_count_ == 0) return absl::OkStatus();
  const Tensor& tensor = ctx->input(index);
  if (tensor.dims() != 1 || tensor.NumElements() != y_features) {
    return InvalidArgument("bias has shape ", tensor.shape().DebugString(),
                           ", expected [", y_features,
                           "], one number for each feature of y");
  }
  *bias = tensor.data();
  return absl::OkStatus();
}

absl::Status Epilogue::Allocate(OpKernelContext* ctx,
                                const TensorShape& y_shape, void** y,
                                void** preactivation) const {
  Tensor* tensor = nullptr;
  TF_RETURN_IF_ERROR(ctx->allocate_output(0, y_shape, &tensor));
  *y = tensor->data();
  TF_RETURN_IF_ERROR(ctx->allocate_output(
      1, save_preactivation_ ? y_shape : TensorShape({0}), &tensor));
  if (save_preactivation_) *preactivation = tensor->data();
  return absl::OkStatus();
}

}  // namespace blocksparse
