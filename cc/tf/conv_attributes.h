// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What every op of convolutions has for attributes, read by shape functions
// and by OpKernels alike.
#ifndef TF_BLOCKSPARSE_CC_TF_CONV_ATTRIBUTES_H_
#define TF_BLOCKSPARSE_CC_TF_CONV_ATTRIBUTES_H_

#include <string>

#include "cc/layout/conv_geometry.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow/core/platform/status.h"

namespace blocksparse {

struct ConvOpAttributes {
  ConvAttributes geometry;
  int64_t taps = 1;
  bool features_first = false;
  bool adjoint = false;
  bool shared_taps = false;

  // Axes of x, y, fine and coarse.
  int dims() const { return geometry.rank() + 2; }
  int feature_axis() const { return features_first ? 1 : dims() - 1; }
  int spatial_axis() const { return features_first ? 2 : 1; }  // the first
  // How many taps the layout and a block tell apart.
  int64_t layout_taps() const { return shared_taps ? 1 : taps; }
  int64_t block_taps() const { return shared_taps ? taps : 1; }
};

// `context` is an InferenceContext or an OpKernelConstruction.
template <typename Context>
absl::Status ReadConvAttributes(Context* context,
                                ConvOpAttributes* attributes) {
  ConvAttributes* geometry = &attributes->geometry;
  // Ops accept no other names than these.
  std::string padding;
  std::string data_format;
  TF_RETURN_IF_ERROR(context->GetAttr("kernel_size", &geometry->kernel_size));
  TF_RETURN_IF_ERROR(context->GetAttr("strides", &geometry->strides));
  TF_RETURN_IF_ERROR(context->GetAttr("dilations", &geometry->dilations));
  TF_RETURN_IF_ERROR(context->GetAttr("padding", &padding));
  TF_RETURN_IF_ERROR(
      context->GetAttr("explicit_paddings", &geometry->explicit_paddings));
  TF_RETURN_IF_ERROR(context->GetAttr("data_format", &data_format));
  TF_RETURN_IF_ERROR(context->GetAttr("adjoint", &attributes->adjoint));
  TF_RETURN_IF_ERROR(context->GetAttr("shared_taps", &attributes->shared_taps));
  geometry->padding = padding == "SAME"       ? ConvPadding::kSame
                      : padding == "EXPLICIT" ? ConvPadding::kExplicit
                                              : ConvPadding::kValid;
  attributes->features_first = data_format == "channels_first";
  const std::string error = CheckConvAttributes(*geometry);
  if (!error.empty()) return tensorflow::errors::InvalidArgument(error);
  attributes->taps = 1;
  for (const int64_t size : geometry->kernel_size) attributes->taps *= size;
  return absl::OkStatus();
}

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TF_CONV_ATTRIBUTES_H_
