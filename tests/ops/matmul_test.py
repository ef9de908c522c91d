# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`ops.matmul` forward: values, shapes, what it takes, where it runs."""

import concurrent.futures
import gc
import weakref

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, LayoutTensor, ops, reference, testing

LAYOUT = testing.make_layout("random", (3, 5))
INPUTS, OUTPUTS = LAYOUT.shape


def normal(*shape, dtype="float32", seed=0):
    values = np.random.default_rng(seed).standard_normal(shape)
    return tf.constant(values, dtype)


BLOCKS = normal(LAYOUT.nnz, 3, 5)


def run(problem, function, x, blocks):
    return function(
        x,
        blocks,
        problem.layout,
        transpose=problem.transpose,
        feature_axis=problem.feature_axis,
    )


def check_exact(problem):
    x, blocks, _ = problem.integers()
    y = run(problem, ops.matmul, x, blocks)
    wide = [tf.cast(value, tf.float64) for value in (x, blocks)]
    expected = run(problem, reference.matmul, *wide)
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(tf.cast(y, tf.float64), expected, problem)


def check_close(problem):
    x, blocks, _ = problem.normals()
    wide = [tf.cast(value, tf.float64) for value in (x, blocks)]
    expected = run(problem, reference.matmul, *wide)
    magnitude = run(problem, reference.matmul, *map(tf.abs, wide))
    length = problem.layout.shape[1 if problem.transpose else 0]
    y = run(problem, ops.matmul, x, blocks)
    testing.assert_close(y, expected, length, magnitude)


@pytest.mark.parametrize("problem", testing.problems(stride=101), ids=str)
def test_integers_are_exact(problem):
    check_exact(problem)


@pytest.mark.complete
@pytest.mark.parametrize("kind", testing.LAYOUT_KINDS)
def test_integers_are_exact_everywhere(kind):
    for problem in testing.problems():
        if problem.kind == kind:
            check_exact(problem)


@pytest.mark.parametrize("problem", testing.problems(stride=211), ids=str)
def test_sums_are_close(problem):
    check_close(problem)


@pytest.mark.complete
@pytest.mark.parametrize("kind", testing.LAYOUT_KINDS)
def test_sums_are_close_everywhere(kind):
    for problem in testing.problems():
        if problem.kind == kind:
            check_close(problem)


@pytest.mark.parametrize("axis", [-1, 0])
@pytest.mark.parametrize(
    "rows", [(), (4,), (2, 3), (2, 3, 2), (1, 2, 3, 2), (0,), (3, 0, 2)]
)
def test_rank(rows, axis):
    x = normal(*rows, INPUTS) if axis else normal(INPUTS, *rows)
    y = ops.matmul(x, BLOCKS, LAYOUT, feature_axis=axis)
    assert y.shape == ((*rows, OUTPUTS) if axis else (OUTPUTS, *rows))
    expected = reference.matmul(x, BLOCKS, LAYOUT, feature_axis=axis)
    np.testing.assert_allclose(y, expected, atol=1e-5)


def test_last_axis_by_its_number():
    x = normal(2, 4, INPUTS)
    expected = ops.matmul(x, BLOCKS, LAYOUT)
    y = ops.matmul(x, BLOCKS, LAYOUT, feature_axis=2)
    np.testing.assert_array_equal(y, expected)
    y = ops.matmul(tf.transpose(x, [2, 0, 1]), BLOCKS, LAYOUT, feature_axis=-3)
    np.testing.assert_array_equal(tf.transpose(y, [1, 2, 0]), expected)


