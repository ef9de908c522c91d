# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Bias and activation of `ops.matmul`: values, derivatives, what is fused."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import ops, reference, testing

LAYOUT = testing.make_layout("random", (3, 5))
FUSED = ["relu", "gelu", "silu", "tanh", "sigmoid"]
LIBRARY = ops._library.library


def normal(*shape, dtype="float64", seed=0):
    values = np.random.default_rng(seed).standard_normal(shape)
    return tf.constant(values, dtype)


def inputs_of(transpose, axis, dtypes=("float64", "float64"), rows=(2, 9)):
    """x, blocks, bias and a dy."""
    sides = LAYOUT.shape[::-1] if transpose else LAYOUT.shape
    x, dy = (
        normal(*((n, *rows) if axis == 0 else (*rows, n)), seed=seed)
        for seed, n in enumerate(sides)
    )
    blocks = 0.5 * normal(LAYOUT.nnz, 3, 5, seed=2)
    bias = normal(sides[1], seed=3)
    return (
        tf.cast(x, dtypes[0]),
        tf.cast(blocks, dtypes[1]),
        tf.cast(bias, dtypes[0]),
        tf.cast(dy, dtypes[0]),
    )


def derive(module, x, blocks, bias, dy, **options):
    """y, and the gradients of x, blocks and bias."""
    inputs = [value for value in (x, blocks, bias) if value is not None]
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        y = module.matmul(x, blocks, LAYOUT, bias=bias, **options)
    return [y, *tape.gradient(y, inputs, dy)]


def close(actual, expected, tolerance):
    scale = max(1, np.abs(expected).max()) if np.size(expected) else 1
    np.testing.assert_allclose(
        np.asarray(actual, np.float64), expected, atol=tolerance * scale
    )


@pytest.mark.parametrize(
    ("activation", "has_bias", "transpose", "axis"),
    list(
        itertools.product([None, *FUSED], [False, True], [False, True], [-1, 0])
    ),
)
def test_values_and_gradients(activation, has_bias, transpose, axis):
    x, blocks, bias, dy = inputs_of(transpose, axis)
    bias = bias if has_bias else None
    options = {
        "activation": activation,
        "transpose": transpose,
        "feature_axis": axis,
    }
    actual = derive(ops, x, blocks, bias, dy, **options)
    expected = derive(reference, x, blocks, bias, dy, **options)
    for a, e in zip(actual, expected, strict=True):
        close(a, e, 1e-12)


@pytest.mark.parametrize("rows", [1, 16, 33, 100])
@pytest.mark.parametrize("activation", FUSED)
@pytest.mark.parametrize("dtypes", testing.DTYPES, ids="-".join)
def test_every_dtype(dtypes, activation, rows):
    inputs = inputs_of(False, -1, dtypes, (rows,))
    actual = derive(ops, *inputs, activation=activation)
    wide = [tf.cast(value, tf.float64) for value in inputs]
    expected = derive(reference, *wide, activation=activation)
    kinds = [dtypes[0], dtypes[0], dtypes[1], dtypes[0]]
    # y, dz and the result are rounded; a sum of rows adds their errors.
    for a, e, kind in zip(actual, expected, kinds, strict=True):
        assert a.dtype == kind
        rounding = max(testing.rounding(kind), testing.rounding(dtypes[0]))
        close(a, e, 16 * rounding * np.sqrt(rows))


@pytest.mark.parametrize("activation", FUSED)
def test_three_orders(activation):
    x, blocks, bias, _ = inputs_of(False, -1)
    results = []
    for module in (ops, reference):
        with tf.GradientTape() as third:
            third.watch(bias)
            with tf.GradientTape() as second:
                second.watch([x, blocks, bias])
                with tf.GradientTape() as first:
                    first.watch([x, blocks, bias])
                    y = module.matmul(
                        x, blocks, LAYOUT, bias=bias, activation=activation
                    )
                    loss = tf.reduce_sum(tf.sin(y))
                gradients = first.gradient(loss, [x, blocks, bias])
                squares = tf.add_n([tf.reduce_sum(g**2) for g in gradients])
            curvature = second.gradient(squares, [x, blocks, bias])
            total = tf.reduce_sum(curvature[2] ** 2)
        results.append([*curvature, third.gradient(total, bias)])
    for actual, expected in zip(*results, strict=True):
        close(actual, expected, 1e-10)


@pytest.mark.parametrize("activation", FUSED)
def test_extreme_numbers(activation):
    layout = testing.make_layout("one", 1)
    z = np.array([-np.inf, -1e30, -200, -90, -20, -1, -0.0, 0, 1, 20, 90, 1e30])
    x = np.zeros((z.size, layout.shape[0]), np.float32)
    x[:, np.argwhere(layout.mask)[0][0]] = z
    y = ops.matmul(x, tf.ones([1, 1, 1]), layout, activation=activation)
    y = y.numpy()[:, np.argwhere(layout.mask)[0][1]]
    with np.errstate(invalid="ignore"):
        finite = z[1:]
        expected = reference.matmul(
            np.float64(finite)[:, None],
            tf.ones([1, 1, 1], tf.float64),
            ops.LayoutTensor(
                np.array([0, 1, 0, 0, 1, 0, 0], "int32"), (1, 1), 1
            ),
            activation=activation,
        )
    np.testing.assert_allclose(y[1:], expected[:, 0], rtol=1e-5, atol=1e-30)


