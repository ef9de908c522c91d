# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Derivatives of convolutions, of every order, against plain TensorFlow."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, LayoutTensor, ops, reference, testing

SHARED = BlockLayout([[1, 0, 1], [1, 1, 0]], (2, 3), inputs=3, outputs=8)
PER_TAP = BlockLayout(
    np.random.default_rng(0).random((6, 2, 3)) < 0.5,
    (2, 3),
    inputs=3,
    outputs=8,
)
LAYOUTS = pytest.mark.parametrize(
    "layout", [SHARED, PER_TAP], ids=["shared", "per_tap"]
)
FUSED = ["relu", "gelu", "silu", "tanh", "sigmoid"]


def normal(*shape, dtype="float64", seed=0):
    values = np.random.default_rng(seed).standard_normal(shape)
    return tf.constant(values, dtype)


def check_exact(problem):
    """dx and dblocks."""
    values = problem.integers()
    results = []
    for module, (x, blocks, dy) in (
        (ops, values),
        (reference, [tf.cast(value, tf.float64) for value in values]),
    ):
        with tf.GradientTape() as tape:
            tape.watch([x, blocks])
            y = problem.call(module, x, blocks)
        results.append(tape.gradient(y, [x, blocks], dy))
    for actual, expected, value in zip(*results, values, strict=False):
        assert actual.dtype == value.dtype
        np.testing.assert_array_equal(tf.cast(actual, tf.float64), expected)


@pytest.mark.parametrize("problem", testing.conv_problems(2011), ids=str)
def test_integers_are_exact(problem):
    check_exact(problem)


@pytest.mark.complete
@pytest.mark.parametrize("part", range(20))
def test_integers_are_exact_everywhere(part):
    for problem in testing.conv_problems(223)[part::20]:
        check_exact(problem)


# kernel_size, strides, dilation_rate, padding, sizes of x.
GEOMETRIES = [
    ((6,), (2,), (1,), "same", (5,)),
    ((6,), (1,), (2,), "causal", (4,)),
    ((3, 2), (1, 1), (1, 1), "same", (4, 3)),
    ((2, 3), (2, 1), (1, 2), ((1, 0), (2, 1)), (4, 3)),
    ((3, 2), (2, 2), (1, 1), "valid", (5, 4)),
    ((1, 3, 2), (1, 2, 1), (1, 1, 2), "same_symmetric", (2, 4, 3)),
]


def functions(module, layout, geometry, transposed, data_format, gate):
    """A convolution and its sampled twin, with their differentiable inputs."""
    kernel, strides, dilations, padding, sizes = geometry
    options = {
        "strides": strides,
        "padding": padding,
        "dilation_rate": dilations,
        "data_format": data_format,
    }
    first = data_format == "channels_first"
    x = normal(2, 3, *sizes) if first else normal(2, *sizes, 3)
    shape = [layout.nnz, *layout.block_size]
    if layout.taps is None:
        shape.insert(1, 6)
    gates = [normal(layout.nnz, dtype="float32", seed=3)] if gate else []

    def convolve(x, blocks, *gate):
        function = module.conv_transpose if transposed else module.conv
        gate = gate[0] if gate else None
        return function(x, blocks, layout, kernel, gate=gate, **options)

    def sample(x, y, *gate):
        fine, coarse = (y, x) if transposed else (x, y)
        return module.conv_sampled(
            fine,
            coarse,
            layout,
            kernel,
            transpose=transposed,
            gate=gate[0] if gate else None,
            **options,
        )

    blocks = normal(*shape, seed=1)
    y = normal(*convolve(x, blocks, *gates).shape, seed=2)
    yield convolve, [x, blocks, *gates]
    yield sample, [x, y, *gates]


def orders(function, inputs, count):
    """The result of a function and its derivatives up to an order."""
    if count == 0:
        return [function(*inputs)]

    def slope(*inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            y = tf.reduce_sum(tf.sin(function(*inputs)))
        gradients = tape.gradient(y, inputs)
        return tf.concat(
            [tf.reshape(tf.cast(g, tf.float64), [-1]) for g in gradients], 0
        )

    return [function(*inputs), *orders(slope, inputs, count - 1)]


def close(actual, expected, tolerance):
    scale = np.abs(expected).max() if np.size(expected) else 0
    np.testing.assert_allclose(
        actual, expected, rtol=tolerance, atol=tolerance * scale
    )


@LAYOUTS
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    ("geometry", "data_format", "gate"),
    [
        (geometry, ("channels_last", "channels_first")[i % 2], i % 3 > 0)
        for i, geometry in enumerate(GEOMETRIES)
    ],
    ids=str,
)
def test_two_orders(layout, geometry, transposed, data_format, gate):
    arguments = layout, geometry, transposed, data_format, gate
    for (f, inputs), (g, _) in zip(
        functions(ops, *arguments),
        functions(reference, *arguments),
        strict=True,
    ):
        for actual, expected in zip(
            orders(f, inputs, 2), orders(g, inputs, 2), strict=True
        ):
            # What passes through a gate has the 24 bits of float32.
            close(actual, expected, 1e-5 if gate else 1e-10)


