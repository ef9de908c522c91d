// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/ops/shapes.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/platform/errors.h"

namespace blocksparse {
namespace {

using tensorflow::errors::InvalidArgument;

absl::Status SampledMatmulShape(InferenceContext* c) {
  ShapeAttributes attributes;
  TF_RETURN_IF_ERROR(ReadAttributes(c, &attributes));
  int64_t feature_axis;
  TF_RETURN_IF_ERROR(ReadFeatureAxis(c, &feature_axis));
  ShapeHandle a;
  ShapeHandle b;
  ShapeHandle unused;
  TF_RETURN_IF_ERROR(
      ReplaceFeatures(c, 0, "a", feature_axis, attributes.inputs, 1, &a));
  TF_RETURN_IF_ERROR(
      ReplaceFeatures(c, 1, "b", feature_axis, attributes.outputs, 1, &b));
  if (!c->Merge(a, b, &unused).ok()) {
    return InvalidArgument("a has shape ", c->DebugString(c->input(0)),
                           " and b ", c->DebugString(c->input(1)),
                           ", expected shapes that differ only in their "
                           "features along axis ",
                           feature_axis);
  }
  ShapeHandle blocks;
  TF_RETURN_IF_ERROR(
      MakeBlocks(c, /*layout_index=*/2, /*gate_index=*/3, attributes, &blocks));
  c->set_output(0, blocks);
  return absl::OkStatus();
}

}  // namespace
}  // namespace blocksparse

REGISTER_OP("Blocksparse>SampledMatmul")
    .Input("a: Tx")
    .Input("b: Tx")
    .Input("layout: int32")
    .Input("gate: gate_count * float")
    .Output("blocks: Tb")
    .Attr("Tx: {float, double, bfloat16, half}")
    .Attr("Tb: {float, double, bfloat16, half}")
    .Attr("gate_count: int >= 0 = 0")
    .Attr("feature_axis: int = -1")
    .Attr("inputs: int >= 1")
    .Attr("outputs: int >= 1")
    .Attr("block_size: list(int) >= 2")
    .Attr("gate_gradient: bool = true")
    .SetShapeFn(blocksparse::SampledMatmulShape)
    .Doc(R"doc(
Multiplies two dense matrices only where a block-sparse weight has blocks.

Block w at (c, k) is `gate[w] * a_c^T b_k`, where `a_c` are the columns of a
that belong to input block c and `b_k` those of b that belong to output block k,
summed over all rows. It is the gradient of Blocksparse>Matmul for its blocks.
Entries beyond `inputs` or `outputs` are 0.

a: `[..., inputs]`, or `[inputs, ...]` if `feature_axis` is 0.
b: `[..., outputs]`, or `[outputs, ...]` if `feature_axis` is 0.
layout: `[output_splits | input_index | input_splits | output_index | block_id]`
gate: No tensor, or one `[nnz]`. A block with gate 0 is 0 and not computed.
blocks: `[nnz, b_in, b_out]`.
feature_axis: The axis of features in a and b: -1, or 0.
inputs: Rows of the weight.
outputs: Columns of the weight.
block_size: `(b_in, b_out)`, 1 to 256 each.
gate_gradient: Whether gate has a derivative. If not, it is a mask of 0 and 1.
)doc");
