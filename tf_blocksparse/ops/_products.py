# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The gradients of the two bilinear products, each made of the other uses.

For `y = x (g W)`: `dx = dy (g W)^T`, and with `D = x^T dy` where blocks are,
`dW = g D` and `dg = sum(D W)` over each block. All of them are products again,
so that any order of derivative follows. `op` is the forward op: in a graph a
`tf.Operation`, in eager mode what the tape kept of it.
"""

from typing import Any

import tensorflow as tf

from tf_blocksparse.ops._library import library

# Attributes that an op's gradients share with it.
_SHARED = ("feature_axis", "inputs", "outputs", "gate_gradient")


def is_needed(op: Any, index: int) -> bool:
    """Whether anyone asks for the gradient of the op's input."""
    # Eager tapes tell; in graphs what nobody reads is pruned.
    return index not in (getattr(op, "skip_input_indices", None) or ())


def shared_attributes(op: Any) -> dict[str, Any]:
    """The attributes that an op's gradients share with it."""
    return {name: op.get_attr(name) for name in _SHARED}


def matmul_gradients(op: Any, dy: tf.Tensor) -> list[tf.Tensor | None]:
    """Gradients for x, blocks, layout and gate of `y = x W`, given dy."""
    x, blocks, layout = op.inputs[:3]
    gate = list(op.inputs[3 : 3 + op.get_attr("gate_count")])
    transpose = op.get_attr("transpose")
    shared = shared_attributes(op)
    dx = None
    if is_needed(op, 0):
        dx = library.blocksparse_matmul(
            dy, blocks, layout, gate, transpose=not transpose, **shared
        )
    if not (is_needed(op, 1) or (gate and is_needed(op, 3))):
        return [dx, None, None, *(None for _ in gate)]
    a, b = (dy, x) if transpose else (x, dy)
    numeric_gate = gate and shared["gate_gradient"]
    # With a gate to scale them still, blocks keep the digits that x has.
    dtype = x.dtype if numeric_gate else blocks.dtype
    product = library.blocksparse_sampled_matmul(
        a,
        b,
        layout,
        [] if numeric_gate else gate,
        Tb=dtype,
        block_size=_block_size(blocks),
        **shared,
    )
    if not numeric_gate:
        return [dx, product, None, *(None for _ in gate)]
    return [
        dx,
        _scale_blocks(product, gate[0], blocks.dtype),
        None,
        sum_products(blocks, product),
    ]


def _scale_blocks(
    blocks: tf.Tensor, gate: tf.Tensor, dtype: tf.DType
) -> tf.Tensor:
    """`gate[w] * blocks[w]` in float32 or float64, then rounded to dtype.

    Where `blocks` has 16 bits, it was rounded to them before.
    """
    wide = _wide(blocks.dtype)
    scaled = tf.cast(blocks, wide) * tf.cast(gate, wide)[:, None, None]
    return tf.cast(scaled, dtype)


def sum_products(blocks: tf.Tensor, product: tf.Tensor) -> tf.Tensor:
    """`sum(blocks[w] * product[w])` for each block, in float32.

    `product` is 0 where a block reaches beyond the weight, and what `blocks`
    hold there, be it NaN, doesn't count.
    """
    wide = _wide(blocks.dtype)
    products = tf.math.multiply_no_nan(
        tf.cast(blocks, wide), tf.cast(product, wide)
    )
    return tf.cast(tf.reduce_sum(products, axis=[1, 2]), tf.float32)


def _wide(dtype: tf.DType) -> tf.DType:
    return tf.float64 if dtype == tf.float64 else tf.float32


def _block_size(blocks: tf.Tensor) -> list[int]:
    shape = blocks.shape
    if shape.rank != 3 or None in shape[1:].as_list():
        raise ValueError(
            f"blocks: got static shape {shape}, expected a known block size "
            "for the gradient; use ops.matmul, or tf.ensure_shape"
        )
    return shape[1:].as_list()
