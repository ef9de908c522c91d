// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/ops/shapes.h"

#include <string>
#include <vector>

#include "cc/layout/conv_layout.h"
#include "tensorflow/core/platform/errors.h"

namespace blocksparse {

using tensorflow::errors::InvalidArgument;

absl::Status ReadAttributes(InferenceContext* c, ShapeAttributes* attributes) {
  TF_RETURN_IF_ERROR(c->GetAttr("inputs", &attributes->inputs));
  TF_RETURN_IF_ERROR(c->GetAttr("outputs", &attributes->outputs));
  TF_RETURN_IF_ERROR(c->GetAttr("gate_count", &attributes->gate_count));
  if (attributes->gate_count > 1) {
    return InvalidArgument("got ", attributes->gate_count,
                           " gates, expected 0 or 1; multiply them");
  }
  return absl::OkStatus();
}

absl::Status ReadFeatureAxis(InferenceContext* c, int64_t* feature_axis) {
  TF_RETURN_IF_ERROR(c->GetAttr("feature_axis", feature_axis));
  if (*feature_axis != -1 && *feature_axis != 0) {
    return InvalidArgument("feature_axis is ", *feature_axis,
                           ", expected -1 or 0; transpose the input");
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
  ShapeHandle ranked;  // WithRank loses what it refuses
  if (!c->WithRank(blocks, 3, &ranked).ok()) {
    return InvalidArgument("blocks have shape ", c->DebugString(blocks),
                           ", expected [nnz, b_in, b_out]");
  }
  blocks = ranked;
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
  // Only sizes are known here. ParseConvLayout does not read the numbers.
  Layout parsed;
  const int64_t nnz =
      c->ValueKnown(c->Dim(blocks, 0)) ? c->Value(c->Dim(blocks, 0)) : -1;
  const std::string error = ParseConvLayout(
      nullptr, c->Value(c->Dim(layout, 0)), attributes.inputs,
      attributes.outputs, attributes.layout_taps, c->Value(c->Dim(blocks, 1)),
      c->Value(c->Dim(blocks, 2)), nnz, &parsed);
  if (!error.empty()) return InvalidArgument(error);
  return absl::OkStatus();
}

absl::Status MakeBlocks(InferenceContext* c, int layout_index, int gate_index,
                        const ShapeAttributes& attributes,
                        ShapeHandle* blocks) {
  std::vector<int64_t> block_size;
  TF_RETURN_IF_ERROR(c->GetAttr("block_size", &block_size));
  if (block_size.size() != 2) {
    return InvalidArgument("block_size has ", block_size.size(),
                           " numbers, expected (b_in, b_out)");
  }
  for (int64_t side : block_size) {
    if (side < 1 || side > kMaxBlockSize) {
      return InvalidArgument("block_size is (", block_size[0], ", ",
                             block_size[1], "), expected 1 to ", kMaxBlockSize,
                             " each");
    }
  }
  // The layout's length, if it is known, tells the number of blocks.
  DimensionHandle nnz = c->UnknownDim();
  const ShapeHandle layout = c->input(layout_index);
  Layout parsed;
  if (c->FullyDefined(layout) && c->Rank(layout) == 1 &&
      ParseConvLayout(nullptr, c->Value(c->Dim(layout, 0)), attributes.inputs,
                      attributes.outputs, attributes.layout_taps, block_size[0],
                      block_size[1], /*nnz=*/-1, &parsed)
          .empty()) {
    nnz = c->MakeDim(parsed.nnz);
  }
  *blocks =
      c->MakeShape({nnz, c->MakeDim(block_size[0]), c->MakeDim(block_size[1])});
  return CheckWeight(c, *blocks, layout_index, gate_index, attributes);
}

absl::Status MatmulShape(InferenceContext* c) {
  ShapeAttributes attributes;
  TF_RETURN_IF_ERROR(ReadAttributes(c, &attributes));
  int64_t feature_axis;
  TF_RETURN_IF_ERROR(ReadFeatureAxis(c, &feature_axis));
  bool transpose;
  TF_RETURN_IF_ERROR(c->GetAttr("transpose", &transpose));
  ShapeHandle y;
  TF_RETURN_IF_ERROR(
      ReplaceFeatures(c, 0, "x", feature_axis,
                      transpose ? attributes.outputs : attributes.inputs,
                      transpose ? attributes.inputs : attributes.outputs, &y));
  TF_RETURN_IF_ERROR(CheckWeight(c, c->input(1), /*layout_index=*/2,
                                 /*gate_index=*/3, attributes));
  c->set_output(0, y);
  return absl::OkStatus();
}

absl::Status AddFusedShape(InferenceContext* c, int bias_index,
                           int64_t y_features) {
  int64_t bias_count;
  bool save_preactivation;
  TF_RETURN_IF_ERROR(c->GetAttr("bias_count", &bias_count));
  TF_RETURN_IF_ERROR(c->GetAttr("save_preactivation", &save_preactivation));
  if (bias_count > 1) {
    return InvalidArgument("got ", bias_count,
                           " biases, expected 0 or 1; add them");
  }
  if (bias_count == 1) {
    const ShapeHandle bias = c->input(bias_index);
    ShapeHandle unused;
    if (!c->Merge(bias, c->Vector(y_features), &unused).ok()) {
      return InvalidArgument("bias has shape ", c->DebugString(bias),
                             ", expected [", y_features,
                             "], one number for each feature of y");
    }
  }
  c->set_output(1, save_preactivation ? c->output(0) : c->Vector(0));
  return absl::OkStatus();
}

}  // namespace blocksparse