@LAYOUTS
@pytest.mark.parametrize("transposed", [False, True])
def test_three_orders_in_a_graph(layout, transposed):
    arguments = layout, GEOMETRIES[3], transposed, "channels_last", True
    for (f, inputs), (g, _) in zip(
        functions(ops, *arguments),
        functions(reference, *arguments),
        strict=True,
    ):
        compiled = tf.function(lambda *x, f=f: orders(f, x, 3))
        for actual, expected in zip(
            compiled(*inputs), orders(g, inputs, 3), strict=True
        ):
            close(actual, expected, 1e-4)


def derive(module, name, inputs, layout, gate=None, **options):
    """y, its gradients for x, blocks, bias and a float gate, and theirs."""
    variables = list(inputs)
    if gate is not None and gate.dtype.is_floating:
        variables.append(gate)
    with tf.GradientTape() as second:
        second.watch(variables)
        with tf.GradientTape() as first:
            first.watch(variables)
            x, blocks, bias = inputs
            y = getattr(module, name)(
                x, blocks, layout, (3, 2), bias=bias, gate=gate, **options
            )
            loss = tf.reduce_sum(tf.sin(y))
        gradients = first.gradient(loss, variables)
        squares = tf.add_n(
            [tf.reduce_sum(tf.cast(g, tf.float64) ** 2) for g in gradients]
        )
    return [y, *gradients, *second.gradient(squares, variables)]


def inputs_of(layout, data_format="channels_last", dtype="float64"):
    """x, blocks and bias."""
    shape = (2, 4, 5, 3)
    if data_format == "channels_first":
        shape = (2, 3, 4, 5)
    taps = [] if layout.taps else [6]
    return [
        normal(*shape, dtype=dtype),
        0.5 * normal(layout.nnz, *taps, 2, 3, dtype=dtype, seed=1),
        normal(8, dtype=dtype, seed=2),
    ]


@LAYOUTS
@pytest.mark.parametrize("name", ["conv", "conv_transpose"])
@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
@pytest.mark.parametrize("activation", [None, *FUSED, "softplus"])
def test_bias_and_activation(layout, name, data_format, activation):
    inputs = inputs_of(layout, data_format)
    options = {
        "activation": activation,
        "data_format": data_format,
        "padding": "same",
        "strides": 2,
    }
    actual = derive(ops, name, inputs, layout, **options)
    expected = derive(reference, name, inputs, layout, **options)
    tolerance = 1e-10 if activation != "softplus" else 1e-6
    for a, e in zip(actual, expected, strict=True):
        close(a, e, tolerance)


@LAYOUTS
@pytest.mark.parametrize("name", ["conv", "conv_transpose"])
@pytest.mark.parametrize("kind", ["numbers", "closed", "mask"])
def test_gates(layout, name, kind):
    checker = np.arange(layout.nnz) % 2
    gate = {
        "numbers": checker * normal(layout.nnz, dtype="float32"),
        "closed": tf.zeros([layout.nnz]),
        "mask": tf.constant(checker == 1),
    }[kind]
    inputs = inputs_of(layout)
    options = {"gate": gate, "activation": "tanh"}
    actual = derive(ops, name, inputs, layout, **options)
    expected = derive(reference, name, inputs, layout, **options)
    for a, e in zip(actual, expected, strict=True):
        assert a.dtype == e.dtype
        close(a, e, 1e-5)
    if kind == "closed":  # can reopen
        assert np.all(actual[4].numpy() != 0)


@LAYOUTS
def test_closed_blocks_and_padding_are_not_read(layout):
    x, blocks, bias = inputs_of(layout)
    inside = layout.gather(np.ones((3, 2, *layout.shape))) == 1
    closed = np.arange(layout.nnz) % 2 == 0
    spread = closed.reshape(-1, *[1] * (blocks.shape.rank - 1))
    poisoned = tf.where(inside & ~spread, blocks, np.nan)
    for gate in (tf.constant(~closed), tf.cast(~closed, tf.float32)):
        for name in ("conv", "conv_transpose"):
            actual = derive(ops, name, [x, poisoned, bias], layout, gate)
            expected = derive(ops, name, [x, blocks, bias], layout, gate)
            np.testing.assert_array_equal(actual[0], expected[0])
            np.testing.assert_array_equal(actual[1], expected[1])
    padded = tf.where(inside, blocks, np.nan)
    gate = normal(layout.nnz, dtype="float32")
    for name in ("conv", "conv_transpose"):
        actual = derive(ops, name, [x, padded, bias], layout, gate)
        expected = derive(ops, name, [x, blocks, bias], layout, gate)
        for a, e in zip(actual, expected, strict=True):
            np.testing.assert_array_equal(a, e)


