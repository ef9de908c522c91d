# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Derivatives of the fused op with a gate, of every order and mode."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import ops, reference, testing

LAYOUT = testing.make_layout("random", (3, 5))
ACTIVATIONS = [None, "relu", "gelu", "silu", "tanh", "sigmoid"]
TABLE = [
    case
    for case in itertools.product(
        ["float", "bool"], [False, True], ACTIVATIONS, [False, True], [-1, 0]
    )
    if case[1] or case[2]  # what has neither is the plain op
]


def normal(*shape, seed=0):
    return tf.constant(np.random.default_rng(seed).standard_normal(shape))


def gate_of(kind):
    """Every third gate is closed."""
    value = np.random.default_rng(4).standard_normal(LAYOUT.nnz)
    value[::3] = 0
    return tf.constant(value != 0 if kind == "bool" else value.astype("f"))


def inputs_of(kind, has_bias, transpose, axis):
    """Names and values of what the product is differentiated for."""
    sides = LAYOUT.shape[::-1] if transpose else LAYOUT.shape
    values = {
        "x": normal(*((sides[0], 2, 3) if axis == 0 else (2, 3, sides[0]))),
        "blocks": 0.5 * normal(LAYOUT.nnz, 3, 5, seed=1),
    }
    if has_bias:
        values["bias"] = normal(sides[1], seed=2)
    if kind == "float":
        values["gate"] = gate_of(kind)
    return values


def product(module, values, kind, **options):
    values = {"gate": gate_of(kind), **values}
    return module.matmul(layout=LAYOUT, **values, **options)


def orders(function, values, count):
    """The gradients of each order up to count, each as one vector."""
    if count == 0:
        return function(values), []
    with tf.GradientTape() as tape:
        tape.watch(values)
        result, lower = orders(function, values, count - 1)
        last = lower[-1] if lower else result
        total = tf.reduce_sum(tf.sin(last))
    gradients = tape.gradient(total, values)
    missing = [name for name, value in gradients.items() if value is None]
    assert not missing, missing
    flat = [tf.reshape(g, [-1]) for g in gradients.values()]
    flat = [tf.cast(g, tf.float64) for g in flat]
    return result, [*lower, tf.concat(flat, 0)]


def check_orders(count, kind, has_bias, activation, transpose, axis):
    values = inputs_of(kind, has_bias, transpose, axis)
    options = {
        "activation": activation,
        "transpose": transpose,
        "feature_axis": axis,
    }
    results = []
    for module in (ops, reference):
        result, gradients = orders(
            lambda values, module=module: product(
                module, values, kind, **options
            ),
            values,
            count,
        )
        results.append([result, *gradients])
    # The gradient of a gate has the 24 bits of float32.
    tolerance = 1e-5 if kind == "float" else 1e-10
    for order, (actual, expected) in enumerate(zip(*results, strict=True)):
        scale = max(1, np.abs(expected).max())
        np.testing.assert_allclose(
            actual,
            expected,
            atol=10**order * tolerance * scale,
            err_msg=f"order {order}",
        )


@pytest.mark.parametrize(
    ("kind", "has_bias", "activation", "transpose", "axis"), TABLE
)
def test_two_orders(kind, has_bias, activation, transpose, axis):
    check_orders(2, kind, has_bias, activation, transpose, axis)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("kind", ["float", "bool"])
def test_three_orders_transposed(kind, activation):
    check_orders(3, kind, True, activation, True, 0)


@pytest.mark.parametrize("activation", ACTIVATIONS[1:])
def test_three_orders_of_what_is_saved(activation):
    check_orders(3, "float", True, activation, False, -1)


def test_a_bool_gate_has_no_gradient():
    gate = gate_of("bool")
    with tf.GradientTape() as tape:
        tape.watch(gate)
        values = inputs_of("bool", True, False, -1)
        y = product(ops, values, "bool", activation="gelu")
    assert tape.gradient(y, gate) is None


