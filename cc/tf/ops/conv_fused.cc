// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/ops/conv_shapes.h"
#include "tensorflow/core/framework/op.h"

namespace blocksparse {
namespace {

absl::Status ConvFusedShape(InferenceContext* c) {
  TF_RETURN_IF_ERROR(ConvShape(c));
  int64_t gate_count;
  int64_t y_features;
  bool transpose;
  TF_RETURN_IF_ERROR(c->GetAttr("gate_count", &gate_count));
  TF_RETURN_IF_ERROR(c->GetAttr("transpose", &transpose));
  TF_RETURN_IF_ERROR(c->GetAttr(transpose ? "inputs" : "outputs", &y_features));
  return AddFusedShape(c, 3 + gate_count, y_features);
}

}  // namespace
}  // namespace blocksparse

REGISTER_OP("Blocksparse>ConvFused")
    .Input("x: Tx")
    .Input("blocks: Tb")
    .Input("layout: int32")
    .Input("gate: gate_count * float")
    .Input("bias: bias_count * Tx")
    .Input("out_spatial: int32")
    .Output("y: Tx")
    .Output("z: Tx")
    .Attr("Tx: {float, double, bfloat16, half}")
    .Attr("Tb: {float, double, bfloat16, half}")
    .Attr("gate_count: int >= 0 = 0")
    .Attr("bias_count: int >= 0 = 0")
    .Attr("kernel_size: list(int)")
    .Attr("strides: list(int)")
    .Attr("dilations: list(int)")
    .Attr("padding: {'VALID', 'SAME', 'EXPLICIT'}")
    .Attr("explicit_paddings: list(int) = []")
    .Attr("data_format: {'channels_last', 'channels_first'} = 'channels_last'")
    .Attr("adjoint: bool = false")
    .Attr("transpose: bool = false")
    .Attr("shared_taps: bool")
    .Attr("inputs: int >= 1")
    .Attr("outputs: int >= 1")
    .Attr("gate_gradient: bool = true")
    .Attr(
        "activation: "
        "{'none', 'relu', 'gelu', 'silu', 'tanh', 'sigmoid'} = 'none'")
    .Attr("save_preactivation: bool = false")
    .SetShapeFn(blocksparse::ConvFusedShape)
    .Doc(R"doc(
Convolves with a block-sparse kernel, adds a bias and applies an activation.

`z = x * W + bias` and `y = activation(z)`. See Blocksparse>Conv for the kernel
and for the geometry. A pixel of y that sees no pixel of x is
`activation(bias)`.

x: `[batch, spatial..., inputs]`, or `[batch, inputs, spatial...]` if
  `data_format` is channels_first. With `transpose`, `outputs` instead of
  `inputs`.
blocks: `[nnz, taps, b_in, b_out]` with `shared_taps`, else
  `[nnz, b_in, b_out]`. Each side of a block is 1 to 256.
layout: `[output_splits | input_index | input_splits | output_index | block_id]`
gate: No tensor, or one `[nnz]`. A block with gate 0 is not read.
bias: No tensor, or one `[outputs]`, `[inputs]` with `transpose`.
out_spatial: The spatial sizes of y, or empty, as in Blocksparse>Conv.
y: x's batch, the spatial sizes, and the other side's features.
z: y before the activation, or `[0]` if it is not saved.
kernel_size: Of each spatial dimension. At most 65536 taps.
strides: Of each spatial dimension.
dilations: Of each spatial dimension.
padding: Zeros before the fine side, as in Blocksparse>Conv.
explicit_paddings: Zeros before and after each spatial dimension if `padding`
  is EXPLICIT, else empty.
data_format: Where the features of x, y and z are.
adjoint: Whether x is the coarse side.
transpose: Whether W is transposed in its last two dimensions.
shared_taps: Whether a block has all taps.
inputs: Rows of W.
outputs: Columns of W.
gate_gradient: Whether gate has a derivative. If not, it is a mask of 0 and 1.
activation: gelu is the exact one, `z (1 + erf(z / sqrt 2)) / 2`.
save_preactivation: Whether z is an output. The gradients of gelu and silu read
  it.
)doc");
