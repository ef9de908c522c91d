# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Derivatives of the ops, of every order and mode, against plain TensorFlow."""

import concurrent.futures
import itertools

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, LayoutTensor, ops, reference, testing

LAYOUT = testing.make_layout("random", (3, 5))
INPUTS, OUTPUTS = LAYOUT.shape
SMALL = BlockLayout([[1, 0, 1], [1, 1, 0]], (2, 3), inputs=3, outputs=8)


def normal(*shape, dtype="float64", seed=0):
    values = np.random.default_rng(seed).standard_normal(shape)
    return tf.constant(values, dtype)


def first_order(module, problem, x, blocks, dy):
    """dx and dblocks."""
    with tf.GradientTape() as tape:
        tape.watch([x, blocks])
        y = module.matmul(
            x,
            blocks,
            problem.layout,
            transpose=problem.transpose,
            feature_axis=problem.feature_axis,
        )
    return tape.gradient(y, [x, blocks], dy)


def check_exact(problem):
    values = problem.integers()
    wide = [tf.cast(value, tf.float64) for value in values]
    actual = first_order(ops, problem, *values)
    expected = first_order(reference, problem, *wide)
    for a, e, value in zip(actual, expected, values, strict=False):
        assert a.dtype == value.dtype
        np.testing.assert_array_equal(tf.cast(a, tf.float64), e, str(problem))


@pytest.mark.parametrize("problem", testing.problems(stride=103), ids=str)
def test_integers_are_exact(problem):
    check_exact(problem)


@pytest.mark.complete
@pytest.mark.parametrize("kind", testing.LAYOUT_KINDS)
def test_integers_are_exact_everywhere(kind):
    for problem in testing.problems():
        if problem.kind == kind:
            check_exact(problem)


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("name", ["x", "blocks"])
def test_a_forgotten_block_is_found(monkeypatch, name, transpose):
    """In one gradient only, the other one being right."""
    correct = ops.matmul
    problem = testing.Problem(
        "random", 8, 7, "float32", "float32", transpose, -1
    )
    check_exact(problem)

    def faulty(x, blocks, layout, **options):
        kept = np.arange(layout.nnz) != layout.nnz // 2
        part = tf.where(kept[:, None, None], blocks, 0)
        constants = [tf.stop_gradient(value) for value in (x, blocks, part)]
        x_only = correct(
            x, constants[2 if name == "x" else 1], layout, **options
        )
        blocks_only = correct(
            constants[0],
            part if name == "blocks" else blocks,
            layout,
            **options,
        )
        return x_only + blocks_only

    monkeypatch.setattr(ops, "matmul", faulty)
    with pytest.raises(AssertionError):
        check_exact(problem)


def products(module, transpose, axis, gate):
    """Both products of one sort as functions of their differentiable inputs."""
    sides = LAYOUT.shape[::-1] if transpose else LAYOUT.shape
    shapes = [(n, 2, 3) if axis == 0 else (2, 3, n) for n in sides]
    x, dy = (normal(*shape, seed=i) for i, shape in enumerate(shapes))
    blocks = normal(LAYOUT.nnz, 3, 5, seed=2)
    gates = [normal(LAYOUT.nnz, seed=3, dtype="float32")] if gate else []

    def matmul(x, blocks, *gate):
        return module.matmul(
            x,
            blocks,
            LAYOUT,
            transpose=transpose,
            feature_axis=axis,
            gate=gate[0] if gate else None,
        )

    def sampled_matmul(a, b, *gate):
        return module.sampled_matmul(
            a,
            b,
            LAYOUT,
            feature_axis=axis,
            gate=gate[0] if gate else None,
        )

    a, b = (dy, x) if transpose else (x, dy)
    yield matmul, [x, blocks, *gates]
    yield sampled_matmul, [a, b, *gates]


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