@pytest.mark.parametrize(
    ("kind", "activation", "transpose", "axis"),
    [
        ("float", None, False, -1),
        ("float", "gelu", False, -1),
        ("float", "tanh", True, 0),
        ("bool", "silu", True, -1),
        ("bool", "relu", False, 0),
    ],
)
def test_forward_mode(kind, activation, transpose, axis):
    values = inputs_of(kind, True, transpose, axis)
    tangents = {
        name: tf.cast(normal(*value.shape, seed=9), value.dtype)
        for name, value in values.items()
    }
    options = {
        "activation": activation,
        "transpose": transpose,
        "feature_axis": axis,
    }
    results = []
    for module in (ops, reference):
        with tf.autodiff.ForwardAccumulator(values, tangents) as accumulator:
            y = product(module, values, kind, **options)
        results.append(accumulator.jvp(y))
    scale = np.abs(results[1]).max()
    np.testing.assert_allclose(*results, atol=1e-5 * scale)


@pytest.mark.parametrize("kind", ["float", "bool"])
@pytest.mark.parametrize("activation", [None, "gelu", "tanh"])
def test_vectorized_map_of_a_gradient(kind, activation):
    """One gradient for each example."""
    values = inputs_of(kind, True, False, -1)
    x = values.pop("x")
    rest = list(values.values())

    def gradients(module, x):
        with tf.GradientTape() as tape:
            tape.watch([x, *rest])
            y = product(module, {"x": x, **values}, kind, activation=activation)
            total = tf.reduce_sum(tf.sin(y))
        return tape.gradient(total, [x, *rest])

    actual = tf.vectorized_map(lambda x: gradients(ops, x), x)
    each = [gradients(reference, row) for row in x]
    for a, e in zip(actual, zip(*each, strict=True), strict=True):
        e = tf.stack(e)
        scale = max(1, np.abs(e).max())
        np.testing.assert_allclose(a, e, atol=1e-5 * scale)


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("activation", [None, "gelu"])
def test_two_orders_with_16_bit_blocks(dtype, activation, gated):
    """Second derivatives of a float32 product with 16-bit blocks."""
    values = inputs_of("float", True, False, -1)
    if not gated:
        del values["gate"]
    narrow = {name: tf.cast(v, tf.float32) for name, v in values.items()}
    narrow["blocks"] = tf.cast(values["blocks"], dtype)
    wide = {name: tf.cast(v, tf.float64) for name, v in narrow.items()}
    results = []
    for module, case in ((ops, narrow), (reference, wide)):
        with tf.GradientTape() as outer:
            outer.watch(case)
            with tf.GradientTape() as tape:
                tape.watch(case)
                y = module.matmul(layout=LAYOUT, activation=activation, **case)
                total = tf.reduce_sum(tf.sin(y))
            gradients = tape.gradient(total, case)
            squares = tf.add_n(
                [
                    tf.reduce_sum(tf.cast(g, tf.float64) ** 2)
                    for g in gradients.values()
                ]
            )
        results.append((gradients, outer.gradient(squares, case)))
    for actual, expected in zip(*results, strict=True):
        for name, value in narrow.items():
            assert actual[name].dtype == value.dtype
            # dblocks, rounded to 16 bits, is part of every second derivative.
            scale = max(1, np.abs(expected[name]).max())
            np.testing.assert_allclose(
                tf.cast(actual[name], tf.float64),
                expected[name],
                atol=8 * testing.rounding(dtype) * scale,
                err_msg=name,
            )


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_gate_of_16_bit_blocks_has_a_float32_gradient(dtype):
    """Only dblocks itself is rounded to 16 bits, and once."""
    values = inputs_of("float", False, False, -1)
    x, gate = tf.cast(values["x"], tf.float32), values["gate"]
    blocks = tf.cast(values["blocks"], dtype)
    wide = [tf.cast(value, tf.float64) for value in (x, blocks, gate)]
    results = []
    for module, inputs in ((ops, [x, blocks, gate]), (reference, wide)):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            y = module.matmul(*inputs[:2], LAYOUT, gate=inputs[2])
            # Its derivative is exact in float32 too: one of -2, -1, 0, 1, 2.
            total = tf.reduce_sum(y * tf.cast(weights(y.shape), y.dtype))
        results.append(tape.gradient(total, inputs[1:]))
    (dblocks, dgate), (dblocks64, dgate64) = results
    scale = np.abs(dgate64).max()
    np.testing.assert_allclose(dgate, dgate64, atol=1e-6 * scale)
    # Half a unit in the last place, and the error of float32 beside it.
    np.testing.assert_allclose(
        tf.cast(dblocks, tf.float64),
        dblocks64,
        rtol=1.001 * testing.rounding(dtype),
        atol=1e-5,
    )


def weights(shape):
    return np.random.default_rng(5).integers(-2, 3, shape)
