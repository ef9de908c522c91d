// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/ops/shapes.h"
#include "tensorflow/core/framework/op.h"

namespace blocksparse {
namespace {

absl::Status MatmulFusedShape(InferenceContext* c) {
  TF_RETURN_IF_ERROR(MatmulShape(c));
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

REGISTER_OP("Blocksparse>MatmulFused")
    .Input("x: Tx")
    .Input("blocks: Tb")
    .Input("layout: int32")
    .Input("gate: gate_count * float")
    .Input("bias: bias_count * Tx")
    .Output("y: Tx")
    .Output("z: Tx")
    .Attr("Tx: {float, double, bfloat16, half}")
    .Attr("Tb: {float, double, bfloat16, half}")
    .Attr("gate_count: int >= 0 = 0")
    .Attr("bias_count: int >= 0 = 0")
    .Attr("transpose: bool = false")
    .Attr("feature_axis: int = -1")
    .Attr("inputs: int >= 1")
    .Attr("outputs: int >= 1")
    .Attr("gate_gradient: bool = true")
    .Attr(
        "activation: "
        "{'none', 'relu', 'gelu', 'silu', 'tanh', 'sigmoid'} = 'none'")
    .Attr("save_preactivation: bool = false")
    .SetShapeFn(blocksparse::MatmulFusedShape)
    .Doc(R"doc(
Multiplies by a block-sparse weight, adds a bias and applies an activation.

`z = x W + bias` and `y = activation(z)`. See Blocksparse>Matmul for the weight.

x: `[..., inputs]`, or `[inputs, ...]` if `feature_axis` is 0. With `transpose`,
  `outputs` instead of `inputs`.
blocks: `[nnz, b_in, b_out]`, each side of a block 1 to 256.
layout: `[output_splits | input_index | input_splits | output_index | block_id]`
gate: No tensor, or one `[nnz]`. A block with gate 0 is not read.
bias: No tensor, or one `[outputs]`, `[inputs]` with `transpose`.
y: x's shape with the other side's features.
z: y before the activation, or `[0]` if it is not saved.
transpose: Whether to multiply by the transposed weight.
feature_axis: The axis of features in x, y and z: -1, or 0.
inputs: Rows of W.
outputs: Columns of W.
gate_gradient: Whether gate has a derivative. If not, it is a mask of 0 and 1.
activation: gelu is the exact one, `z (1 + erf(z / sqrt 2)) / 2`.
save_preactivation: Whether z is an output. The gradients of gelu and silu read
  it.
)doc");
