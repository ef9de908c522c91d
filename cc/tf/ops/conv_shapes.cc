// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/ops/conv_shapes.h"

#include <string>

#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/platform/errors.h"

namespace blocksparse {
namespace {

using tensorflow::errors::InvalidArgument;

// Checks blocks, layout and gate against each other.
absl::Status CheckConvWeight(InferenceContext* c,
                             const ConvShapeAttributes& attributes) {
  ShapeHandle blocks = c->input(1);
  if (attributes.conv.shared_taps) {
    ShapeHandle all;
    DimensionHandle unused;
    if (!c->WithRank(blocks, 4, &all).ok() ||
        !c->WithValue(c->Dim(all, 1), attributes.conv.taps, &unused).ok()) {
      return InvalidArgument("blocks have shape ", c->DebugString(blocks),
                             ", expected [nnz, taps, b_in, b_out] with ",
                             attributes.conv.taps,
                             " taps; pass the kernel_size they were made for");
    }
    blocks = c->MakeShape({c->Dim(all, 0), c->Dim(all, 2), c->Dim(all, 3)});
  }
  return CheckWeight(c, blocks, /*layout_index=*/2, /*gate_index=*/3,
                     attributes);
}

// The spatial sizes that input `index` asks for; none if it is empty, and
// unknown ones as far as it is not known yet.
absl::Status ReadOutSpatial(InferenceContext* c, int index,
                            const ConvOpAttributes& conv,
                            std::vector<DimensionHandle>* sizes) {
  const int rank = conv.geometry.rank();
  sizes->clear();
  ShapeHandle vector;
  DimensionHandle unused;
  const bool is_vector = c->WithRank(c->input(index), 1, &vector).ok();
  if (is_vector && c->ValueKnown(c->Dim(vector, 0)) &&
      c->Value(c->Dim(vector, 0)) == 0 && !conv.adjoint) {
    return absl::OkStatus();
  }
  if (!is_vector || !c->WithValue(c->Dim(vector, 0), rank, &unused).ok()) {
    return InvalidArgument("out_spatial has shape ",
                           c->DebugString(c->input(index)), ", expected [",
                           rank, "], the spatial sizes of y",
                           conv.adjoint ? "" : ", or [0] to derive them");
  }
  sizes->assign(rank, c->UnknownDim());
  // Without its length it may still be empty.
  if (!c->ValueKnown(c->Dim(vector, 0))) return absl::OkStatus();
  const tensorflow::Tensor* tensor = c->input_tensor(index);
  for (int i = 0; tensor != nullptr && i < rank; ++i) {
    if (tensor->flat<int32_t>()(i) >= 0) continue;
    return InvalidArgument("out_spatial has ", tensor->flat<int32_t>()(i),
                           " at ", i,
                           ", expected 0 or more; pass the spatial "
                           "sizes of y");
  }
  ShapeHandle known;
  TF_RETURN_IF_ERROR(c->MakeShapeFromShapeTensor(index, &known));
  for (int i = 0; c->RankKnown(known) && i < rank; ++i) {
    (*sizes)[i] = c->Dim(known, i);
  }
  return absl::OkStatus();
}

absl::Status DeriveCoarse(InferenceContext* c, const ConvOpAttributes& conv,
                          const std::vector<DimensionHandle>& fine,
                          std::vector<DimensionHandle>* coarse) {
  for (int i = 0; i < conv.geometry.rank(); ++i) {
    coarse->push_back(c->UnknownDim());
    if (!c->ValueKnown(fine[i])) continue;
    int64_t size;
    const std::string error =
        DeriveCoarseSize(conv.geometry, i, c->Value(fine[i]), &size);
    if (!error.empty()) return InvalidArgument(error);
    coarse->back() = c->MakeDim(size);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadAttributes(InferenceContext* c,
                            ConvShapeAttributes* attributes) {
  TF_RETURN_IF_ERROR(
      ReadAttributes(c, static_cast<ShapeAttributes*>(attributes)));
  TF_RETURN_IF_ERROR(ReadConvAttributes(c, &attributes->conv));
  attributes->layout_taps = attributes->conv.layout_taps();
  return absl::OkStatus();
}

absl::Status SplitSide(InferenceContext* c, int index, const char* name,
                       const ConvOpAttributes& conv, int64_t features,
                       ConvSide* side) {
  ShapeHandle shape;
  DimensionHandle unused;
  if (!c->WithRank(c->input(index), conv.dims(), &shape).ok() ||
      !c->WithValue(c->Dim(shape, conv.feature_axis()), features, &unused)
           .ok()) {
    return InvalidArgument(
        name, " has shape ", c->DebugString(c->input(index)), ", expected ",
        conv.dims(), " dimensions with ", features, " features along axis ",
        conv.feature_axis(), "; pass the features the layout was made for");
  }
  side->batch = c->Dim(shape, 0);
  side->spatial.clear();
  for (int i = 0; i < conv.geometry.rank(); ++i) {
    side->spatial.push_back(c->Dim(shape, conv.spatial_axis() + i));
  }
  return absl::OkStatus();
}

absl::Status CheckGeometry(InferenceContext* c, const ConvOpAttributes& conv,
                           const ConvSide& fine, const ConvSide& coarse) {
  std::vector<int64_t> fine_sizes;
  std::vector<int64_t> coarse_sizes;
  bool known = c->ValueKnown(fine.batch);
  for (int i = 0; i < conv.geometry.rank(); ++i) {
    known = known && c->ValueKnown(fine.spatial[i]) &&
            c->ValueKnown(coarse.spatial[i]);
    if (!known) return absl::OkStatus();
    fine_sizes.push_back(c->Value(fine.spatial[i]));
    coarse_sizes.push_back(c->Value(coarse.spatial[i]));
  }
  ConvGeometry unused;
  const std::string error = MakeConvGeometry(
      conv.geometry, c->Value(fine.batch), fine_sizes, coarse_sizes, &unused);
  return error.empty() ? absl::OkStatus() : InvalidArgument(error);
}

absl::Status ConvShape(InferenceContext* c) {
  ConvShapeAttributes attributes;
  TF_RETURN_IF_ERROR(ReadAttributes(c, &attributes));
  const ConvOpAttributes& conv = attributes.conv;
  bool transpose;
  TF_RETURN_IF_ERROR(c->GetAttr("transpose", &transpose));
  ConvSide x;
  TF_RETURN_IF_ERROR(SplitSide(
      c, 0, "x", conv, transpose ? attributes.outputs : attributes.inputs, &x));
  TF_RETURN_IF_ERROR(CheckConvWeight(c, attributes));
  ConvSide y;
  y.batch = x.batch;
  TF_RETURN_IF_ERROR(ReadOutSpatial(c, c->num_inputs() - 1, conv, &y.spatial));
  if (y.spatial.empty()) {
    TF_RETURN_IF_ERROR(DeriveCoarse(c, conv, x.spatial, &y.spatial));
  }
  TF_RETURN_IF_ERROR(conv.adjoint ? CheckGeometry(c, conv, y, x)
                                  : CheckGeometry(c, conv, x, y));
  std::vector<DimensionHandle> dims = y.spatial;
  dims.insert(conv.features_first ? dims.begin() : dims.end(),
              c->MakeDim(transpose ? attributes.inputs : attributes.outputs));
  dims.insert(dims.begin(), y.batch);
  c->set_output(0, c->MakeShape(dims));
  return absl::OkStatus();
}

}  // namespace blocksparse
