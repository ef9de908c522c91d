# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`ops.sampled_matmul` forward: values, shapes, what it takes."""

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import LayoutTensor, ops, reference, testing

LAYOUT = testing.make_layout("random", (3, 5))
INPUTS, OUTPUTS = LAYOUT.shape
# Only problems that x and dy of a plain product are a and b of.
TABLE = [
    problem
    for problem in testing.problems()
    if not problem.transpose and problem.x_dtype == problem.blocks_dtype
]


def normal(*shape, dtype="float32", seed=0):
    values = np.random.default_rng(seed).standard_normal(shape)
    return tf.constant(values, dtype)


def run(problem, function, a, b):
    return function(a, b, problem.layout, feature_axis=problem.feature_axis)


def check_exact(problem):
    a, _, b = problem.integers()
    blocks = run(problem, ops.sampled_matmul, a, b)
    wide = [tf.cast(value, tf.float64) for value in (a, b)]
    expected = run(problem, reference.sampled_matmul, *wide)
    assert blocks.dtype == a.dtype
    np.testing.assert_array_equal(tf.cast(blocks, tf.float64), expected)


def check_close(problem):
    a, _, b = problem.normals()
    wide = [tf.cast(value, tf.float64) for value in (a, b)]
    expected = run(problem, reference.sampled_matmul, *wide)
    magnitude = run(problem, reference.sampled_matmul, *map(tf.abs, wide))
    blocks = run(problem, ops.sampled_matmul, a, b)
    testing.assert_close(blocks, expected, problem.rows, magnitude)


@pytest.mark.parametrize("problem", TABLE[::53], ids=str)
def test_integers_are_exact(problem):
    check_exact(problem)


@pytest.mark.parametrize("problem", TABLE[::67], ids=str)
def test_sums_are_close(problem):
    check_close(problem)


@pytest.mark.complete
@pytest.mark.parametrize("check", [check_exact, check_close])
@pytest.mark.parametrize("kind", testing.LAYOUT_KINDS)
def test_everywhere(kind, check):
    for problem in TABLE:
        if problem.kind == kind:
            check(problem)


@pytest.mark.parametrize("check", [check_exact, check_close])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_a_forgotten_block_is_found(monkeypatch, check, dtype):
    correct = ops.sampled_matmul
    problem = testing.Problem("random", 8, 7, dtype, dtype, False, -1)
    check(problem)

    def faulty(a, b, layout, **options):
        blocks = correct(a, b, layout, **options)
        forgotten = np.arange(layout.nnz) == layout.nnz // 2
        return tf.where(forgotten[:, None, None], 0, blocks)

    monkeypatch.setattr(ops, "sampled_matmul", faulty)
    with pytest.raises(AssertionError):
        check(problem)


@pytest.mark.parametrize("rows", [255, 1000, 3000])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_many_rows(rows, dtype):
    a = tf.cast(normal(rows, INPUTS), dtype)
    b = tf.cast(normal(rows, OUTPUTS, seed=1), dtype)
    wide = [tf.cast(value, tf.float64) for value in (a, b)]
    expected = reference.sampled_matmul(*wide, LAYOUT)
    magnitude = reference.sampled_matmul(*map(tf.abs, wide), LAYOUT)
    blocks = ops.sampled_matmul(a, b, LAYOUT)
    testing.assert_close(blocks, expected, rows, magnitude)


@pytest.mark.parametrize("x_dtype", ["float32"])
@pytest.mark.parametrize("blocks_dtype", ["bfloat16", "float16"])
def test_rounds_to_16_bit_blocks(x_dtype, blocks_dtype):
    """As the gradient of 16-bit blocks beside a float32 x needs it."""
    a, b = normal(300, INPUTS), normal(300, OUTPUTS, seed=1)
    blocks = ops._library.library.blocksparse_sampled_matmul(
        a,
        b,
        LAYOUT.packed,
        [],
        Tb=blocks_dtype,
        inputs=INPUTS,
        outputs=OUTPUTS,
        block_size=LAYOUT.block_size,
    )
    assert blocks.dtype == blocks_dtype
    wide = [tf.cast(value, tf.float64) for value in (a, b)]
    expected = reference.sampled_matmul(*wide, LAYOUT)
    magnitude = reference.sampled_matmul(*map(tf.abs, wide), LAYOUT)
    testing.assert_close(blocks, expected, 300, magnitude)


@pytest.mark.parametrize("axis", [-1, 0])
@pytest.mark.parametrize("rows", [(), (4,), (2, 3), (2, 3, 2), (3, 0, 2)])
def test_rank(rows, axis):
    shapes = [(*rows, size) if axis else (size, *rows) for size in LAYOUT.shape]
    a, b = (normal(*shape) for shape in shapes)
    blocks = ops.sampled_matmul(a, b, LAYOUT, feature_axis=axis)
    expected = reference.sampled_matmul(a, b, LAYOUT, feature_axis=axis)
    np.testing.assert_allclose(blocks, expected, atol=1e-5)


def test_zeros_beyond_the_edge():
    blocks = ops.sampled_matmul(
        tf.ones([7, INPUTS]), tf.ones([7, OUTPUTS]), LAYOUT
    )
    expected = LAYOUT.gather(np.full(LAYOUT.shape, 7.0))
    assert (expected == 0).any()
    np.testing.assert_array_equal(blocks, expected)


@pytest.mark.parametrize("known", [False, True])
def test_static_shape(known):
    @tf.function(
        input_signature=[
            tf.TensorSpec([None, INPUTS] if known else None),
            tf.TensorSpec([None, OUTPUTS] if known else None),
            tf.TensorSpec([LAYOUT.packed.size if known else None], tf.int32),
        ]
    )
    def product(a, b, packed):
        layout = LayoutTensor(packed, LAYOUT.shape, LAYOUT.block_size)
        return ops.sampled_matmul(a, b, layout)

    shape = product.get_concrete_function().output_shapes
    assert shape.as_list() == [LAYOUT.nnz if known else None, 3, 5]


def test_takes_arrays_and_lists():
    a, b = normal(2, INPUTS, dtype="float64"), normal(2, OUTPUTS)
    blocks = ops.sampled_matmul(a, b.numpy().tolist(), LAYOUT)
    assert blocks.dtype == tf.float64
    blocks = ops.sampled_matmul(a.numpy().tolist(), b.numpy(), LAYOUT)
    assert blocks.dtype == tf.float32


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"a": tf.zeros([2, 3])}, "a: got shape"),
        ({"b": tf.zeros([2, 3])}, "b: got shape"),
        ({"b": tf.zeros([3, OUTPUTS])}, "a and b: got"),
        ({"b": tf.zeros([1, 2, OUTPUTS])}, "a and b: got"),
        ({"b": tf.zeros([2, OUTPUTS], tf.float64)}, "a and b: got"),
        ({"gate": [1.0]}, "gate: got shape"),
        ({"feature_axis": 1.0}, "feature_axis: got float 1.0"),
        ({"layout": None}, "layout: got NoneType None"),
    ],
)
def test_refuses(changes, message):
    arguments = {
        "a": tf.zeros([2, INPUTS]),
        "b": tf.zeros([2, OUTPUTS]),
        "layout": LAYOUT,
        **changes,
    }
    with pytest.raises(ValueError, match=message):
        ops.sampled_matmul(**arguments)
