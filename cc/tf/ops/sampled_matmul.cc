// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "cc/layout/layout.h"
#include "cc/tf/ops/shapes.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/platform/errors.h"

namespace blocksparse {
namespace {

using tensorflow::errors::InvalidArgument;

// The number of blocks that the layout's length tells, if it is known.
DimensionHandle CountBlocks(InferenceContext* c, int layout_index,
                            const ShapeAttributes& attributes,
                            const std::vector<int64_t>& block_size) {
  const ShapeHandle layout = c->input(layout_index);
  Layout parsed;
  if (c->FullyDefined(layout) && c->Rank(layout) == 1 &&
      ParseLayout(nullptr, c->Value(c->Dim(layout, 0)), attributes.inputs,
                  attributes.outputs, block_size[0], block_size[1],
                  /*nnz=*/-1, &parsed)
          .empty()) {
    return c->MakeDim(parsed.nnz);
  }
  return c->UnknownDim();
}

absl::Status SampledMatmulShape(InferenceContext* c) {
  ShapeAttributes attributes;
  TF_RETURN_IF_ERROR(ReadAttributes(c, &attributes));
  std::vector<int64_t> block_size;
  TF_RETURN_IF_ERROR(c->GetAttr("block_size", &block_size));
  if (block_size.size() != 2) {
    return InvalidArgument("block_size has ", block_size.size(),
                           " numbers, expected (b_in, b_out)");
  }
  ShapeHandle a;
  ShapeHandle b;
  ShapeHandle unused;
  TF_RETURN_IF_ERROR(ReplaceFeatures(c, 0, "a", attributes.feature_axis,
                                     attributes.inputs, 1, &a));
  TF_RETURN_IF_ERROR(ReplaceFeatures(c, 1, "b", attributes.feature_axis,
                                     attributes.outputs, 1, &b));
  if (!c->Merge(a, b, &unused).ok()) {
    return InvalidArgument("a has shape ", c->DebugString(c->input(0)),
                           " and b ", c->DebugString(c->input(1)),
                           ", expected shapes that differ only in their "
                           "features along axis ",
                           attributes.feature_axis);
  }
  for (int64_t side : block_size) {
    if (side < 1 || side > kMaxBlockSize) {
      return InvalidArgument("block_size is (", block_size[0], ", ",
                             block_size[1], "), expected 1 to ", kMaxBlockSize,
                             " each");
    }
  }
  const DimensionHandle nnz = CountBlocks(c, 2, attributes, block_size);
  const ShapeHandle blocks =
      c->MakeShape({nnz, c->MakeDim(block_size[0]), c->MakeDim(block_size[1])});
  TF_RETURN_IF_ERROR(CheckWeight(c, blocks, /*layout_index=*/2,
                                 /*gate_index=*/3, attributes));
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
gate_gradient: Whether gate has a derivative. If not, it is a mask.
)doc");
