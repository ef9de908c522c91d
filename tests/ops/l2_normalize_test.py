# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`ops.l2_normalize` against NumPy in float64, and its derivatives."""

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, LayoutTensor, ops, reference, testing

SIZES = [1, 4, (3, 5), (8, 16)]


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def dynamic(layout):
    return LayoutTensor(
        tf.Variable(layout.packed),
        layout.shape,
        layout.block_size,
        layout.taps,
    )


def kinds(block_size=(3, 5)):
    """Layouts of a matrix, shared by taps, and per tap; blocks of each."""
    matrix = testing.make_layout("random", block_size)
    taps = BlockLayout(normal(4, *matrix.grid) > 0.3, block_size, *matrix.shape)
    b_in, b_out = matrix.block_size
    return {
        "matrix": (matrix, normal(matrix.nnz, b_in, b_out)),
        "shared": (matrix, normal(matrix.nnz, 4, b_in, b_out)),
        "per tap": (taps, normal(taps.nnz, b_in, b_out)),
    }


def oracle(blocks, layout, gain=None, epsilon=1e-12):
    taps = blocks.shape[1] if blocks.ndim == 4 else layout.taps
    w = layout.to_dense(blocks, taps).astype(np.float64)
    sums = (w**2).reshape(-1, layout.outputs).sum(axis=0)
    w = w / np.sqrt(np.maximum(sums, epsilon))
    return layout.gather(w if gain is None else w * gain)


@pytest.mark.parametrize("with_gain", [False, True])
@pytest.mark.parametrize("block_size", SIZES)
@pytest.mark.parametrize("kind", testing.LAYOUT_KINDS)
def test_equals_numpy(kind, block_size, with_gain):
    layout = testing.make_layout(kind, block_size)
    blocks = normal(layout.nnz, *layout.block_size)
    gain = normal(layout.outputs) if with_gain else None
    expected = oracle(blocks, layout, gain)
    for which in (layout, dynamic(layout)):
        actual = ops.l2_normalize(blocks, which, gain)
        assert actual.dtype == tf.float64
        np.testing.assert_allclose(actual, expected, rtol=1e-13, atol=1e-15)
    actual = reference.l2_normalize(blocks, layout, gain)
    np.testing.assert_allclose(actual, expected, rtol=1e-13, atol=1e-15)


def test_exact_where_norms_are_whole_numbers():
    layout = BlockLayout([[1, 0], [1, 1]], 2)
    w = np.zeros((4, 4), np.float32)
    w[:, 0] = [2, 4, 5, 6]  # norm 9
    w[:, 1] = [1, 1, 1, 1]  # 2
    w[2:, 2] = [3, 4]  # 5
    expected = w / np.array([9, 2, 5, 1], np.float32)
    actual = layout.to_dense(ops.l2_normalize(layout.gather(w), layout))
    np.testing.assert_allclose(actual, expected, rtol=2e-7)
    assert not actual[:, 3].any()


