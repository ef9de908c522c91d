# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Puts odd numbers into every op; prints how many cases agreed with dense.

One number of one operand is NaN, infinite, the largest or subnormal, the
others are small integers, so that sums are exact. Every result must be the one
that dense TensorFlow gives for the blocks that exist; where none does, nothing
arrives.
"""

import itertools
import json
import sys

import numpy as np
import tensorflow as tf

from tf_blocksparse import BlockLayout, ops, reference

DTYPES = [
    ("float32", "float32"),
    ("float64", "float64"),
    ("bfloat16", "bfloat16"),
    ("float16", "float16"),
    ("float32", "bfloat16"),
    ("float32", "float16"),
]
DATA_FORMATS = ("channels_last", "channels_first")
# Twice the largest number of a type is infinite, three times a subnormal one
# is what dense TensorFlow makes of it.
ODD = ("nan", "inf", "-inf", "largest", "subnormal")
# A weight whose last blocks reach beyond it.
LAYOUTS = [
    BlockLayout.random((40, 56), 8, sparsity=0.5, seed=0),
    BlockLayout.random((30, 29), (4, 16), sparsity=0.5, seed=1),
]


SUBNORMAL = {
    "float32": 2.0**-130,
    "bfloat16": 2.0**-130,
    "float64": 2.0**-1030,
    "float16": 2.0**-16,  # that float32 can add to the other numbers
}


def odd(name, dtype):
    if name == "largest":
        return float(tf.as_dtype(dtype).max)
    return SUBNORMAL[dtype] if name == "subnormal" else float(name)


def operand(rng, shape, dtype, value, at):
    numbers = rng.integers(-2, 3, shape).astype(np.float64)
    if value is not None:
        numbers.flat[at % numbers.size] = value
    return tf.cast(tf.constant(numbers), dtype)


def dense_product(a, b, dtype):
    """`tf.matmul`, of 16-bit types with sums in float32 as is promised."""
    wide = tf.float64 if dtype == "float64" else tf.float32
    return tf.cast(tf.matmul(tf.cast(a, wide), tf.cast(b, wide)), dtype)


def compare(what, got, expected):
    got, expected = (tf.cast(t, tf.float64).numpy() for t in (got, expected))
    if not np.array_equal(got, expected, equal_nan=True):
        at = np.flatnonzero(got != expected)
        sys.exit(f"{what}: {got.flat[at[:9]]}, not {expected.flat[at[:9]]}")


def by_block(x, blocks, layout):
    """`tf.matmul` of each output block's own inputs.

    Zeros where no block is would make NaN of what is infinite.
    """
    inputs, outputs = layout.shape
    b_in, b_out = layout.block_size
    columns = []
    places = np.argwhere(layout.mask.T)
    for k in range(layout.mask.shape[1]):
        width = min(b_out, outputs - k * b_out)
        own = np.flatnonzero(places[:, 0] == k)
        left = [x[:, c * b_in : (c + 1) * b_in] for c in places[own, 1]]
        right = [
            blocks[w, : min(b_in, inputs - places[w, 1] * b_in), :width]
            for w in own
        ]
        if not left:
            columns.append(tf.zeros([x.shape[0], width], x.dtype))
            continue
        left, right = tf.concat(left, 1), tf.concat(right, 0)
        columns.append(dense_product(left, right, x.dtype))
    return tf.concat(columns, 1)


def check_products(layout, rows, dtypes, name, at):
    """Forward, transposed and sampled, with features on either axis."""
    x_dtype, blocks_dtype = dtypes
    rng = np.random.default_rng(at)
    cases = 0
    for in_x, axis in itertools.product((True, False), (-1, 0)):
        what = f"{layout} {rows} rows {dtypes} {name} {in_x} {axis}"
        value = odd(name, x_dtype if in_x else blocks_dtype)
        of_x, of_blocks = (value, None) if in_x else (None, value)
        blocks = operand(rng, layout.blocks_shape, blocks_dtype, of_blocks, at)
        sides = [
            operand(rng, (rows, side), x_dtype, of_x, at)
            for side in layout.shape
        ]

        def turned(tensor, axis=axis):
            return tf.transpose(tensor) if axis == 0 else tensor

        for transpose in (False, True):
            y = ops.matmul(
                turned(sides[transpose]),
                blocks,
                layout,
                transpose=transpose,
                feature_axis=axis,
            )
            expected = (
                by_block(
                    sides[1],
                    layout.transpose_blocks(blocks),
                    layout.transpose(),
                )
                if transpose
                else by_block(sides[0], blocks, layout)
            )
            compare(f"matmul {transpose} {what}", turned(y), expected)
        product = ops.sampled_matmul(
            *map(turned, sides), layout, feature_axis=axis
        )
        dense = dense_product(tf.transpose(sides[0]), sides[1], x_dtype)
        compare(f"sampled {what}", product, ops.from_dense(dense, layout))
        cases += 3
    return cases


def check_convolutions(dtype, name, at):
    """Without padding, all blocks there: 0 is multiplied by nothing odd."""
    layout = BlockLayout.dense((16, 32), 16)
    rng = np.random.default_rng(at)
    cases = 0
    for stride, data_format in itertools.product((1, 2), DATA_FORMATS):
        x_shape = (2, 9, 8, 16)
        if data_format == "channels_first":
            x_shape = (2, 16, 9, 8)
        x = operand(rng, x_shape, dtype, odd(name, dtype), at)
        blocks = operand(rng, (2, 6, 16, 16), dtype, None, at)
        arguments = {
            "kernel_size": (3, 2),
            "strides": stride,
            "padding": "valid",
            "data_format": data_format,
        }
        y = ops.conv(x, blocks, layout, **arguments)
        wide = tf.float64 if dtype == "float64" else tf.float32
        expected = reference.conv(
            tf.cast(x, wide), tf.cast(blocks, wide), layout, **arguments
        )
        what = f"conv {dtype} {name} {stride} {data_format}"
        compare(what, y, tf.cast(expected, dtype))
        cases += 1
    return cases


def main():
    cases = 0
    for dtypes, name in itertools.product(DTYPES, ODD):
        for layout, (rows, at) in itertools.product(
            LAYOUTS, [(3, 77), (37, 401)]
        ):
            cases += check_products(layout, rows, dtypes, name, at)
        if dtypes[0] == dtypes[1]:
            cases += check_convolutions(dtypes[0], name, at=1001)
    print(json.dumps({"cases": cases}))


if __name__ == "__main__":
    main()