@pytest.mark.parametrize("dtypes", testing.DTYPES, ids="-".join)
@pytest.mark.parametrize("activation", ["gelu", "relu"])
@pytest.mark.parametrize("name", ["conv", "conv_transpose"])
def test_every_dtype(name, activation, dtypes):
    values = [
        tf.cast(value, dtype)
        for value, dtype in zip(
            inputs_of(SHARED), [*dtypes, dtypes[0]], strict=True
        )
    ]
    gate = normal(SHARED.nnz, dtype="float32")
    wide = [tf.cast(value, tf.float64) for value in values]
    options = {"gate": gate, "activation": activation}
    actual = derive(ops, name, values, SHARED, **options)[:5]
    expected = derive(reference, name, wide, SHARED, **options)[:5]
    loosest = max(testing.rounding(dtype) for dtype in dtypes)
    kinds = [dtypes[0], *dtypes, dtypes[0], "float32"]
    for a, e, kind in zip(actual, expected, kinds, strict=True):
        assert a.dtype == kind
        # y, dz and the result are rounded; sums of some 40 terms add to it.
        scale = max(1, np.abs(e).max())
        np.testing.assert_allclose(
            tf.cast(a, tf.float64), e, atol=32 * max(loosest, 1e-7) * scale
        )


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
@pytest.mark.parametrize("name", ["conv", "conv_transpose"])
def test_unknown_shapes(name, data_format, known):
    """Sizes and layout known only when the graph runs."""
    first = data_format == "channels_first"
    spec = [None, 3, None, 5] if first else [None, None, 5, 3]

    @tf.function(
        input_signature=[
            tf.TensorSpec(spec if known else None, tf.float64),
            tf.TensorSpec(None, tf.float64),
            tf.TensorSpec(None, tf.float64),
            tf.TensorSpec(None, tf.int32),
        ]
    )
    def gradients(x, blocks, bias, packed):
        layout = LayoutTensor(packed, SHARED.shape, SHARED.block_size)
        inputs = [x, blocks, bias]
        options = {"data_format": data_format, "activation": "silu"}
        return derive(
            ops, name, inputs, layout, padding="same", strides=2, **options
        )

    inputs = inputs_of(SHARED, data_format)
    expected = derive(
        reference,
        name,
        inputs,
        SHARED,
        data_format=data_format,
        activation="silu",
        padding="same",
        strides=2,
    )
    for a, e in zip(gradients(*inputs, SHARED.packed), expected, strict=True):
        close(a, e, 1e-10)


@pytest.mark.parametrize("pfor", [True, False])
def test_jacobian_and_hessian(pfor):
    x, blocks, _ = inputs_of(SHARED)
    x = x[:1, :3, :2]
    results = []
    for module in (ops, reference):
        with tf.GradientTape(persistent=True) as outer:
            outer.watch([x, blocks])
            with tf.GradientTape() as tape:
                tape.watch(blocks)
                y = module.conv(x, blocks, SHARED, (3, 2), padding="same")
                loss = tf.reduce_sum(tf.tanh(y))
            gradient = tape.gradient(loss, blocks)
        results.append(
            [
                outer.jacobian(y, x, experimental_use_pfor=pfor),
                outer.jacobian(gradient, blocks, experimental_use_pfor=pfor),
            ]
        )
    for actual, expected in zip(*results, strict=True):
        close(actual, expected, 1e-10)


@pytest.mark.parametrize("name", ["conv", "conv_transpose"])
def test_forward_mode(name):
    inputs = inputs_of(PER_TAP)
    tangents = [normal(*value.shape, seed=9) for value in inputs]
    results = []
    for module in (ops, reference):
        with tf.autodiff.ForwardAccumulator(inputs, tangents) as accumulator:
            x, blocks, bias = inputs
            y = getattr(module, name)(
                x, blocks, PER_TAP, (3, 2), bias=bias, activation="gelu"
            )
        results.append(accumulator.jvp(y))
    close(*results, 1e-10)


def test_only_what_is_asked_for():
    x, blocks, bias = inputs_of(SHARED)
    variables = [tf.Variable(blocks), tf.Variable(bias)]
    for chosen in itertools.product([False, True], repeat=2):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            for variable, is_chosen in zip(variables, chosen, strict=True):
                if is_chosen:
                    tape.watch(variable)
            y = ops.conv(x, variables[0], SHARED, (3, 2), bias=variables[1])
        gradients = tape.gradient(y, [x, *variables])
        assert [g is not None for g in gradients] == [False, *chosen]


def test_one_kernel_many_times():
    """A recurrent kernel: its gradients add up."""
    _, blocks, _ = inputs_of(SHARED)
    xs = normal(4, 2, 4, 5, 3)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(blocks)
        steps = [ops.conv(x, blocks, SHARED, (3, 2)) for x in xs]
        total = tf.add_n(steps)
    together = tape.gradient(total, blocks)
    single = [tape.gradient(step, blocks) for step in steps]
    np.testing.assert_allclose(together, tf.add_n(single), atol=1e-12)
