# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Every op inside of `tf.function(jit_compile=True)`, against itself outside.

Where our kernels are called the result is the same bit for bit; where XLA
multiplies by the dense weight it is so for integers.
"""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import ops, testing

ACTIVATIONS = ["relu", "gelu", "silu", "tanh", "sigmoid"]


def compiled(function):
    return tf.function(function, jit_compile=True, autograph=False)


def check_same(function, *inputs):
    """Of a function that returns a list of tensors."""
    for actual, expected in zip(
        compiled(function)(*inputs), function(*inputs), strict=True
    ):
        assert actual.dtype == expected.dtype
        actual, expected = (
            tf.cast(value, tf.float64) for value in (actual, expected)
        )
        np.testing.assert_array_equal(actual, expected)


def product(problem):
    """y, and both gradients: each of the products in each direction."""
    options = {
        "transpose": problem.transpose,
        "feature_axis": problem.feature_axis,
    }

    def function(x, blocks, dy):
        with tf.GradientTape() as tape:
            tape.watch([x, blocks])
            y = ops.matmul(x, blocks, problem.layout, **options)
        return [y, *tape.gradient(y, [x, blocks], dy)]

    return function


def convolution(problem):
    def function(x, blocks, dy):
        with tf.GradientTape() as tape:
            tape.watch([x, blocks])
            y = problem.call(ops, x, blocks)
        return [y, *tape.gradient(y, [x, blocks], dy)]

    return function


@pytest.mark.parametrize("problem", testing.problems(stride=401), ids=str)
def test_products(problem):
    check_same(product(problem), *problem.normals())


@pytest.mark.parametrize("problem", testing.problems(stride=601), ids=str)
def test_dense_products(problem, monkeypatch):
    monkeypatch.setenv("TF_BLOCKSPARSE_XLA_DENSE", "1")
    check_same(product(problem), *problem.integers())


@pytest.mark.parametrize("problem", testing.conv_problems(10007), ids=str)
def test_convolutions(problem):
    check_same(convolution(problem), *problem.normals())


@pytest.mark.parametrize("problem", testing.conv_problems(10007), ids=str)
def test_dense_convolutions(problem, monkeypatch):
    monkeypatch.setenv("TF_BLOCKSPARSE_XLA_DENSE", "1")
    check_same(convolution(problem), *problem.integers())


@pytest.mark.complete
@pytest.mark.parametrize("part", range(8))
def test_everything(form, part):
    values = "normals" if form == "call" else "integers"
    for problem in testing.problems(stride=31)[part::8]:
        check_same(product(problem), *getattr(problem, values)())
    for problem in testing.conv_problems(1009)[part::8]:
        check_same(convolution(problem), *getattr(problem, values)())


def normal(*shape, dtype="float64", seed=0):
    values = np.random.default_rng(seed).standard_normal(shape)
    return tf.constant(values, dtype)


def fused_product(layout, axis, transpose, **options):
    sides = layout.shape[::-1] if transpose else layout.shape
    x_shape, bias = [7, 2], normal(sides[1], seed=1)
    x_shape.insert(0 if axis == 0 else 2, sides[0])
    options.update(transpose=transpose, feature_axis=axis)

    def function(x, blocks, bias):
        with tf.GradientTape() as tape:
            tape.watch([x, blocks, bias])
            y = ops.matmul(x, blocks, layout, bias=bias, **options)
        return [y, *tape.gradient(y, [x, blocks, bias], tf.sin(y))]

    return function, normal(*x_shape), normal(*layout.blocks_shape), bias


def fused_convolution(layout, data_format, **options):
    shape = [2, 5, 4]
    shape.insert(3 if data_format == "channels_last" else 1, layout.inputs)
    blocks = normal(layout.nnz, 6, *layout.block_size)

    def function(x, blocks, bias):
        with tf.GradientTape() as tape:
            tape.watch([x, blocks, bias])
            y = ops.conv(
                x,
                blocks,
                layout,
                (3, 2),
                padding="same",
                data_format=data_format,
                bias=bias,
                **options,
            )
        return [y, *tape.gradient(y, [x, blocks, bias], tf.sin(y))]

    return function, normal(*shape), blocks, normal(layout.outputs, seed=1)


def check_near(function, *inputs):
    expected = function(*inputs)
    for actual, wanted in zip(
        compiled(function)(*inputs), expected, strict=True
    ):
        # XLA has functions of its own for what is around our kernels.
        np.testing.assert_allclose(actual, wanted, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    ("activation", "axis", "transpose"),
    list(itertools.product([None, *ACTIVATIONS], [-1, 0], [False, True]))[::3],
)
def test_fused_products(form, activation, axis, transpose):
    layout = testing.make_layout("random", (3, 5))
    check_near(*fused_product(layout, axis, transpose, activation=activation))


@pytest.mark.parametrize("activation", [None, *ACTIVATIONS])
def test_fused_convolutions(form, activation):
    layout = testing.make_conv_layout("random", (3, 5))
    data_format = "channels_first" if activation == "relu" else "channels_last"
    check_near(*fused_convolution(layout, data_format, activation=activation))


@pytest.mark.parametrize("kind", ["float", "bool"])
def test_gates(form, kind):
    layout = testing.make_layout("random", 8)
    gate = np.random.default_rng(0).random(layout.nnz) - 0.5
    gate[::3] = 0
    gate = tf.constant(gate > 0 if kind == "bool" else gate.astype("float32"))
    # A block that is closed is not read.
    blocks = np.array(normal(*layout.blocks_shape))
    blocks[np.asarray(gate) == 0] = np.nan
    blocks = tf.constant(blocks)

    def function(x, blocks, gate):
        with tf.GradientTape() as tape:
            tape.watch([x, blocks])
            y = ops.matmul(x, blocks, layout, gate=gate)
        return [y, *tape.gradient(y, [x, blocks])]

    check_near(function, normal(9, layout.inputs), blocks, gate)