def test_nan_comes_through():
    x, blocks, bias, _ = inputs_of(False, -1, ("float32", "float32"), (3,))
    x = tf.fill(x.shape, np.nan)
    for activation in FUSED:
        y = ops.matmul(x, blocks, LAYOUT, bias=bias, activation=activation)
        outputs = LAYOUT.mask.any(axis=0).repeat(5)[: LAYOUT.shape[1]]
        assert np.isnan(y.numpy()[:, outputs]).all(), activation


@pytest.mark.parametrize("activation", [None, *FUSED])
def test_no_blocks(activation):
    """What is left is the bias."""
    layout = testing.make_layout("none", 4)
    bias = normal(layout.shape[1], dtype="float32")
    y = ops.matmul(
        tf.ones([3, layout.shape[0]]),
        tf.zeros([0, 4, 4]),
        layout,
        bias=bias,
        activation=activation,
    )
    expected = keras.activations.get(activation)(tf.stack([bias] * 3))
    np.testing.assert_allclose(y, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("activation", "fused"),
    [
        ("linear", "none"),
        (keras.activations.linear, "none"),
        ("swish", "silu"),
        (keras.activations.relu, "relu"),
        (tf.nn.relu, "relu"),
        (keras.activations.gelu, "gelu"),
        (tf.nn.gelu, "gelu"),
        (keras.activations.silu, "silu"),
        (tf.nn.silu, "silu"),
        (tf.nn.swish, "silu"),
        (keras.activations.tanh, "tanh"),
        (tf.tanh, "tanh"),
        (tf.sigmoid, "sigmoid"),
    ],
)
def test_functions_that_are_fused(activation, fused):
    assert ops._activations.resolve(activation) == (fused, None)


@pytest.mark.parametrize(
    "activation",
    [
        "softmax",
        "elu",
        keras.activations.softmax,
        keras.activations.sigmoid,
        lambda x: tf.nn.gelu(x, approximate=True),
        keras.layers.LeakyReLU(dtype="float64"),
    ],
)
@pytest.mark.parametrize("axis", [-1, 0])
def test_others_are_applied_after(activation, axis):
    x, blocks, bias, dy = inputs_of(False, axis)
    options = {"activation": activation, "feature_axis": axis}
    actual = derive(ops, x, blocks, bias, dy, **options)
    expected = derive(reference, x, blocks, bias, dy, **options)
    for a, e in zip(actual, expected, strict=True):
        close(a, e, 1e-6)


def test_keras_sigmoid_keeps_its_logits():
    """Keras's cross-entropy looks for them; a fused result has none."""
    x, blocks, _, _ = inputs_of(False, -1, ("float32", "float32"), (3,))
    y = ops.matmul(40 * x, blocks, LAYOUT, activation=keras.activations.sigmoid)
    loss = keras.losses.binary_crossentropy(tf.zeros_like(y), y)
    z = ops.matmul(40 * x, blocks, LAYOUT)
    expected = keras.losses.binary_crossentropy(
        tf.zeros_like(y), z, from_logits=True
    )
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


def test_graph_has_one_op():
    x, blocks, bias, _ = inputs_of(False, -1)
    product = tf.function(
        lambda x, blocks, bias: ops.matmul(
            x, blocks, LAYOUT, bias=bias, activation="gelu"
        )
    )
    graph = product.get_concrete_function(x, blocks, bias).graph
    names = [op.type for op in graph.get_operations()]
    assert [n for n in names if n.startswith("Block")] == [
        "Blocksparse>MatmulFused"
    ]
    assert not {"AddV2", "Erf", "Erfc"} & set(names)


def raw(activation, save):
    x, blocks, bias, _ = inputs_of(False, -1)
    return LIBRARY.blocksparse_matmul_fused(
        x,
        blocks,
        LAYOUT.packed,
        [],
        [bias],
        inputs=LAYOUT.shape[0],
        outputs=LAYOUT.shape[1],
        activation=activation,
        save_preactivation=save,
    )


@pytest.mark.parametrize("activation", ["none", *FUSED])
def test_preactivation(activation):
    x, blocks, bias, _ = inputs_of(False, -1)
    y, z = raw(activation, save=True)
    expected = reference.matmul(x, blocks, LAYOUT, bias=bias)
    close(z, expected, 1e-12)
    np.testing.assert_array_equal(y, raw(activation, save=False).y)
    assert raw(activation, save=False).z.shape == [0]


def test_gradient_of_the_preactivation():
    x, blocks, bias, dy = inputs_of(False, -1)
    with tf.GradientTape() as tape:
        tape.watch(bias)
        y, z = LIBRARY.blocksparse_matmul_fused(
            x,
            blocks,
            LAYOUT.packed,
            [],
            [bias],
            inputs=LAYOUT.shape[0],
            outputs=LAYOUT.shape[1],
            activation="tanh",
            save_preactivation=True,
        )
        loss = tf.reduce_sum(y * dy) + tf.reduce_sum(tf.sin(z))
    expected = (1 - y**2) * dy + tf.cos(z)
    close(tape.gradient(loss, bias), tf.reduce_sum(expected, [0, 1]), 1e-12)


def test_gradient_needs_the_preactivation():
    x, blocks, bias, _ = inputs_of(False, -1)
    with tf.GradientTape() as tape:
        tape.watch(blocks)
        y, _ = LIBRARY.blocksparse_matmul_fused(
            x,
            blocks,
            LAYOUT.packed,
            [],
            [bias],
            inputs=LAYOUT.shape[0],
            outputs=LAYOUT.shape[1],
            activation="gelu",
        )
    with pytest.raises(ValueError, match="save_preactivation: got False"):
        tape.gradient(y, blocks)
