# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`matmul`: a dense tensor times a block-sparse weight."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tf_blocksparse import _arguments
from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.ops import _activations, _inputs, _products
from tf_blocksparse.ops._library import library
from tf_blocksparse.ops.layout_tensor import LayoutTensor, resolve_matrix

# Attributes that an op's gradients share with it.
SHARED = ("feature_axis", "inputs", "outputs", "gate_gradient")


def matmul(
    x: Any,
    blocks: Any,
    layout: BlockLayout | LayoutTensor,
    *,
    transpose: bool = False,
    feature_axis: int = -1,
    gate: Any = None,
    bias: Any = None,
    activation: str | Callable[[Any], Any] | None = None,
) -> tf.Tensor:
    """Multiplies a dense tensor by a block-sparse weight.

    Takes the place of `tf.matmul(x, W)` where W is 0 outside of its blocks:
    time and memory follow the number of blocks. Differentiable to any order in
    x, blocks, gate and bias.

    y = activation(x W + bias), where block w of W is `gate[w] * blocks[w]`;
    with `transpose`, W^T in place of W.

    Args:
      x: `[..., inputs]` of rank >= 1; `[..., outputs]` with `transpose`.
        float32, float64, bfloat16 or float16; what is no tensor takes the
        dtype of `blocks`.
      blocks: `[nnz, b_in, b_out]`, of x's dtype, or 16 bits beside a float32
        x. Entries beyond the edge of W are ignored.
      layout: which blocks these are.
      transpose: whether to multiply by W^T.
      feature_axis: the axis of the features in x and y: -1, or 0 for
        `[inputs, ...]`.
      gate: `[nnz]`. Floats scale the blocks (in float32) and have the true
        derivative, also where they are 0; bools are a mask, without one. A
        block with gate 0 is skipped.
      bias: `[outputs]`, of x's dtype; `[inputs]` with `transpose`.
      activation: relu, gelu (exact), silu, tanh and sigmoid, by name or as the
        functions of `tf.nn` and Keras, are computed along with the product.
        Any other of Keras's names, or a function, is applied to the result.
        `keras.activations.sigmoid` is, too: Keras's cross-entropy looks for
        the logits that it leaves there, and a fused result has none.

    Returns:
      y: like x, with `outputs` features; `inputs` with `transpose`.

    Raises:
      ValueError: if dtypes or known shapes don't fit.
      tf.errors.InvalidArgumentError: if shapes or a layout known only when the
        op runs don't fit.

    >>> import tensorflow as tf
    >>> from tf_blocksparse import BlockLayout
    >>> layout = BlockLayout([[1, 0], [1, 1]], block_size=2)
    >>> blocks = tf.ones([3, 2, 2])
    >>> matmul([[1.0, 2.0, 3.0, 4.0]], blocks, layout).numpy()
    array([[10., 10.,  7.,  7.]], dtype=float32)
    """
    parts = resolve_matrix(layout)
    axis = _inputs.feature_axis(feature_axis, x)
    transpose = _arguments.flag("transpose", transpose)
    fused, after = _activations.resolve(activation)
    blocks = _inputs.blocks_tensor(blocks, parts, hint=x)
    x_features, y_features = parts.inputs, parts.outputs
    if transpose:
        x_features, y_features = y_features, x_features
    x = _inputs.rows_tensor("x", x, blocks.dtype, x_features, axis)
    _inputs.check_dtypes(x.dtype, blocks.dtype, parts, feature_axis=axis)
    gates, gate_gradient = _inputs.gate_list(gate, parts.nnz)
    biases = _inputs.bias_list(bias, x.dtype, y_features)
    attributes = {
        "transpose": transpose,
        "feature_axis": axis,
        "inputs": parts.inputs,
        "outputs": parts.outputs,
        "gate_gradient": gate_gradient,
    }
    if biases or fused != "none":
        y, _ = library.blocksparse_matmul_fused(
            x,
            blocks,
            parts.packed,
            gates,
            biases,
            activation=fused,
            save_preactivation=fused in _activations.NEED_PREACTIVATION,
            **attributes,
        )
    else:
        y = library.blocksparse_matmul(
            x, blocks, parts.packed, gates, **attributes
        )
    return y if after is None else after(y)


@tf.RegisterGradient("Blocksparse>Matmul")
def _matmul_gradient(op: Any, dy: tf.Tensor) -> _products.Gradients:
    x, blocks, layout = op.inputs[:3]
    transpose = op.get_attr("transpose")
    a, b = (dy, x) if transpose else (x, dy)
    shared = {name: op.get_attr(name) for name in SHARED}

    def multiply(gate: list[tf.Tensor]) -> tf.Tensor:
        return library.blocksparse_matmul(
            dy, blocks, layout, gate, transpose=not transpose, **shared
        )

    def sample(gate: list[tf.Tensor], dtype: tf.DType) -> tf.Tensor:
        return library.blocksparse_sampled_matmul(
            a,
            b,
            layout,
            gate,
            Tb=dtype,
            block_size=_products.block_size(blocks, 3, "use ops.matmul"),
            **shared,
        )

    return _products.product_gradients(op, multiply, sample)


@tf.RegisterGradient("Blocksparse>MatmulFused")
def _matmul_fused_gradient(
    op: Any, dy: tf.Tensor, dz: tf.Tensor
) -> _products.Gradients:
    dz = _products.preactivation_gradient(op, dy, dz, "use ops.matmul")
    gradients = _matmul_gradient(op, dz)
    if op.get_attr("bias_count"):
        gradients.append(_bias_gradient(op, dz))
    return gradients


def _bias_gradient(op: Any, dz: tf.Tensor) -> tf.Tensor | None:
    if not _products.is_needed(op, len(op.inputs) - 1):
        return None
    features = op.get_attr("inputs" if op.get_attr("transpose") else "outputs")
    if op.get_attr("feature_axis") == 0:
        return _products.bias_gradient(tf.reshape(dz, [features, -1]), [1])
    return _products.bias_gradient(tf.reshape(dz, [-1, features]), [0])