@pytest.mark.parametrize("kind", ["matrix", "shared", "per tap"])
def test_kernels(kind):
    layout, blocks = kinds()[kind]
    gain = normal(layout.outputs)
    expected = oracle(blocks, layout, gain)
    for which in (layout, dynamic(layout)):
        actual = ops.l2_normalize(blocks, which, gain)
        np.testing.assert_allclose(actual, expected, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(
        reference.l2_normalize(blocks, layout, gain), expected, rtol=1e-12
    )


@pytest.mark.parametrize(
    ("dtype", "error"),
    [("float32", 3e-7), ("bfloat16", 2.0**-8), ("float16", 2.0**-10)],
)
def test_dtypes(dtype, error):
    # So many inputs that 16-bit sums of squares would stand still.
    layout = BlockLayout(np.ones((64, 2)), 16)
    blocks = tf.cast(normal(layout.nnz, 16, 16) + 3, dtype)
    gain = tf.constant(normal(layout.outputs), tf.float32)
    actual = ops.l2_normalize(blocks, layout, gain)
    assert actual.dtype == blocks.dtype
    exact = oracle(tf.cast(blocks, tf.float64).numpy(), layout, gain.numpy())
    np.testing.assert_allclose(
        tf.cast(actual, tf.float64), exact, rtol=error, atol=1e-7
    )
    same = ops.l2_normalize(blocks, layout, tf.cast(gain, tf.float64))
    np.testing.assert_array_equal(
        tf.cast(same, tf.float64), tf.cast(actual, tf.float64)
    )


@pytest.mark.parametrize("kind", ["matrix", "shared", "per tap"])
def test_entries_beyond_the_edge_are_ignored(kind):
    layout, blocks = kinds((3, 5))[kind]
    assert layout.inputs % 3
    assert layout.outputs % 5
    taps = blocks.shape[1] if blocks.ndim == 4 else layout.taps
    spatial = [] if taps is None else [taps]
    inside = layout.gather(np.ones([*spatial, *layout.shape])) == 1
    dirty = tf.constant(np.where(inside, blocks, np.nan))
    for which in (layout, dynamic(layout)):
        with tf.GradientTape() as tape:
            tape.watch(dirty)
            y = ops.l2_normalize(dirty, which)
            loss = tf.reduce_sum(y**3)
        np.testing.assert_array_equal(
            y, ops.l2_normalize(np.where(inside, blocks, 0), which)
        )
        gradient = tape.gradient(loss, dirty).numpy()
        assert np.isfinite(gradient).all()
        assert not gradient[~inside].any()
        assert gradient[inside].any()


def test_small_outputs_are_divided_by_epsilon():
    layout = BlockLayout(np.ones((1, 2)), 2)
    blocks = np.zeros((2, 2, 2), np.float32)
    blocks[0, 0, 0] = 1e-3
    blocks[1, 1, 1] = 10
    variable = tf.Variable(blocks)
    with tf.GradientTape() as tape:
        y = ops.l2_normalize(variable, layout, epsilon=0.25)
    expected = blocks.copy()
    expected[0] *= 2
    expected[1, 1, 1] = 1
    np.testing.assert_allclose(y, expected, rtol=1e-6)
    gradient = tape.gradient(y, variable).numpy()
    np.testing.assert_allclose(gradient[0], np.full((2, 2), 2), rtol=1e-6)
    with tf.GradientTape() as tape:
        y = ops.l2_normalize(tf.zeros_like(variable) * variable, layout)
    assert not np.any(y)
    assert np.isfinite(tape.gradient(y, variable)).all()


@pytest.mark.parametrize("kind", ["matrix", "shared", "per tap"])
def test_gradients_are_those_of_differences(kind):
    layout, blocks = kinds((2, 3))[kind]
    few = BlockLayout(layout.mask[..., :2, :2], (2, 3), inputs=3, outputs=5)
    blocks = tf.constant(blocks[: few.nnz])
    gain = tf.constant(normal(5, seed=1))
    theory, numbers = tf.test.compute_gradient(
        lambda blocks, gain: ops.l2_normalize(blocks, few, gain),
        [blocks, gain],
        delta=1e-5,
    )
    for one, other in zip(theory, numbers, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-7)


def test_two_orders():
    layout, blocks = kinds()["per tap"]
    gain = tf.constant(normal(layout.outputs))
    blocks = tf.constant(blocks)
    results = []
    for normalize, which in (
        (ops.l2_normalize, layout),
        (ops.l2_normalize, dynamic(layout)),
        (reference.l2_normalize, layout),
    ):
        values = [blocks, gain]
        with tf.GradientTape() as outer:
            outer.watch(values)
            with tf.GradientTape() as tape:
                tape.watch(values)
                loss = tf.reduce_sum(normalize(blocks, which, gain) ** 3)
            first = [
                tf.convert_to_tensor(g) for g in tape.gradient(loss, values)
            ]
            total = sum(tf.reduce_sum(g**2) for g in first)
        second = outer.gradient(total, values)
        results.append([*first, *map(tf.convert_to_tensor, second)])
    for *ours, theirs in zip(*results, strict=True):
        for actual in ours:
            np.testing.assert_allclose(actual, theirs, rtol=1e-9, atol=1e-11)


def test_in_a_graph_with_unknown_shapes():
    layout, blocks = kinds()["matrix"]
    signature = [tf.TensorSpec(None, tf.float64), tf.TensorSpec(None, tf.int32)]

    @tf.function(input_signature=signature)
    def normalize(blocks, packed):
        which = LayoutTensor(packed, layout.shape, layout.block_size)
        return ops.l2_normalize(blocks, which)

    shape = normalize.get_concrete_function().output_shapes
    assert shape.as_list() == [None, 3, 5]
    np.testing.assert_allclose(
        normalize(blocks, layout.packed), oracle(blocks, layout), atol=1e-14
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"layout\.packed"):
        normalize(blocks, layout.packed[:-1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"blocks": np.ones((3, 2, 2))}, r"blocks: got shape \(3, 2, 2\)"),
        ({"blocks": np.ones((4, 4))}, "blocks: got shape"),
        ({"blocks": np.ones((4, 2, 2), int)}, "blocks: got dtype int64"),
        ({"layout": np.eye(2)}, "layout: got ndarray"),
        ({"gain": np.ones(3)}, r"gain: got float.* expected .*\[4\]"),
        ({"gain": 2.0}, "gain: got float64 of shape"),
        ({"gain": tf.ones(4, tf.int32)}, "gain: got int32"),
        ({"epsilon": 0}, "epsilon: got int 0"),
        ({"epsilon": float("nan")}, "epsilon: got float nan"),
        ({"epsilon": None}, "epsilon: got None"),
        ({"epsilon": True}, "epsilon: got bool"),
    ],
)
def test_wrong_arguments(arguments, message):
    layout = BlockLayout(np.ones((2, 2)), 2)
    known = {"blocks": np.ones((4, 2, 2)), "layout": layout}
    with pytest.raises(ValueError, match=message):
        ops.l2_normalize(**{**known, **arguments})
