// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/ops/shapes.h"
#include "tensorflow/core/framework/op.h"

REGISTER_OP("Blocksparse>Matmul")
    .Input("x: Tx")
    .Input("blocks: Tb")
    .Input("layout: int32")
    .Input("gate: gate_count * float")
    .Output("y: Tx")
    .Attr("Tx: {float, double, bfloat16, half}")
    .Attr("Tb: {float, double, bfloat16, half}")
    .Attr("gate_count: int >= 0 = 0")
    .Attr("transpose: bool = false")
    .Attr("feature_axis: int = -1")
    .Attr("inputs: int >= 1")
    .Attr("outputs: int >= 1")
    .Attr("gate_gradient: bool = true")
    .SetShapeFn(blocksparse::MatmulShape)
    .Doc(R"doc(
Multiplies a dense tensor by a block-sparse weight.

The weight W is `[inputs, outputs]`. Its block w is `gate[w] * blocks[w]`, at
the place that `layout` gives it, and it is 0 where there is no block. Entries
of blocks that lie beyond `inputs` or `outputs` are ignored.

x: `[..., inputs]`, or `[inputs, ...]` if `feature_axis` is 0. With `transpose`,
  `outputs` instead of `inputs`.
blocks: `[nnz, b_in, b_out]`, each side of a block 1 to 256.
layout: `[output_splits | input_index | input_splits | output_index | block_id]`
gate: No tensor, or one `[nnz]`. A block with gate 0 is not read.
y: `x W`, or `x W^T` with `transpose`: x's shape with the other side's features.
transpose: Whether to multiply by the transposed weight.
feature_axis: The axis of features in x and y: -1, or 0.
inputs: Rows of W.
outputs: Columns of W.
gate_gradient: Whether gate has a derivative. If not, it is a mask of 0 and 1.
)doc");
