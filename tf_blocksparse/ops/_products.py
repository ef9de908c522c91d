# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What the gradients of all products have in common.

A product is bilinear: `y = x * (g W)`, a matmul or a convolution. Its gradients
are `dx = dy * (g W)^T` and, with D the sampled product of x and dy where blocks
are, `dW = g D` and `dg = sum(D W)` over each block. All of them are products
again, so that any order of derivative follows. A fused op adds a bias and an
activation; its gradient is plain TensorFlow down to the product. `op` is the
forward op: in a graph a `tf.Operation`, in eager mode what the tape kept of it.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tf_blocksparse.ops import _activations

Gradients = list[tf.Tensor | None]


def is_needed(op: Any, index: int) -> bool:
    """Whether anyone asks for the gradient of the op's input."""
    # Eager tapes tell; in graphs what nobody reads is pruned.
    return index not in (getattr(op, "skip_input_indices", None) or ())


def gate_of(op: Any) -> list[tf.Tensor]:
    """The op's gate, a list of 0 or 1 tensors."""
    return list(op.inputs[3 : 3 + op.get_attr("gate_count")])


def text(value: str | bytes) -> str:
    """An attribute's text."""
    # Graphs give the attribute as bytes, eager tapes as it was passed.
    return value.decode() if isinstance(value, bytes) else value


def product_gradients(
    op: Any,
    multiply: Callable[[list[tf.Tensor]], tf.Tensor],
    sample: Callable[[list[tf.Tensor], tf.DType], tf.Tensor],
) -> Gradients:
    """Gradients for x, blocks, layout and gate of a product.

    Args:
      op: whose first inputs these are.
      multiply: gives dx for a gate.
      sample: gives D for a gate and a dtype.
    """
    x, blocks = op.inputs[:2]
    gate = gate_of(op)
    dx = multiply(gate) if is_needed(op, 0) else None
    if not (is_needed(op, 1) or (gate and is_needed(op, 3))):
        return [dx, None, None, *(None for _ in gate)]
    if not (gate and op.get_attr("gate_gradient")):
        product = sample(gate, blocks.dtype)
        return [dx, product, None, *(None for _ in gate)]
    # With a gate to scale them still, blocks keep the digits that x has.
    product = sample([], x.dtype)
    return [
        dx,
        _scale_blocks(product, gate[0], blocks.dtype),
        None,
        _sum_products(blocks, product),
    ]


def sampled_gradients(
    op: Any,
    dblocks: tf.Tensor,
    multiply: Callable[[int, list[tf.Tensor]], tf.Tensor],
    sample: Callable[[tf.DType], tf.Tensor],
) -> Gradients:
    """Gradients for a, b, layout and gate of a sampled product.

    Args:
      op: whose first inputs these are.
      dblocks: the gradient of its result.
      multiply: gives the gradient of a (0) or b (1) for a gate.
      sample: gives the op's result without a gate, in a dtype.
    """
    gate = gate_of(op)
    da, db = (
        multiply(index, gate) if is_needed(op, index) else None
        for index in (0, 1)
    )
    if not (gate and op.get_attr("gate_gradient") and is_needed(op, 3)):
        return [da, db, None, *(None for _ in gate)]
    # In a's dtype, not in dblocks', which may have fewer digits.
    product = sample(op.inputs[0].dtype)
    return [da, db, None, _sum_products(dblocks, product)]


def preactivation_gradient(
    op: Any, dy: tf.Tensor, dz: tf.Tensor, advice: str
) -> tf.Tensor:
    """The gradient of `x * W + bias`, of the op's two outputs y and z."""
    y, z = op.outputs
    activation = text(op.get_attr("activation"))
    saved = op.get_attr("save_preactivation")
    if activation in _activations.NEED_PREACTIVATION and not saved:
        raise ValueError(
            f"save_preactivation: got False with activation {activation}, "
            f"expected True for the gradient; {advice}"
        )
    total = _activations.gradient(activation, dy, y, z)
    return total + dz if saved else total


def bias_gradient(dz: tf.Tensor, axes: list[int]) -> tf.Tensor:
    """The sum of dz over all axes but that of the features."""
    # In 16 bits such a sum would lose most digits.
    wide = tf.cast(dz, tf.float32) if dz.dtype.size == 2 else dz
    return tf.cast(tf.reduce_sum(wide, axis=axes), dz.dtype)


def block_size(blocks: tf.Tensor, rank: int, advice: str) -> list[int]:
    """(b_in, b_out) of blocks with `rank` axes, which must be known."""
    shape = blocks.shape
    if shape.rank != rank or None in shape[-2:].as_list():
        raise ValueError(
            f"blocks: got static shape {shape}, expected a known block size "
            f"for the gradient; {advice}, or tf.ensure_shape"
        )
    return shape[-2:].as_list()


def _scale_blocks(
    blocks: tf.Tensor, gate: tf.Tensor, dtype: tf.DType
) -> tf.Tensor:
    """`gate[w] * blocks[w]` in float32 or float64, then rounded to dtype.

    Where `blocks` has 16 bits, it was rounded to them before.
    """
    wide = _wide(blocks.dtype)
    gate = tf.reshape(tf.cast(gate, wide), [-1] + [1] * (blocks.shape.rank - 1))
    return tf.cast(tf.cast(blocks, wide) * gate, dtype)


def _sum_products(blocks: tf.Tensor, product: tf.Tensor) -> tf.Tensor:
    """`sum(blocks[w] * product[w])` for each block, in float32.

    `product` is 0 where a block reaches beyond the weight, and what `blocks`
    hold there, be it NaN, doesn't count.
    """
    wide = _wide(blocks.dtype)
    products = tf.math.multiply_no_nan(
        tf.cast(blocks, wide), tf.cast(product, wide)
    )
    axes = list(range(1, product.shape.rank))
    return tf.cast(tf.reduce_sum(products, axis=axes), tf.float32)


def _wide(dtype: tf.DType) -> tf.DType:
    return tf.float64 if dtype == tf.float64 else tf.float32