@pytest.mark.parametrize(
    ("transpose", "axis", "gate", "compiled"),
    [
        *itertools.product([False, True], [-1, 0], [False, True], [False]),
        (False, -1, False, True),
        (True, 0, True, True),
    ],
)
def test_three_orders(transpose, axis, gate, compiled):
    wrap = tf.function if compiled else (lambda function: function)
    ours = products(ops, transpose, axis, gate)
    theirs = products(reference, transpose, axis, gate)
    for (f, inputs), (g, _) in zip(ours, theirs, strict=True):
        actual = wrap(lambda *x, f=f: orders(f, x, 3))(*inputs)
        expected = wrap(lambda *x, g=g: orders(g, x, 3))(*inputs)
        for a, e in zip(actual, expected, strict=True):
            # What passes through a gate has the 24 bits of float32.
            close = 1e-4 if gate else 1e-9
            scale = np.abs(e).max()
            np.testing.assert_allclose(a, e, rtol=close, atol=close * scale)


def test_padded_entries_have_no_gradient():
    x = tf.ones([4, INPUTS], tf.float64)
    blocks = tf.Variable(tf.ones([LAYOUT.nnz, 3, 5], tf.float64))
    with tf.GradientTape() as tape:
        y = ops.matmul(x, blocks, LAYOUT)
    gradient = tape.gradient(y, blocks)
    expected = LAYOUT.gather(np.full(LAYOUT.shape, 4.0))
    np.testing.assert_array_equal(gradient, expected)


@pytest.mark.parametrize("pfor", [True, False])
def test_jacobian_and_hessian(pfor):
    x, blocks = normal(2, 3), normal(SMALL.nnz, 2, 3, seed=1)
    results = []
    for module in (ops, reference):
        with tf.GradientTape(persistent=True) as outer:
            outer.watch([x, blocks])
            with tf.GradientTape() as tape:
                tape.watch(blocks)
                y = module.matmul(x, blocks, SMALL)
                loss = tf.reduce_sum(tf.tanh(y))
            gradient = tape.gradient(loss, blocks)
        results.append(
            [
                outer.jacobian(y, x, experimental_use_pfor=pfor),
                outer.jacobian(y, blocks, experimental_use_pfor=pfor),
                outer.jacobian(gradient, blocks, experimental_use_pfor=pfor),
                outer.batch_jacobian(y, x, experimental_use_pfor=pfor),
            ]
        )
    for actual, expected in zip(*results, strict=True):
        np.testing.assert_allclose(actual, expected, atol=1e-12)


@pytest.mark.parametrize("activation", [None, "gelu"])
def test_forward_mode(activation):
    inputs = [normal(2, 3), normal(SMALL.nnz, 2, 3), normal(8)]
    tangents = [normal(*value.shape, seed=9) for value in inputs]
    results = []
    for module in (ops, reference):
        with tf.autodiff.ForwardAccumulator(inputs, tangents) as accumulator:
            x, blocks, bias = inputs
            y = module.matmul(
                x, blocks, SMALL, bias=bias, activation=activation
            )
            tall = module.sampled_matmul(x, y, SMALL)
        results.append([accumulator.jvp(y), accumulator.jvp(tall)])
    for actual, expected in zip(*results, strict=True):
        np.testing.assert_allclose(actual, expected, atol=1e-12)


def test_finite_differences():
    inputs = [normal(2, 3), normal(SMALL.nnz, 2, 3), normal(8)]
    analytic, numeric = tf.test.compute_gradient(
        lambda x, blocks, bias: ops.matmul(
            x, blocks, SMALL, bias=bias, activation="gelu"
        ),
        inputs,
        delta=1e-5,
    )
    for a, n in zip(analytic, numeric, strict=True):
        np.testing.assert_allclose(a, n, atol=1e-8)


@pytest.mark.parametrize("activation", [None, "relu", "silu"])
def test_no_rows(activation):
    x = tf.Variable(tf.zeros([0, 3]))
    blocks = tf.Variable(tf.ones([SMALL.nnz, 2, 3]))
    bias = tf.Variable(tf.ones([8]))
    with tf.GradientTape() as tape:
        y = ops.matmul(x, blocks, SMALL, bias=bias, activation=activation)
    dx, dblocks, dbias = tape.gradient(y, [x, blocks, bias])
    assert dx.shape == [0, 3]
    np.testing.assert_array_equal(dblocks, tf.zeros_like(blocks))
    np.testing.assert_array_equal(dbias, tf.zeros_like(bias))


