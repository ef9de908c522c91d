# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Convolutions that are large enough to be given to all threads."""

import itertools

import numpy as np
import tensorflow as tf

from tf_blocksparse import BlockLayout, ops

# kernel_size, strides, sizes of x, batch: work of some 200 us and more.
GEOMETRIES = [
    ((3, 3), 1, (28, 28), 2),
    ((3, 3), 2, (28, 27), 2),
    ((1, 1), 1, (28, 28), 2),
    ((9,), 1, (500,), 1),
    ((3, 3, 3), 1, (6, 7, 8), 1),
    # One image row, and less than a tile.
    ((3, 3), 1, (1, 5), 1),
]


def results_of(geometry, block, per_tap, dtype, data_format):
    """(what, tensor) for each."""
    kernel, strides, sizes, batch = geometry
    channels = 128
    shape = (channels, channels)
    layout = BlockLayout.random(
        (*kernel, *shape) if per_tap else shape, block, sparsity=0.7, seed=0
    )
    normal = np.random.default_rng(1).standard_normal
    taps = [] if per_tap else [int(np.prod(kernel))]
    blocks = tf.cast(normal([layout.nnz, *taps, block, block]), dtype)
    x = normal([batch, *sizes, channels])
    if data_format == "channels_first":
        x = np.moveaxis(x, -1, 1)
    x = tf.cast(x, dtype)
    gate = normal([layout.nnz])
    bias = tf.cast(normal([channels]), dtype)
    options = {
        "strides": strides,
        "padding": "same",
        "data_format": data_format,
    }
    plain = {**options}
    options["gate"] = tf.constant(gate * (gate > -0.5), tf.float32)
    for name in ("conv", "conv_transpose"):
        function = getattr(ops, name)
        y = function(
            x, blocks, layout, kernel, bias=bias, activation="gelu", **plain
        )
        yield name, y
        yield (
            f"gated {name}",
            function(x, blocks, layout, kernel, **options),
        )
        with tf.GradientTape() as tape:
            tape.watch([x, blocks])
            y = function(x, blocks, layout, kernel, **plain)
        gradients = tape.gradient(y, [x, blocks], y)
        yield from zip(
            (f"{name} dx", f"{name} dblocks"), gradients, strict=True
        )
        transpose = name == "conv_transpose"
        fine, coarse = (y, x) if transpose else (x, y)
        sampled = ops.conv_sampled(
            fine, coarse, layout, kernel, transpose=transpose, **options
        )
        yield f"{name} gated dblocks", sampled


def results():
    """(what, tensor) for each, twice."""
    for geometry, block, dtype, _ in itertools.product(
        GEOMETRIES,
        (8, 16, 32),
        ("float32", "float64", "bfloat16", "float16"),
        range(2),
    ):
        if dtype != "float32" and (block, geometry[2]) != (16, (28, 28)):
            continue
        per_tap = block == 16
        formats = ["channels_last", "channels_first"]
        for data_format in formats[: 1 + per_tap]:
            case = geometry, block, per_tap, dtype, data_format
            for what, tensor in results_of(*case):
                yield f"{what} {case}", tensor
