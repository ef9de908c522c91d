# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What layers take on this machine, dense and sparse in turns."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
import tensorflow as tf

from tf_blocksparse.conversion import _sparse, _twins
from tf_blocksparse.conversion._config_copy import config_copy
from tf_blocksparse.conversion.report import Times

if TYPE_CHECKING:
    from tf_blocksparse.conversion._plan import Weight

# Seconds for one layer, of four functions in turns; and turns at least.
_SECONDS = 1.0
_TURNS = 5
# Of axes whose sizes are not known, as the length of a text; more if a kernel
# is wider.
_LENGTH = 16


def times_of(
    weights: "Sequence[Weight]", gate: Any, rows: int
) -> "dict[Weight, Times]":
    """The times of each weight's layer."""
    # Shown if there is much to wait for.
    bar = None
    if len(weights) * _SECONDS > 2:
        bar = keras.utils.Progbar(len(weights), unit_name="layer")
    times = {}
    for weight in weights:
        times[weight] = _times(weight, gate, rows)
        if bar is not None:
            bar.add(1)
    return times


def _times(weight: "Weight", gate: Any, rows: int) -> Times:
    old = weight.layer
    shape = old.get_build_config()["input_shape"]
    length = max(_LENGTH, *_widths(old))
    sizes = [length if size is None else size for size in shape[1:]]
    x = tf.Variable(
        tf.cast(tf.random.normal([rows, *sizes]), old.compute_dtype)
    )
    new = _twins.sparse_twin(old, weight.layout, _sparse.gate_of(old, gate))
    new.build(shape)
    functions = []
    for layer in (_copy(old, shape), new):
        functions += [_forward(layer, x), _training(layer, x)]
    seconds: list[list[float]] = [[] for _ in functions]
    for function in functions:
        function()
    end = time.perf_counter() + _SECONDS
    while len(seconds[0]) < _TURNS or time.perf_counter() < end:
        for function, measured in zip(functions, seconds, strict=True):
            start = time.perf_counter()
            function()
            measured.append(time.perf_counter() - start)
    dense, dense_step, sparse, sparse_step = map(
        float, np.median(seconds, axis=1)
    )
    return Times(dense, sparse, dense_step, sparse_step)


def _copy(layer: Any, shape: Any) -> Any:
    """A layer like the user's, which would keep losses of its activities."""
    if _twins.is_sparse(layer):
        copy = _twins.sparse_twin(layer, layer.layout, layer.gate)
    else:
        copy = config_copy(layer)
    copy.build(shape)
    copy.set_weights(layer.get_weights())
    return copy


def _widths(layer: Any) -> list[int]:
    """Of the pixels that a convolution's kernel spans, along each axis."""
    if not hasattr(layer, "kernel_size"):
        return [1]
    return [
        (size - 1) * dilation + 1
        for size, dilation in zip(
            layer.kernel_size, layer.dilation_rate, strict=True
        )
    ]


def _forward(layer: Any, x: Any) -> Callable[[], Any]:
    return tf.function(lambda: layer(x))


def _training(layer: Any, x: Any) -> Callable[[], Any]:
    weights = [each.value for each in layer.trainable_weights]

    @tf.function
    def step() -> Any:
        with tf.GradientTape() as tape:
            y = layer(x)
        return tape.gradient(y, [x, *weights])

    return step