@pytest.mark.parametrize("axis", [-1, 0])
def test_unknown_shapes(axis):
    layout = LayoutTensor(SMALL.packed, SMALL.shape, SMALL.block_size)

    @tf.function(
        input_signature=[
            tf.TensorSpec(None, tf.float64),
            tf.TensorSpec(None, tf.float64),
            tf.TensorSpec(None, tf.float64),
        ]
    )
    def gradients(x, blocks, bias):
        y = ops.matmul(
            x,
            blocks,
            layout,
            bias=bias,
            activation="tanh",
            feature_axis=axis,
        )
        return tf.gradients(y, [x, blocks, bias])

    x = normal(2, 4, 3) if axis else normal(3, 2, 4)
    blocks, bias = normal(SMALL.nnz, 2, 3), normal(8)
    with tf.GradientTape() as tape:
        tape.watch([x, blocks, bias])
        y = reference.matmul(
            x,
            blocks,
            SMALL,
            bias=bias,
            activation="tanh",
            feature_axis=axis,
        )
    expected = tape.gradient(y, [x, blocks, bias])
    for a, e in zip(gradients(x, blocks, bias), expected, strict=True):
        np.testing.assert_allclose(a, e, atol=1e-12)


def test_while_loop():
    layout = BlockLayout.random((12, 12), 4, sparsity=0.5, seed=0)
    x, blocks = normal(2, 12), 0.3 * normal(layout.nnz, 4, 4)

    @tf.function
    def gradients(module, x, blocks):
        with tf.GradientTape() as tape:
            tape.watch([x, blocks])
            _, y = tf.while_loop(
                lambda i, x: i < 4,
                lambda i, x: (
                    i + 1,
                    module.matmul(x, blocks, layout, activation="silu"),
                ),
                [0, x],
            )
        return tape.gradient(y, [x, blocks])

    actual = gradients(ops, x, blocks)
    expected = gradients(reference, x, blocks)
    for a, e in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, e, atol=1e-12)


def test_one_weight_many_times():
    """A recurrent weight: its gradients add up."""
    blocks = tf.Variable(normal(SMALL.nnz, 2, 3))
    xs = normal(8, 2, 3)
    with tf.GradientTape(persistent=True) as tape:
        steps = [ops.matmul(x, blocks, SMALL) for x in xs]
        total = tf.add_n(steps)
    together = tape.gradient(total, blocks)
    single = [tape.gradient(step, blocks) for step in steps]
    np.testing.assert_allclose(together, tf.add_n(single), atol=1e-12)


def test_only_what_is_asked_for():
    x, blocks = normal(2, 3), tf.Variable(normal(SMALL.nnz, 2, 3))
    with tf.GradientTape() as tape:
        y = ops.matmul(x, blocks, SMALL)
    dx, dblocks = tape.gradient(y, [x, blocks])
    assert dx is None
    assert dblocks.shape == blocks.shape


def test_many_threads():
    blocks = tf.Variable(normal(SMALL.nnz, 2, 3))

    def gradient(seed):
        with tf.GradientTape() as tape:
            y = ops.matmul(normal(5, 3, seed=seed), blocks, SMALL)
        return tape.gradient(y, blocks).numpy()

    expected = [gradient(seed) for seed in range(50)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        actual = list(pool.map(gradient, range(50)))
    np.testing.assert_array_equal(actual, expected)


def test_refuses_blocks_without_a_static_size():
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def gradient(blocks):
        y = ops._library.library.blocksparse_matmul(
            tf.zeros([2, 3]), blocks, SMALL.packed, [], inputs=3, outputs=8
        )
        return tf.gradients(y, blocks)

    with pytest.raises(ValueError, match="expected a known block size"):
        gradient.get_concrete_function()
