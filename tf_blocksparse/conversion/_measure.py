# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What layers take on this machine, dense and sparse in turns."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
import tensorflow as tf

from tf_blocksparse.conversion import _twins
from tf_blocksparse.conversion.report import Times

if TYPE_CHECKING:
    from tf_blocksparse.conversion._plan import Weight

# Seconds for one layer, of four functions in turns; and turns at least.
_SECONDS = 1.0
_TURNS = 5
# Of axes whose sizes are not known, as the length of a text.
_LENGTH = 16


def times_of(
    weights: "Sequence[Weight]", gate: Any, rows: int
) -> dict[str, Times]:
    """The times of each weight's layer, by path."""
    # Shown if there is much to wait for.
    bar = None
    if len(weights) * _SECONDS > 2:
        bar = keras.utils.Progbar(len(weights), unit_name="layer")
    times = {}
    for weight in weights:
        times[weight.path] = _times(weight, gate, rows)
        if bar is not None:
            bar.add(1)
    return times


def _times(weight: "Weight", gate: Any, rows: int) -> Times:
    old = weight.layer
    shape = old.get_build_config()["input_shape"]
    sizes = [_LENGTH if size is None else size for size in shape[1:]]
    x = tf.Variable(
        tf.cast(tf.random.normal([rows, *sizes]), old.compute_dtype)
    )
    new = _twins.sparse_twin(old, weight.layout, gate)
    new.build(shape)
    functions = []
    for layer in (old, new):
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