@pytest.mark.parametrize("axis", [-1, 0])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("static", [True, False])
def test_static_shape(axis, known, static):
    rows = [None, 4]
    shape = [*rows, INPUTS] if axis else [INPUTS, *rows]

    @tf.function(
        input_signature=[
            tf.TensorSpec(shape if known else None),
            tf.TensorSpec([None, 3, 5] if known else None),
            tf.TensorSpec([None], tf.int32),
        ]
    )
    def product(x, blocks, packed):
        dynamic = LayoutTensor(packed, LAYOUT.shape, LAYOUT.block_size)
        layout = LAYOUT if static else dynamic
        return ops.matmul(x, blocks, layout, feature_axis=axis)

    expected = [*rows, OUTPUTS] if axis else [OUTPUTS, *rows]
    shape = product.get_concrete_function().output_shapes
    assert shape.as_list() == expected if known else shape.rank is None
    x = normal(2, 4, INPUTS) if axis else normal(INPUTS, 2, 4)
    y = product(x, BLOCKS, LAYOUT.packed)
    assert y.shape == ([2, 4, OUTPUTS] if axis else [OUTPUTS, 2, 4])


def test_shape_function_reads_the_layout_length():
    library = ops._library.library
    x, blocks = tf.TensorSpec([None, 8]), tf.TensorSpec([3, 4, 4])

    @tf.function(input_signature=[x, blocks, tf.TensorSpec([5], tf.int32)])
    def product(x, blocks, packed):
        return library.blocksparse_matmul(
            x, blocks, packed, [], inputs=8, outputs=8
        )

    with pytest.raises(ValueError, match="layout has 5 numbers, expected 15"):
        product.get_concrete_function()


@pytest.mark.parametrize("convert", [np.asarray, np.ndarray.tolist])
def test_takes_arrays_and_lists(convert):
    x = convert(np.arange(2 * INPUTS).reshape(2, INPUTS) % 7)
    blocks = tf.cast(BLOCKS, tf.float64)
    y = ops.matmul(x, blocks, LAYOUT)
    assert y.dtype == tf.float64
    expected = reference.matmul(tf.constant(x, tf.float64), blocks, LAYOUT)
    np.testing.assert_allclose(y, expected)
    assert ops.matmul(normal(2, INPUTS), BLOCKS.numpy(), LAYOUT).shape[0] == 2


def test_takes_variables():
    x = tf.Variable(normal(2, INPUTS))
    y = ops.matmul(x, tf.Variable(BLOCKS), LAYOUT)
    np.testing.assert_array_equal(y, ops.matmul(x.value(), BLOCKS, LAYOUT))


def test_layout_tensor_changes_without_a_new_trace():
    traces = []

    @tf.function
    def product(x, blocks, packed):
        traces.append(1)
        layout = LayoutTensor(packed, LAYOUT.shape, LAYOUT.block_size)
        return ops.matmul(x, blocks, layout)

    packed = tf.Variable(LAYOUT.packed)
    other = BlockLayout(
        np.roll(LAYOUT.mask, 1, axis=0), LAYOUT.block_size, *LAYOUT.shape
    )
    assert other != LAYOUT
    x = normal(2, INPUTS)
    for layout in (LAYOUT, other):
        packed.assign(layout.packed)
        y = product(x, BLOCKS, packed)
        expected = reference.matmul(x, BLOCKS, layout)
        np.testing.assert_allclose(y, expected, atol=1e-5)
    assert len(traces) == 1


def test_one_layout_in_eager_mode_and_many_graphs():
    x = normal(2, INPUTS)
    expected = ops.matmul(x, BLOCKS, LAYOUT)

    def product(x):
        with tf.init_scope():
            outside = ops.matmul(normal(2, INPUTS), BLOCKS, LAYOUT)
        return ops.matmul(x, BLOCKS, LAYOUT) + outside

    for function in (tf.function(product), tf.function(product)):
        np.testing.assert_array_equal(function(x), 2 * expected)
    with tf.Graph().as_default() as graph:
        y = ops.matmul(x.numpy(), BLOCKS.numpy(), LAYOUT)
        with tf.compat.v1.Session(graph=graph) as session:
            np.testing.assert_array_equal(session.run(y), expected)
    np.testing.assert_array_equal(ops.matmul(x, BLOCKS, LAYOUT), expected)


