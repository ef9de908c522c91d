# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`matmul` and `sampled_matmul`, and what activations are."""

import math
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.ops.layout_tensor import LayoutTensor
from tf_blocksparse.reference.dense import from_dense, gated, to_dense


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
        to_dense(gated(tf.convert_to_tensor(blocks), gate), layout), x.dtype
    )
    if transpose:
        w = tf.transpose(w)
    y = tf.tensordot(_features_last(x, feature_axis), w, axes=1)
    if bias is not None:
        y += bias
    return activated(_features_back(y, feature_axis), activation)


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
    return gated(from_dense(tf.tensordot(a, b, [rows, rows]), layout), gate)


def activated(
    y: tf.Tensor, activation: str | Callable[[Any], Any] | None
) -> tf.Tensor:
    """The activation of y."""
    if activation == "gelu":
        # Keras's own has 24 bits, in float64 too.
        return 0.5 * y * tf.math.erfc(-math.sqrt(0.5) * y)
    return keras.activations.get(activation)(y)


def _features_last(x: tf.Tensor, feature_axis: int) -> tf.Tensor:
    if feature_axis != 0:
        return x
    return tf.transpose(x, [*range(1, x.shape.rank), 0])


def _features_back(y: tf.Tensor, feature_axis: int) -> tf.Tensor:
    if feature_axis != 0:
        return y
    last = y.shape.rank - 1
    return tf.transpose(y, [last, *range(last)])
