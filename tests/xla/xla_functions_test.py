# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""How functions and XLA meet: tapes, nested functions, batches, layouts."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, LayoutTensor, ops

LAYOUT = BlockLayout.random((40, 24), 8, sparsity=0.5, seed=0)
RNG = np.random.default_rng(0)
X = tf.constant(RNG.standard_normal((5, 40)), tf.float32)
BLOCKS = tf.constant(RNG.standard_normal(LAYOUT.blocks_shape), tf.float32)


def loss(x, blocks):
    y = ops.matmul(x, blocks, LAYOUT, activation="gelu")
    return tf.reduce_sum(y * y)


def gradients(function, x=X, blocks=BLOCKS):
    with tf.GradientTape() as tape:
        tape.watch([x, blocks])
        value = function(x, blocks)
    return tape.gradient(value, [x, blocks])


def check_gradients(actual):
    for one, expected in zip(actual, gradients(loss), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-5, atol=1e-5)


def test_the_tape_is_outside(form):
    check_gradients(gradients(tf.function(loss, jit_compile=True)))


def test_the_tape_is_inside(form):
    check_gradients(tf.function(lambda: gradients(loss), jit_compile=True)())


def test_a_function_traced_before_is_compiled_inside(form):
    inner = tf.function(loss)
    expected = inner(X, BLOCKS)
    outer = tf.function(lambda x, w: inner(x, w), jit_compile=True)
    np.testing.assert_allclose(outer(X, BLOCKS), expected, rtol=1e-5)
    check_gradients(gradients(outer))


def test_a_compiled_function_inside_of_a_plain_one(form):
    inner = tf.function(loss, jit_compile=True)
    check_gradients(gradients(tf.function(lambda x, w: inner(x, w))))


def test_second_order(form):
    def curvature(x, blocks):
        with tf.GradientTape() as tape:
            tape.watch(x)
            dx, dblocks = gradients(loss, x, blocks)
            total = tf.reduce_sum(dx * dx) + tf.reduce_sum(tf.sin(dblocks))
        return tape.gradient(total, x)

    actual = tf.function(curvature, jit_compile=True)(X, BLOCKS)
    expected = curvature(X, BLOCKS)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(actual / scale, expected / scale, atol=1e-5)


def test_a_batch_of_any_size(form):
    function = tf.function(
        lambda x: ops.matmul(x, BLOCKS, LAYOUT),
        jit_compile=True,
        input_signature=[tf.TensorSpec([None, 40], tf.float32)],
    )
    for rows in (5, 0, 1, 17):
        x = tf.random.normal([rows, 40])
        np.testing.assert_allclose(
            function(x), ops.matmul(x, BLOCKS, LAYOUT), rtol=1e-5, atol=1e-5
        )
    assert function.experimental_get_tracing_count() == 1


def test_images_of_any_size(form):
    blocks = tf.random.normal([LAYOUT.nnz, 9, 8, 8])

    def train(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = ops.conv(x, blocks, LAYOUT, 3, strides=2, padding="same")
        return y, tape.gradient(y, x)

    function = tf.function(
        train,
        jit_compile=True,
        input_signature=[tf.TensorSpec([None, None, None, 40], tf.float32)],
    )
    for shape in ((1, 6, 5), (2, 9, 4)):
        x = tf.random.normal([*shape, 40])
        for actual, expected in zip(function(x), train(x), strict=True):
            np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4)


def test_a_layout_that_changes_needs_no_trace(form):
    packed = tf.Variable(LAYOUT.packed)
    layout = LayoutTensor(packed, LAYOUT.shape, LAYOUT.block_size)
    function = tf.function(
        lambda x, w: ops.matmul(x, w, layout), jit_compile=True
    )
    other = BlockLayout(np.roll(LAYOUT.mask, 1, axis=0), 8)
    for each in (LAYOUT, other):
        packed.assign(each.packed)
        np.testing.assert_allclose(
            function(X, BLOCKS),
            ops.matmul(X, BLOCKS, each),
            rtol=1e-5,
            atol=1e-5,
        )
    assert function.experimental_get_tracing_count() == 1


def test_loops_and_branches(form):
    square = BlockLayout.random((16, 16), 8, sparsity=0.5, seed=0)
    blocks = tf.ones(square.blocks_shape)

    def repeated(x):
        for _ in tf.range(3):
            x = ops.matmul(x, blocks, square) * 0.1
        if tf.reduce_sum(x) > 0:
            x = ops.matmul(x, blocks, square, transpose=True)
        return x

    x = tf.ones([2, 16])
    np.testing.assert_allclose(
        tf.function(repeated, jit_compile=True)(x),
        tf.function(repeated)(x),
        rtol=1e-5,
    )


PROGRAM = """
import numpy as np, tensorflow as tf
@tf.function(jit_compile=True)
def first(x):
    return x @ x
x = tf.eye(3)
first(x)
from tf_blocksparse import BlockLayout, ops
layout = BlockLayout([[1]], 3)
y = tf.function(lambda x: ops.matmul(x, [x], layout), jit_compile=True)(x)
np.testing.assert_array_equal(x, y)
tf.config.optimizer.set_jit("autoclustering")
y = tf.function(lambda x: ops.matmul(x, [x], layout) + x + x)(x)
np.testing.assert_array_equal(3 * x, y)
"""


def test_after_the_process_has_compiled_something_else():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={
            **os.environ,
            "PYTHONPATH": os.getcwd(),
            # Clusters on the CPU, too, and of any size.
            "TF_XLA_FLAGS": "--tf_xla_cpu_global_jit "
            "--tf_xla_min_cluster_size=1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("value", ["2", "yes"])
def test_an_unknown_value_of_the_variable(monkeypatch, value):
    monkeypatch.setenv("TF_BLOCKSPARSE_XLA_DENSE", value)
    function = tf.function(
        lambda x: ops.matmul(x, BLOCKS, LAYOUT), jit_compile=True
    )
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=f'TF_BLOCKSPARSE_XLA_DENSE is "{value}", expected 0 or 1',
    ):
        function(X)