def test_layouts_are_not_kept_alive():
    layout = BlockLayout.random((16, 16), 4, sparsity=0.5, seed=3)
    ops.matmul(np.ones((2, 16)), np.ones((layout.nnz, 4, 4)), layout)
    watched = weakref.ref(layout)
    del layout
    gc.collect()
    assert watched() is None


def test_while_loop():
    layout = BlockLayout.random((16, 16), 4, sparsity=0.5, seed=0)
    blocks = 0.1 * normal(layout.nnz, 4, 4)

    @tf.function
    def power(x):
        return tf.while_loop(
            lambda i, x: i < 3,
            lambda i, x: (i + 1, ops.matmul(x, blocks, layout)),
            [0, x],
        )[1]

    x = normal(2, 16)
    dense = layout.to_dense(blocks.numpy())
    expected = x.numpy() @ dense @ dense @ dense
    np.testing.assert_allclose(power(x), expected, atol=1e-5)


def test_vectorized_map():
    x = normal(3, 2, INPUTS)
    y = tf.vectorized_map(lambda x: ops.matmul(x, BLOCKS, LAYOUT), x)
    expected = ops.matmul(x, BLOCKS, LAYOUT)
    np.testing.assert_allclose(y, expected, atol=1e-5)


def test_many_threads_in_one_op():
    xs = [normal(33, INPUTS, seed=seed) for seed in range(16)]
    product = tf.function(lambda x: ops.matmul(x, BLOCKS, LAYOUT))
    expected = [product(x).numpy() for x in xs]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for function in (product, lambda x: ops.matmul(x, BLOCKS, LAYOUT)):
            for y, e in zip(
                pool.map(function, xs * 20), expected * 20, strict=True
            ):
                np.testing.assert_array_equal(y, e)


X = np.zeros((2, INPUTS), np.float32)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": X[:, 1:]}, "x: got shape .*expected 32 features along axis -1"),
        ({"x": np.float32(1)}, "x: got a scalar"),
        ({"blocks": np.zeros((3, 5))}, "blocks: got shape"),
        ({"blocks": np.zeros((1, 3, 5))}, "blocks: got shape"),
        ({"blocks": np.zeros((LAYOUT.nnz, 5, 3))}, "blocks: got shape"),
        ({"gate": np.zeros(3, np.float32)}, "gate: got shape"),
        ({"gate": np.zeros(LAYOUT.nnz, np.int32)}, "gate: got dtype int32"),
        ({"bias": np.zeros(3)}, "bias: got shape"),
        ({"bias": tf.zeros(OUTPUTS, tf.float64)}, "bias: got dtype float64"),
        ({"feature_axis": 2}, "feature_axis: got int 2"),
        ({"feature_axis": "last"}, "feature_axis: got str 'last'"),
        ({"feature_axis": 0}, "along axis 0"),
        ({"layout": LAYOUT.mask}, "layout: got ndarray"),
        ({"layout": LayoutTensor(LAYOUT.packed, (3,), 4)}, "layout.shape"),
        (
            {"layout": LayoutTensor(LAYOUT.packed, (8, 8), 999)},
            "block_size: got int 999",
        ),
        (
            {"layout": LayoutTensor(LAYOUT.packed[1:], LAYOUT.shape, (3, 5))},
            "layout.packed: got .* numbers",
        ),
        (
            {"layout": LayoutTensor(tf.zeros([9]), LAYOUT.shape, (3, 5))},
            "layout.packed: got float32",
        ),
        ({"activation": "no such"}, "no such"),
        ({"transpose": 1}, "transpose: got int 1, expected True or False"),
        ({"transpose": "yes"}, "transpose: got str 'yes'"),
        ({"transpose": tf.constant(True)}, "transpose: got EagerTensor"),
        ({"transpose": None}, "transpose: got NoneType"),
    ],
)
def test_refuses(changes, message):
    arguments = {"x": X, "blocks": BLOCKS, "layout": LAYOUT, **changes}
    with pytest.raises(ValueError, match=message):
        ops.matmul(**arguments)


