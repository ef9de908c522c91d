# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Gates of the products: numbers with a derivative, and masks without."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, ops, reference, testing

LAYOUT = testing.make_layout("random", (3, 5))
INPUTS, OUTPUTS = LAYOUT.shape
# Checkerboard over the grid: a gate that is neither all open nor all closed.
CHECKER = np.array(
    [
        (c & 1) ^ (k & 1) ^ 1
        for k, c in zip(*np.nonzero(LAYOUT.mask.T), strict=True)
    ]
)


def normal(*shape, dtype="float64", seed=0):
    values = np.random.default_rng(seed).standard_normal(shape)
    return tf.constant(values, dtype)


BLOCKS = normal(LAYOUT.nnz, 3, 5)
X = normal(7, INPUTS)
OPTIONS = list(itertools.product([False, True], [-1, 0]))


def inputs_of(transpose, axis, rows=7):
    features = LAYOUT.shape[1 if transpose else 0]
    return normal(features, rows) if axis == 0 else normal(rows, features)


def derive(module, x, blocks, gate, **options):
    """y, and the gradients of x, blocks and gate."""
    with tf.GradientTape() as tape:
        tape.watch([x, blocks, gate])
        y = module.matmul(x, blocks, LAYOUT, gate=gate, **options)
        loss = tf.reduce_sum(tf.sin(y))
    return [y, *tape.gradient(loss, [x, blocks, gate])]


def close(actual, expected, tolerance=1e-5):
    scale = np.abs(expected).max() if np.size(expected) else 0
    np.testing.assert_allclose(
        actual, expected, rtol=tolerance, atol=tolerance * scale
    )


@pytest.mark.parametrize(("transpose", "axis"), OPTIONS)
@pytest.mark.parametrize("kind", ["checker", "signs", "random", "closed"])
def test_numbers(kind, transpose, axis):
    gate = {
        "checker": CHECKER,
        "signs": 2 * CHECKER - 1,
        "random": normal(LAYOUT.nnz).numpy(),
        "closed": np.zeros(LAYOUT.nnz),
    }[kind]
    gate = tf.constant(gate, tf.float32)
    x = inputs_of(transpose, axis)
    options = {"transpose": transpose, "feature_axis": axis}
    actual = derive(ops, x, BLOCKS, gate, **options)
    expected = derive(reference, x, BLOCKS, gate, **options)
    for a, e in zip(actual, expected, strict=True):
        assert a.dtype == e.dtype
        close(a, e)


@pytest.mark.parametrize(("transpose", "axis"), OPTIONS)
def test_mask(transpose, axis):
    gate = tf.constant(CHECKER == 1)
    x = inputs_of(transpose, axis)
    options = {"transpose": transpose, "feature_axis": axis}
    actual = derive(ops, x, BLOCKS, gate, **options)
    expected = derive(reference, x, BLOCKS, gate, **options)
    assert actual[3] is None
    for a, e in zip(actual[:3], expected[:3], strict=True):
        close(a, e, 1e-12)


def test_closed_blocks_can_reopen():
    """At gate 0 the gate has a gradient, though its block has none."""
    gate = tf.zeros([LAYOUT.nnz])
    y, dx, dblocks, dgate = derive(ops, X, BLOCKS, gate)
    for zero in (y, dx, dblocks):
        np.testing.assert_array_equal(zero, tf.zeros_like(zero))
    assert np.all(dgate.numpy() != 0)


def test_closed_blocks_are_not_read():
    closed = (CHECKER == 0)[:, None, None]
    blocks = tf.where(closed, np.nan, BLOCKS)
    for gate in (tf.constant(CHECKER, tf.float32), tf.constant(CHECKER == 1)):
        for transpose, axis in OPTIONS:
            x = inputs_of(transpose, axis)
            y = ops.matmul(
                x,
                blocks,
                LAYOUT,
                gate=gate,
                transpose=transpose,
                feature_axis=axis,
            )
            assert np.isfinite(y).all()


def test_sampled_blocks_of_closed_gates_are_zero():
    a, b = tf.fill([4, INPUTS], np.inf), tf.ones([4, OUTPUTS])
    for gate in (tf.constant(CHECKER, tf.float32), tf.constant(CHECKER == 1)):
        blocks = ops.sampled_matmul(a, b, LAYOUT, gate=gate).numpy()
        assert np.all(blocks[CHECKER == 0] == 0)
        assert np.isinf(blocks[CHECKER == 1]).any()


