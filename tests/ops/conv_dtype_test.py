# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""How much 16 bits cost in a convolution."""

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, ops

LAYOUT = BlockLayout.random((128, 96), 16, sparsity=0.5, seed=0)
KERNEL = (3, 3)


def values(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def worst(actual, expected):
    return np.abs(np.asarray(actual, np.float64) - expected).max()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_errs_at_most_twice_what_tensorflow_errs(dtype):
    x = tf.cast(values(0, 2, 9, 8, 128), dtype)
    dy = tf.cast(values(1, 2, 9, 8, 96), dtype)
    blocks = tf.cast(0.1 * values(2, LAYOUT.nnz, 9, 16, 16), dtype)
    w = tf.cast(ops.to_dense(blocks, LAYOUT, KERNEL), dtype)

    def derive(function, x, weight, dy):
        with tf.GradientTape() as tape:
            tape.watch([x, weight])
            y = function(x, weight)
        return [y, *tape.gradient(y, [x, weight], dy)]

    def dense(x, w):
        return tf.nn.conv2d(x, w, 1, "SAME")

    wide = [tf.cast(value, tf.float64) for value in (x, w, dy)]
    exact = derive(dense, *wide)
    theirs = derive(dense, x, w, dy)
    ours = derive(
        lambda x, b: ops.conv(x, b, LAYOUT, KERNEL, padding="same"),
        x,
        blocks,
        dy,
    )
    exact[2] = ops.from_dense(exact[2], LAYOUT)
    theirs[2] = ops.from_dense(theirs[2], LAYOUT)
    for a, t, e in zip(ours, theirs, exact, strict=True):
        assert a.dtype == dtype
        assert worst(a, e) <= 2 * worst(t, e)


@pytest.mark.parametrize("name", ["conv", "conv_transpose"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_sums_in_float32(dtype, name):
    """Thousands of ones and a 1: 16 bits would stop counting early."""
    layout = BlockLayout.dense((512, 16), 16)
    blocks = tf.ones([layout.nnz, 8, 16, 16], dtype)
    y = getattr(ops, name)(tf.ones([1, 8, 512], dtype), blocks, layout, 8)
    # There all taps meet a pixel.
    middle = tf.cast(y, tf.float32)[0, y.shape[1] // 2]
    np.testing.assert_array_equal(middle, np.full(16, 4096))
    product = ops.conv_sampled(
        tf.ones([2, 64, 32, 16], dtype),
        tf.ones([2, 64, 32, 16], dtype),
        BlockLayout.dense((16, 16), 16),
        1,
    )
    assert (tf.cast(product, tf.float32).numpy() == 4096).all()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_float32_beside_16_bit_blocks(dtype):
    """Only the weights are rounded, not x, y or dx."""
    x = tf.constant(values(0, 2, 6, 5, 128), tf.float32)
    blocks = tf.Variable(tf.cast(values(1, LAYOUT.nnz, 9, 16, 16), dtype))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = ops.conv(x, blocks, LAYOUT, KERNEL)
    dx, dblocks = tape.gradient(y, [x, blocks])
    w = tf.cast(ops.to_dense(blocks, LAYOUT, KERNEL), tf.float64)
    assert (y.dtype, dx.dtype) == (tf.float32, tf.float32)
    assert dblocks.dtype == dtype
    expected = tf.nn.conv2d(tf.cast(x, tf.float64), w, 1, "VALID")
    np.testing.assert_allclose(y, expected, atol=1e-3)
