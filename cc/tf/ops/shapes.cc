// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/ops/shapes.h"

#include <string>

#include "cc/layout/layout.h"
#include "tensorflow/core/platform/errors.h"

namespace blocksparse {

using tensorflow::errors::InvalidArgument;

absl::Status ReadAttributes(InferenceContext* c, ShapeAttributes* attributes) {
  TF_RETURN_IF_ERROR(c->GetAttr("inputs", &attributes->inputs));
  TF_RETURN_IF_ERROR(c->GetAttr("outputs", &attributes->outputs));
  TF_RETURN_IF_ERROR(c->GetAttr("feature_axis", &attributes->feature_axis));
  TF_RETURN_IF_ERROR(c->GetAttr("gate_count", &attributes->gate_count));
  if (attributes->feature_axis != -1 && attributes->feature_axis != 0) {
    return InvalidArgument("feature_axis is ", attributes->feature_axis,
                           ", expected -1 or 0; transpose the input");
  }
  if (attributes->gate_count > 1) {
    return InvalidArgument("got ", attributes->gate_count,
                           " gates, expected 0 or 1; multiply them");
  }
  return absl::OkStatus();
}

absl::Status ReplaceFeatures(InferenceContext* c, int index, const char* name,
                             int64_t feature_axis, int64_t features,
                             int64_t new_features, ShapeHandle* rows) {
  const ShapeHandle shape = c->input(index);
  if (!c->RankKnown(shape)) {
    *rows = c->UnknownShape();
    return absl::OkStatus();
  }
  DimensionHandle unused;
  if (c->Rank(shape) < 1 ||
      !c->WithValue(c->Dim(shape, feature_axis), features, &unused).ok()) {
    return InvalidArgument(name, " has shape ", c->DebugString(shape),
                           ", expected ", features, " features along axis ",
                           feature_axis,
                           "; pass the features the layout was made for");
  }
  return c->ReplaceDim(shape, feature_axis, c->MakeDim(new_features), rows);
}

absl::Status CheckWeight(InferenceContext* c, ShapeHandle blocks,
                         int layout_index, int gate_index,
                         const ShapeAttributes& attributes) {
  ShapeHandle unused;
  ShapeHandle layout;
  if (!c->WithRank(blocks, 3, &blocks).ok()) {
    return InvalidArgument("blocks have shape ", c->DebugString(blocks),
                           ", expected [nnz, b_in, b_out]");
  }
  if (!c->WithRank(c->input(layout_index), 1, &layout).ok()) {
    return InvalidArgument("layout has shape ",
                           c->DebugString(c->input(layout_index)),
                           ", expected a vector as BlockLayout.packed is");
  }
  if (attributes.gate_count == 1 &&
      !c->Merge(c->input(gate_index), c->Vector(c->Dim(blocks, 0)), &unused)
           .ok()) {
    return InvalidArgument(
        "gate has shape ", c->DebugString(c->input(gate_index)),
        ", expected one number for each block of ", c->DebugString(blocks));
  }
  if (!c->FullyDefined(layout) || !c->ValueKnown(c->Dim(blocks, 1)) ||
      !c->ValueKnown(c->Dim(blocks, 2))) {
    return absl::OkStatus();
  }
  // Only sizes are known here. ParseLayout does not read the numbers.
  Layout parsed;
  const int64_t nnz =
      c->ValueKnown(c->Dim(blocks, 0)) ? c->Value(c->Dim(blocks, 0)) : -1;
  const std::string error =
      ParseLayout(nullptr, c->Value(c->Dim(layout, 0)), attributes.inputs,
                  attributes.outputs, c->Value(c->Dim(blocks, 1)),
                  c->Value(c->Dim(blocks, 2)), nnz, &parsed);
  if (!error.empty()) return InvalidArgument(error);
  return absl::OkStatus();
}

absl::Status MatmulShape(InferenceContext* c) {
  ShapeAttributes attributes;
  TF_RETURN_IF_ERROR(ReadAttributes(c, &attributes));
  bool transpose;
  TF_RETURN_IF_ERROR(c->GetAttr("transpose", &transpose));
  ShapeHandle y;
  TF_RETURN_IF_ERROR(
      ReplaceFeatures(c, 0, "x", attributes.feature_axis,
                      transpose ? attributes.outputs : attributes.inputs,
                      transpose ? attributes.inputs : attributes.outputs, &y));
  TF_RETURN_IF_ERROR(CheckWeight(c, c->input(1), /*layout_index=*/2,
                                 /*gate_index=*/3, attributes));
  c->set_output(0, y);
  return absl::OkStatus();
}

}  // namespace blocksparse
