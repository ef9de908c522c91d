# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Which activations the fused op computes, and their derivatives."""

import math
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

# Those whose derivative reads the number before the activation.
NEED_PREACTIVATION = ("gelu", "silu")

# Functions the op computes exactly. Not keras.activations.sigmoid: it marks
# its result for Keras's stable cross-entropy, which would be lost.
_FUSED: dict[Any, str] = {
    None: "none",
    "linear": "none",
    "relu": "relu",
    "gelu": "gelu",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
    "sigmoid": "sigmoid",
    keras.activations.linear: "none",
    keras.activations.relu: "relu",
    keras.activations.gelu: "gelu",
    keras.activations.silu: "silu",
    keras.activations.tanh: "tanh",
    tf.identity: "none",
    tf.nn.relu: "relu",
    tf.nn.gelu: "gelu",
    tf.nn.silu: "silu",
    tf.nn.tanh: "tanh",
    tf.nn.sigmoid: "sigmoid",
}


def resolve(activation: Any) -> tuple[str, Callable[[Any], Any] | None]:
    """The op's activation, and what is to be applied after it, if anything."""
    try:
        return _FUSED[activation], None
    except (KeyError, TypeError):  # TypeError: an object without a hash
        # Keras refuses what it doesn't know with a ValueError of its own.
        return "none", keras.activations.get(activation)


def gradient(name: str, dy: tf.Tensor, y: tf.Tensor, z: tf.Tensor) -> tf.Tensor:
    """The derivative for z of y = activation(z), times dy.

    Made of ops that TensorFlow can derive again: through y, an output of the
    fused op, for relu, tanh and sigmoid, and through z for gelu and silu.
    """
    if name == "relu":
        return tf.raw_ops.ReluGrad(gradients=dy, features=y)
    if name == "tanh":
        return tf.raw_ops.TanhGrad(y=y, dy=dy)
    if name == "sigmoid":
        return tf.raw_ops.SigmoidGrad(y=y, dy=dy)
    if name == "none":
        return dy
    dtype = z.dtype
    if dtype.size == 2:  # 16 bits are for storage only
        z, dy = tf.cast(z, tf.float32), tf.cast(dy, tf.float32)
    slope = _gelu_slope(z) if name == "gelu" else _silu_slope(z)
    return tf.cast(dy * slope, dtype)


def _gelu_slope(z: tf.Tensor) -> tf.Tensor:
    # erfc, unlike 1 + erf, keeps its digits for large negative z.
    cumulative = 0.5 * tf.math.erfc(-math.sqrt(0.5) * z)
    density = tf.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    return cumulative + z * density


def _silu_slope(z: tf.Tensor) -> tf.Tensor:
    sigmoid = tf.sigmoid(z)
    return sigmoid * (1 + z * (1 - sigmoid))
