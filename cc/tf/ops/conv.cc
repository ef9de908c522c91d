// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/ops/conv_shapes.h"
#include "tensorflow/core/framework/op.h"

REGISTER_OP("Blocksparse>Conv")
    .Input("x: Tx")
    .Input("blocks: Tb")
    .Input("layout: int32")
    .Input("gate: gate_count * float")
    .Input("out_spatial: int32")
    .Output("y: Tx")
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
    .Attr("transpose: bool = false")
    .Attr("shared_taps: bool")
    .Attr("inputs: int >= 1")
    .Attr("outputs: int >= 1")
    .Attr("gate_gradient: bool = true")
    .SetShapeFn(blocksparse::ConvShape)
    .Doc(R"doc(
Convolves a dense tensor with a block-sparse kernel, in 1 to 3 dimensions.

The two sides of a convolution are the fine and the coarse one. In each spatial
dimension, coarse pixel o and tap t belong to fine pixel
`o * stride + t * dilation - padding`, and pixels outside of the fine side are
0. x is fine and y coarse; with `adjoint` y is fine and x coarse: a transposed
convolution.

The kernel W is `[taps, inputs, outputs]`, taps counted row by row. If blocks
share their taps, block w has all of them and `layout` is that of a matrix. If
not, block w has one, and `layout` is that of a matrix whose rows of blocks are
input block times tap: row `c * taps + t` is tap t of input block c. Block w is
`gate[w] * blocks[w]`, and W is 0 where there is no block. Entries of blocks
that lie beyond `inputs` or `outputs` are ignored.

x: `[batch, spatial..., inputs]`, or `[batch, inputs, spatial...]` if
  `data_format` is channels_first. With `transpose`, `outputs` instead of
  `inputs`.
blocks: `[nnz, taps, b_in, b_out]` with `shared_taps`, else
  `[nnz, b_in, b_out]`. Each side of a block is 1 to 256.
layout: `[output_splits | input_index | input_splits | output_index | block_id]`
gate: No tensor, or one `[nnz]`. A block with gate 0 is not read.
out_spatial: The spatial sizes of y. May be empty without `adjoint`: VALID then
  means `ceil((x - (kernel_size - 1) * dilation) / stride)`, SAME
  `ceil(x / stride)`, EXPLICIT what VALID means for the padded x.
y: x's batch, the spatial sizes, and the other side's features.
kernel_size: Of each spatial dimension. At most 65536 taps.
strides: Of each spatial dimension.
dilations: Of each spatial dimension.
padding: Zeros before the fine side. VALID: none. SAME: half of
  `(coarse - 1) * stride + (kernel_size - 1) * dilation + 1 - fine`, if that is
  above 0.
explicit_paddings: Zeros before and after each spatial dimension if `padding`
  is EXPLICIT, else empty. Below 0, pixels are left out.
data_format: Where the features of x and y are.
adjoint: Whether x is the coarse side.
transpose: Whether W is transposed in its last two dimensions.
shared_taps: Whether a block has all taps.
inputs: Rows of W.
outputs: Columns of W.
gate_gradient: Whether gate has a derivative. If not, it is a mask of 0 and 1.
)doc");