@pytest.mark.parametrize("axis", [-1, 0])
@pytest.mark.parametrize("mask", [False, True])
def test_sampled(mask, axis):
    a = normal(INPUTS, 7) if axis == 0 else normal(7, INPUTS)
    b = normal(OUTPUTS, 7) if axis == 0 else normal(7, OUTPUTS)
    gate = tf.constant(CHECKER == 1) if mask else normal(LAYOUT.nnz)
    results = []
    for module in (ops, reference):
        with tf.GradientTape() as tape:
            tape.watch([a, b, gate])
            blocks = module.sampled_matmul(
                a, b, LAYOUT, feature_axis=axis, gate=gate
            )
            loss = tf.reduce_sum(tf.sin(blocks))
        results.append([blocks, *tape.gradient(loss, [a, b, gate])])
    for actual, expected in zip(*results, strict=True):
        if expected is None or (mask and expected.dtype == tf.bool):
            assert actual is None
        else:
            close(actual, expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_gate_of_any_float(dtype):
    gate = tf.Variable(tf.cast(normal(LAYOUT.nnz), dtype))
    with tf.GradientTape() as tape:
        y = ops.matmul(X, BLOCKS, LAYOUT, gate=gate)
        loss = tf.reduce_sum(y)
    gradient = tape.gradient(loss, gate)
    assert gradient.dtype == dtype
    product = ops.sampled_matmul(X, tf.ones_like(y), LAYOUT)
    expected = reference.to_dense(BLOCKS * product, LAYOUT)
    expected = tf.reduce_sum(reference.from_dense(expected, LAYOUT), [1, 2])
    scale = np.abs(expected).max()
    np.testing.assert_allclose(
        tf.cast(gradient, tf.float64), expected, atol=0.02 * scale
    )


@pytest.mark.parametrize("dtypes", testing.DTYPES, ids="-".join)
def test_every_dtype(dtypes):
    x, blocks = tf.cast(X, dtypes[0]), tf.cast(BLOCKS, dtypes[1])
    gate = normal(LAYOUT.nnz, dtype="float32")
    actual = derive(ops, x, blocks, gate)
    wide = [tf.cast(value, tf.float64) for value in (x, blocks)]
    expected = derive(reference, *wide, gate)
    kinds = [dtypes[0], dtypes[0], dtypes[1], "float32"]
    loosest = max(testing.rounding(dtype) for dtype in dtypes)
    for a, e, kind in zip(actual, expected, kinds, strict=True):
        assert a.dtype == kind
        # sin of a rounded y, and sums of some 40 terms: 16 roundings.
        scale = max(1, np.abs(e).max())
        np.testing.assert_allclose(
            tf.cast(a, tf.float64), e, atol=16 * max(loosest, 1e-7) * scale
        )


def test_padded_entries_do_not_reach_the_gate():
    padding = LAYOUT.gather(np.ones(LAYOUT.shape)) == 0
    blocks = tf.constant(np.where(padding, np.nan, BLOCKS))
    gate = normal(LAYOUT.nnz, dtype="float32")
    actual = derive(ops, X, blocks, gate)
    expected = derive(reference, X, BLOCKS, gate)
    for a, e in zip(actual, expected, strict=True):
        close(a, e)


def test_two_by_two_against_finite_differences():
    layout = BlockLayout.dense((16, 16), 8)
    x, blocks = normal(64, 16, dtype="float32"), normal(4, 8, 8)
    x, blocks = tf.cast(x, tf.float64), tf.cast(blocks, tf.float64)

    def product(gate):
        return ops.matmul(x, blocks, layout, gate=tf.cast(gate, tf.float32))

    gate = tf.constant([0.0, 1.0, 0.5, -0.25], tf.float64)
    analytic, numeric = tf.test.compute_gradient(
        product, [gate], delta=2.0**-10
    )
    np.testing.assert_allclose(analytic[0], numeric[0], atol=1e-4)


def test_gate_makes_the_same_layout_smaller():
    """A masked product equals one whose layout lacks the masked blocks."""
    mask = LAYOUT.mask.copy()
    for (k, c), keep in zip(np.argwhere(mask.T), CHECKER == 1, strict=True):
        mask[c, k] = keep
    smaller = BlockLayout(mask, LAYOUT.block_size, *LAYOUT.shape)
    blocks = tf.boolean_mask(BLOCKS, CHECKER == 1)
    np.testing.assert_array_equal(
        ops.matmul(X, BLOCKS, LAYOUT, gate=tf.constant(CHECKER == 1)),
        ops.matmul(X, blocks, smaller),
    )
