# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Which dtypes there are kernels for, and how much 16 bits may cost."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, ops

NAMES = ["float32", "float64", "bfloat16", "float16"]
SUPPORTED = {
    ("float32", "float32"),
    ("float64", "float64"),
    ("bfloat16", "bfloat16"),
    ("float16", "float16"),
    ("float32", "bfloat16"),
    ("float32", "float16"),
}
LAYOUT = BlockLayout.random((128, 96), 16, sparsity=0.5, seed=0)


def values(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize(
    "dtypes", list(itertools.product(NAMES, NAMES)), ids=str
)
def test_supported_or_named(dtypes):
    x = tf.cast(values(0, 4, 128), dtypes[0])
    blocks = tf.cast(values(1, LAYOUT.nnz, 16, 16), dtypes[1])
    if dtypes in SUPPORTED:
        assert ops.matmul(x, blocks, LAYOUT).dtype == dtypes[0]
        return
    with pytest.raises(
        ValueError,
        match=f"dtype: got x of {dtypes[0]} and blocks of {dtypes[1]} "
        r"\(block size \(16, 16\), feature_axis -1, device CPU\), expected one "
        "of .*; cast",
    ):
        ops.matmul(x, blocks, LAYOUT)


@pytest.mark.parametrize("dtype", ["int32", "complex64", "float8_e5m2"])
def test_refuses_other_dtypes(dtype):
    x = tf.cast(tf.ones([4, 128]), dtype)
    blocks = tf.cast(tf.ones([LAYOUT.nnz, 16, 16]), dtype)
    with pytest.raises(ValueError, match=f"dtype: got x of {dtype}"):
        ops.matmul(x, blocks, LAYOUT)
    with pytest.raises(ValueError, match=f"dtype: got x of {dtype}"):
        ops.sampled_matmul(x, tf.cast(tf.ones([4, 96]), dtype), LAYOUT)


def worst(actual, expected):
    return np.abs(np.asarray(actual, np.float64) - expected).max()


@pytest.mark.parametrize("rows", [1, 16, 64])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_errs_at_most_twice_what_tensorflow_errs(dtype, rows):
    x = tf.cast(values(0, rows, 128), dtype)
    dy = tf.cast(values(1, rows, 96), dtype)
    blocks = tf.Variable(tf.cast(values(2, LAYOUT.nnz, 16, 16), dtype))
    w = tf.Variable(ops.to_dense(blocks, LAYOUT))
    x64, w64, dy64 = (np.asarray(v, np.float64) for v in (x, w, dy))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        sparse = ops.matmul(x, blocks, LAYOUT)
        dense = tf.matmul(x, w)
    limit = 2 * worst(dense, x64 @ w64)
    assert worst(sparse, x64 @ w64) <= limit
    limit = 2 * worst(tape.gradient(dense, x, dy), dy64 @ w64.T)
    assert worst(tape.gradient(sparse, x, dy), dy64 @ w64.T) <= limit
    cut = LAYOUT.gather(x64.T @ dy64)
    dense_cut = ops.from_dense(tape.gradient(dense, w, dy), LAYOUT)
    limit = 2 * worst(dense_cut, cut)
    assert worst(tape.gradient(sparse, blocks, dy), cut) <= limit


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_sums_in_float32(dtype):
    """4096 ones and a 1: 16 bits would stop counting early."""
    layout = BlockLayout.dense((4096, 16), 16)
    blocks = tf.ones([layout.nnz, 16, 16], dtype)
    y = ops.matmul(tf.ones([1, 4096], dtype), blocks, layout)
    np.testing.assert_array_equal(
        tf.cast(y, tf.float32), np.full((1, 16), 4096)
    )
    ones = tf.ones([4096, 16], dtype)
    product = ops.sampled_matmul(ones, ones, BlockLayout.dense((16, 16), 16))
    assert (tf.cast(product, tf.float32).numpy() == 4096).all()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_float32_beside_16_bit_blocks(dtype):
    """Only the weights are rounded, not x, y or dx."""
    x = tf.constant(values(0, 8, 128), tf.float32)
    blocks = tf.Variable(tf.cast(values(1, LAYOUT.nnz, 16, 16), dtype))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = ops.matmul(x, blocks, LAYOUT)
    dx, dblocks = tape.gradient(y, [x, blocks])
    w = np.asarray(ops.to_dense(blocks, LAYOUT), np.float64)
    assert (y.dtype, dx.dtype) == (tf.float32, tf.float32)
    assert dblocks.dtype == dtype
    np.testing.assert_allclose(y, x.numpy() @ w, atol=1e-4)
    np.testing.assert_allclose(dx, np.ones((8, 96)) @ w.T, atol=1e-4)
