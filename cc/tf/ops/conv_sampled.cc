// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/ops/conv_shapes.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/platform/errors.h"

namespace blocksparse {
namespace {

using tensorflow::errors::InvalidArgument;

absl::Status ConvSampledShape(InferenceContext* c) {
  ConvShapeAttributes attributes;
  TF_RETURN_IF_ERROR(ReadAttributes(c, &attributes));
  const ConvOpAttributes& conv = attributes.conv;
  ConvSide fine;
  ConvSide coarse;
  TF_RETURN_IF_ERROR(
      SplitSide(c, 0, "fine", conv,
                conv.adjoint ? attributes.outputs : attributes.inputs, &fine));
  TF_RETURN_IF_ERROR(SplitSide(
      c, 1, "coarse", conv,
      conv.adjoint ? attributes.inputs : attributes.outputs, &coarse));
  if (!c->Merge(fine.batch, coarse.batch, &fine.batch).ok()) {
    return InvalidArgument("fine has shape ", c->DebugString(c->input(0)),
                           " and coarse ", c->DebugString(c->input(1)),
                           ", expected the same batch along axis 0");
  }
  TF_RETURN_IF_ERROR(CheckGeometry(c, conv, fine, coarse));
  ShapeHandle blocks;
  TF_RETURN_IF_ERROR(
      MakeBlocks(c, /*layout_index=*/2, /*gate_index=*/3, attributes, &blocks));
  if (conv.shared_taps) {
    blocks = c->MakeShape({c->Dim(blocks, 0), c->MakeDim(conv.taps),
                           c->Dim(blocks, 1), c->Dim(blocks, 2)});
  }
  c->set_output(0, blocks);
  return absl::OkStatus();
}

}  // namespace
}  // namespace blocksparse

REGISTER_OP("Blocksparse>ConvSampled")
    .Input("fine: Tx")
    .Input("coarse: Tx")
    .Input("layout: int32")
    .Input("gate: gate_count * float")
    .Output("blocks: Tb")
    .Attr("Tx: {float, double, bfloat16, half}")
    .Attr("Tb: {float, double, bfloat16, half}")
    .Attr("gate_count: int >= 0 = 0")
    .Attr("kernel_size: list(int)")
    .Attr("strides: list(int)")
    .Attr("dilations: list(int)")
    .Attr("padding: {'VALID', 'SAME', 'EXPLICIT'}")
    .Attr("explicit_paddings: list(int) = []")
    .Attr("data_format: {'channels_last', 'channels_first'} = 'channels_last'")
    .Attr("adjoint: bool = false")
    .Attr("shared_taps: bool")
    .Attr("inputs: int >= 1")
    .Attr("outputs: int >= 1")
    .Attr("block_size: list(int) >= 2")
    .Attr("gate_gradient: bool = true")
    .SetShapeFn(blocksparse::ConvSampledShape)
    .Doc(R"doc(
Correlates two dense tensors only where a block-sparse kernel has blocks.

It is the gradient of Blocksparse>Conv for its blocks. Tap t of block (c, k) is
`gate[w]` times the sum, over all coarse pixels o of the batch, of
`fine[o * stride + t * dilation - padding, i] * coarse[o, j]` for the inputs i
of block c and the outputs j of block k. With `adjoint`, of the transposed
convolution, the outputs are those of fine and the inputs those of coarse.
Entries beyond `inputs` or `outputs` are 0.

fine: `[batch, spatial..., inputs]`, or `[batch, inputs, spatial...]` if
  `data_format` is channels_first. With `adjoint`, `outputs` instead of
  `inputs`.
coarse: Likewise, with the features that fine has not.
layout: `[output_splits | input_index | input_splits | output_index | block_id]`
gate: No tensor, or one `[nnz]`. A block with gate 0 is 0 and not computed.
blocks: `[nnz, taps, b_in, b_out]` with `shared_taps`, else
  `[nnz, b_in, b_out]`.
kernel_size: Of each spatial dimension. At most 65536 taps.
strides: Of each spatial dimension.
dilations: Of each spatial dimension.
padding: Zeros before the fine side, as in Blocksparse>Conv.
explicit_paddings: Zeros before and after each spatial dimension if `padding`
  is EXPLICIT, else empty.
data_format: Where the features of fine and coarse are.
adjoint: Whether the convolution is a transposed one.
shared_taps: Whether a block has all taps.
inputs: Rows of the kernel.
outputs: Columns of the kernel.
block_size: `(b_in, b_out)`, 1 to 256 each.
gate_gradient: Whether gate has a derivative. If not, it is a mask of 0 and 1.
)doc");
