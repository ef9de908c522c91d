# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The functions of `ops` in plain TensorFlow, on whole weights.

What the ops compute, said by code: every weight is built whole, with 0 where
no block is, and TensorFlow multiplies and differentiates it. Slow, simple, and
the standard that the tests hold the ops to. A layout must be known when the
function is called: a `BlockLayout`, or a `LayoutTensor` with a value.
"""

import math
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from tf_blocksparse import _packed
from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.ops.layout_tensor import LayoutTensor, Resolved, resolve


def to_dense(blocks: Any, layout: BlockLayout | LayoutTensor) -> tf.Tensor:
    """The whole weight `[inputs, outputs]`; see `ops.to_dense`.

    >>> layout = BlockLayout([[1, 0], [0, 1]], block_size=1)
    >>> to_dense([[[2.0]], [[3.0]]], layout).numpy()
    array([[2., 0.],
           [0., 3.]], dtype=float32)
    """
    parts = resolve(layout)
    blocks = tf.convert_to_tensor(blocks)
    b_in, b_out = parts.block_size
    rows, columns = parts.grid
    # Block 0 of the table is the zeros that stand where there is no block.
    table = tf.concat([tf.zeros([1, b_in, b_out], blocks.dtype), blocks], 0)
    number = np.zeros(parts.grid, np.int32)
    number[_places(parts)] = np.arange(1, blocks.shape[0] + 1)
    tiles = tf.transpose(tf.gather_nd(table, number[..., None]), [0, 2, 1, 3])
    whole = tf.reshape(tiles, [rows * b_in, columns * b_out])
    return whole[: parts.inputs, : parts.outputs]


def from_dense(w: Any, layout: BlockLayout | LayoutTensor) -> tf.Tensor:
    """The blocks of a whole weight; see `ops.from_dense`.

    >>> layout = BlockLayout([[1, 0], [0, 1]], block_size=1)
    >>> from_dense([[2.0, 4.0], [5.0, 3.0]], layout).numpy().ravel()
    array([2., 3.], dtype=float32)
    """
    parts = resolve(layout)
    b_in, b_out = parts.block_size
    rows, columns = parts.grid
    down, right = rows * b_in - parts.inputs, columns * b_out - parts.outputs
    whole = tf.pad(tf.convert_to_tensor(w), [[0, down], [0, right]])
    tiles = tf.reshape(whole, [rows, b_in, columns, b_out])
    tiles = tf.reshape(
        tf.transpose(tiles, [0, 2, 1, 3]), [rows * columns, b_in, b_out]
    )
    place = np.ravel_multi_index(_places(parts), parts.grid)
    return tf.gather(tiles, place.astype(np.int32))


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
    """`activation(x W + bias)`; see `ops.matmul`.

    >>> layout = BlockLayout([[1, 0], [1, 1]], block_size=2)
    >>> matmul([[1.0, 2.0, 3.0, 4.0]], tf.ones([3, 2, 2]), layout).numpy()
    array([[10., 10.,  7.,  7.]], dtype=float32)
    """
    x = tf.convert_to_tensor(x)
    w = tf.cast(
        to_dense(_gated(tf.convert_to_tensor(blocks), gate), layout), x.dtype
    )
    if transpose:
        w = tf.transpose(w)
    y = tf.tensordot(_features_last(x, feature_axis), w, axes=1)
    if bias is not None:
        y += bias
    y = _features_back(y, feature_axis)
    if activation == "gelu":
        # Keras's own has 24 bits, in float64 too.
        return 0.5 * y * tf.math.erfc(-math.sqrt(0.5) * y)
    return keras.activations.get(activation)(y)


def sampled_matmul(
    a: Any,
    b: Any,
    layout: BlockLayout | LayoutTensor,
    *,
    feature_axis: int = -1,
    gate: Any = None,
) -> tf.Tensor:
    """The blocks of `a^T b`; see `ops.sampled_matmul`.

    >>> layout = BlockLayout([[1, 0], [0, 1]], block_size=1)
    >>> a = [[1.0, 2.0], [3.0, 4.0]]
    >>> sampled_matmul(a, a, layout).numpy().ravel()
    array([10., 20.], dtype=float32)
    """
    a, b = tf.convert_to_tensor(a), tf.convert_to_tensor(b)
    a, b = (_features_last(value, feature_axis) for value in (a, b))
    rows = list(range(a.shape.rank - 1))
    return _gated(from_dense(tf.tensordot(a, b, [rows, rows]), layout), gate)


def _gated(blocks: tf.Tensor, gate: Any) -> tf.Tensor:
    if gate is None:
        return blocks
    gate = tf.convert_to_tensor(gate)[:, None, None]
    if gate.dtype.is_bool:
        return tf.where(gate, blocks, tf.zeros_like(blocks))
    # A closed gate closes even on NaN.
    return tf.math.multiply_no_nan(blocks, tf.cast(gate, blocks.dtype))


def _features_last(x: tf.Tensor, feature_axis: int) -> tf.Tensor:
    if feature_axis != 0:
        return x
    return tf.transpose(x, [*range(1, x.shape.rank), 0])


def _features_back(y: tf.Tensor, feature_axis: int) -> tf.Tensor:
    if feature_axis != 0:
        return y
    last = y.shape.rank - 1
    return tf.transpose(y, [last, *range(last)])


def _places(parts: Resolved) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """(input blocks, output blocks), each `[nnz]`."""
    packed = tf.get_static_value(parts.packed)
    if packed is None:
        raise ValueError(
            "layout: got one without a value, expected a BlockLayout; the "
            "functions of `ops` take a layout that is known only in a graph"
        )
    return _packed.places(packed, parts.grid)