def no_tensors():
    """Values that are no dense tensor of numbers, with what to do."""
    dense = np.ones((2, INPUTS), np.float32)
    return [
        ("text", "pass a tensor, or an array"),
        ([["text"] * INPUTS], "pass a tensor, or an array"),
        (np.full((2, INPUTS), "text"), "pass a tensor, or an array"),
        (object(), "pass a tensor, or an array"),
        ([[1.0], [1.0, 2.0]], "pass a tensor, or an array"),
        (tf.sparse.from_dense(dense), "make it dense with tf.sparse.to_dense"),
        (
            tf.ragged.constant([[1.0], [1.0, 2.0]]),
            "make it dense with its to_tensor",
        ),
        (keras.KerasTensor((2, INPUTS)), "call the op inside of a layer"),
    ]


@pytest.mark.parametrize(("value", "advice"), no_tensors())
def test_refuses_what_is_no_tensor(value, advice):
    message = f"x: got {type(value).__name__} .*, expected a dense .*; {advice}"
    with pytest.raises(ValueError, match=f"^(?s:{message})"):
        ops.matmul(value, BLOCKS, LAYOUT)
    with pytest.raises(
        ValueError, match=f"^(?s:{message.replace('x', 'a', 1)})"
    ):
        ops.sampled_matmul(value, tf.ones([2, OUTPUTS]), LAYOUT)


@pytest.mark.parametrize("name", ["x", "blocks", "gate", "bias"])
@pytest.mark.parametrize(("value", "advice"), no_tensors()[4:])
def test_refuses_it_everywhere(name, value, advice):
    arguments = {"x": X, "blocks": BLOCKS, "layout": LAYOUT, name: value}
    with pytest.raises(ValueError, match=f"^(?s:{name}: got .*{advice})"):
        ops.matmul(**arguments)
    packed = LayoutTensor(value, LAYOUT.shape, LAYOUT.block_size)
    with pytest.raises(ValueError, match=f"layout.packed: got .*{advice}"):
        ops.matmul(X, BLOCKS, packed)
    with pytest.raises(ValueError, match=f"blocks: got .*{advice}"):
        ops.to_dense(value, LAYOUT)
    with pytest.raises(ValueError, match=f"w: got .*{advice}"):
        ops.from_dense(value, LAYOUT)


@pytest.mark.parametrize("name", ["x", "blocks", "gate", "bias"])
def test_refuses_text(name):
    shape = {
        "x": X.shape,
        "blocks": BLOCKS.shape,
        "gate": [LAYOUT.nnz],
        "bias": [OUTPUTS],
    }[name]
    arguments = {"x": X, "blocks": BLOCKS, "layout": LAYOUT}
    arguments[name] = tf.fill(shape, "text")
    with pytest.raises(ValueError, match=r"got .*string.*expected"):
        ops.matmul(**arguments)


def planted(blocks, layout):
    """Blocks of a problem, one of which a faulty kernel would forget."""
    forgotten = np.arange(layout.nnz) == layout.nnz // 2
    return tf.where(forgotten[:, None, None], tf.zeros_like(blocks), blocks)


@pytest.mark.parametrize("check", [check_exact, check_close])
@pytest.mark.parametrize("dtypes", testing.DTYPES, ids="-".join)
@pytest.mark.parametrize("transpose", [False, True])
def test_a_forgotten_block_is_found(monkeypatch, check, dtypes, transpose):
    correct = ops.matmul
    problem = testing.Problem("random", 8, 7, *dtypes, transpose, -1)
    check(problem)
    monkeypatch.setattr(
        ops,
        "matmul",
        lambda x, blocks, layout, **options: correct(
            x, planted(blocks, layout), layout, **options
        ),
    )
    with pytest.raises(AssertionError):
        check(problem)


def test_refuses_shapes_known_only_when_it_runs():
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def product(x):
        return ops.matmul(x, BLOCKS, LAYOUT)

    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"x has shape \[2,3\], expected 32 features along axis -1",
    ):
        product(tf.zeros([2, 3]))
