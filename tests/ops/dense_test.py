# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`ops.to_dense` and `ops.from_dense`, and their derivatives."""

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import LayoutTensor, ops, reference, testing

SIZES = [1, 4, (3, 5), (8, 16), 64]


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def dynamic(layout):
    return LayoutTensor(
        tf.Variable(layout.packed), layout.shape, layout.block_size
    )


@pytest.mark.parametrize("block_size", SIZES)
@pytest.mark.parametrize("kind", testing.LAYOUT_KINDS)
def test_equals_numpy(kind, block_size):
    layout = testing.make_layout(kind, block_size)
    blocks = normal(layout.nnz, *layout.block_size)
    w = normal(*layout.shape)
    for which in (layout, dynamic(layout)):
        np.testing.assert_array_equal(
            ops.to_dense(blocks, which), layout.to_dense(blocks)
        )
        np.testing.assert_array_equal(
            ops.from_dense(w, which), layout.gather(w)
        )
    np.testing.assert_array_equal(
        reference.to_dense(blocks, layout), layout.to_dense(blocks)
    )
    np.testing.assert_array_equal(
        reference.from_dense(w, layout), layout.gather(w)
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "bool"])
def test_any_dtype(dtype):
    layout = testing.make_layout("random", (3, 5))
    blocks = tf.cast(np.ones((layout.nnz, 3, 5)), dtype)
    w = ops.to_dense(blocks, layout)
    assert w.dtype == dtype
    again = ops.from_dense(w, layout)
    np.testing.assert_array_equal(
        tf.cast(again, tf.float64), layout.gather(np.ones(layout.shape))
    )


def test_padding_is_ignored():
    layout = testing.make_layout("full", (3, 5))
    inside = layout.gather(np.ones(layout.shape)) == 1
    blocks = tf.constant(np.where(inside, 1, np.nan))
    with tf.GradientTape() as tape:
        tape.watch(blocks)
        w = ops.to_dense(blocks, layout)
    np.testing.assert_array_equal(w, np.ones(layout.shape))
    np.testing.assert_array_equal(tape.gradient(w, blocks), inside)


def test_two_orders():
    layout = testing.make_layout("random", (3, 5))
    values = [
        tf.constant(normal(layout.nnz, 3, 5)),
        tf.constant(normal(*layout.shape)),
    ]
    for name, value in zip(("to_dense", "from_dense"), values, strict=True):
        results = []
        for module in (ops, reference):
            with tf.GradientTape() as outer:
                outer.watch(value)
                with tf.GradientTape() as tape:
                    tape.watch(value)
                    result = getattr(module, name)(value, layout)
                    loss = tf.reduce_sum(result**3)
                gradient = tape.gradient(loss, value)
            results.append([gradient, outer.gradient(gradient, value)])
        for actual, expected in zip(*results, strict=True):
            np.testing.assert_allclose(
                actual, tf.convert_to_tensor(expected), atol=1e-12
            )


@pytest.mark.parametrize("known", [False, True])
def test_static_shape(known):
    layout = testing.make_layout("random", (3, 5))
    nnz = layout.nnz if known else None

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None, None] if known else None),
            tf.TensorSpec([None, None] if known else None),
            tf.TensorSpec([layout.packed.size if known else None], tf.int32),
        ]
    )
    def convert(blocks, w, packed):
        which = LayoutTensor(packed, layout.shape, layout.block_size)
        return ops.to_dense(blocks, which), ops.from_dense(w, which)

    dense, blocks = convert.get_concrete_function().output_shapes
    assert dense.as_list() == list(layout.shape)
    assert blocks.as_list() == [nnz, 3, 5]
    w = normal(*layout.shape).astype(np.float32)
    dense, blocks = convert(layout.gather(w), w, layout.packed)
    np.testing.assert_array_equal(blocks, layout.gather(w))
    np.testing.assert_array_equal(dense, layout.to_dense(layout.gather(w)))


def damaged(part, at, value):
    """A packed layout with one number changed in one of its parts."""
    layout = testing.make_layout("full", (3, 5))
    packed = layout.packed.copy()
    rows, columns = layout.grid
    nnz = layout.nnz
    start = {
        "output_splits": 0,
        "input_index": columns + 1,
        "input_splits": columns + 1 + nnz,
        "output_index": columns + rows + 2 + nnz,
        "block_id": columns + rows + 2 + 2 * nnz,
    }[part]
    packed[start + at] = value
    return packed


# The full layout has 11 x 9 blocks. What a damage of the forward view says.
DAMAGES = [
    (("output_splits", 0, 1), "output_splits"),
    (("output_splits", 1, 10**9), "output_splits"),
    (("output_splits", 1, -1), "output_splits"),
    (("output_splits", 9, 98), "output_splits"),
    (("input_index", 0, -1), "input_index"),
    (("input_index", 0, 11), "input_index"),
    (("input_index", 98, 2**31 - 1), "input_index"),
    (("input_index", 0, 1), "within an output|each block once"),
    (("input_index", 0, 2), "within an output|each block once"),
]
UNREAD = [
    (("input_splits", 1, 8), "input_splits"),
    (("output_index", 0, 77), "output_index"),
    (("block_id", 0, 77), "block_id"),
]


def conversions(packed):
    """Both functions of a layout of a tensor, as functions without inputs."""
    layout = testing.make_layout("full", (3, 5))
    which = LayoutTensor(packed, layout.shape, layout.block_size)
    blocks = np.ones((layout.nnz, 3, 5), np.float32)
    w = np.ones(layout.shape, np.float32)
    return [
        lambda: ops.to_dense(blocks, which),
        lambda: ops.from_dense(w, which),
    ]


@pytest.mark.parametrize(("damage", "message"), DAMAGES + UNREAD)
def test_damaged_layout_with_a_value(damage, message):
    for packed in (damaged(*damage), tf.Variable(damaged(*damage))):
        for convert in conversions(packed):
            with pytest.raises(ValueError, match=f"packed: got .*({message})"):
                convert()


def test_damaged_constant_of_a_graph():
    for convert in conversions(damaged("input_index", 0, 11)):
        with pytest.raises(ValueError, match="packed: got input_index"):
            tf.function(convert).get_concrete_function()


@pytest.mark.parametrize("length", [None, 11 + 9 + 2 + 3 * 99])
@pytest.mark.parametrize(("damage", "message"), DAMAGES)
def test_damaged_layout_of_a_graph(damage, message, length):
    signature = [tf.TensorSpec([length], tf.int32)]
    packed = damaged(*damage)
    for number in range(2):

        @tf.function(input_signature=signature)
        def convert(packed, number=number):
            return conversions(packed)[number]()

        convert(testing.make_layout("full", (3, 5)).packed)
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=f"layout.packed: got .*({message}).*expected a packed layout",
        ):
            convert(packed)


@pytest.mark.parametrize("change", [-1, 1])
def test_length_known_only_in_a_graph(change):
    packed = testing.make_layout("full", (3, 5)).packed
    packed = packed[:-1] if change < 0 else np.append(packed, 0)
    for number in range(2):

        @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
        def convert(packed, number=number):
            return conversions(packed)[number]()

        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"layout.packed: got a length other than 22 \+ 3 nnz",
        ):
            convert(np.int32(packed))


def test_checked_layout_in_loops_and_graphs():
    layout = testing.make_layout("random", (3, 5))
    blocks = normal(4, layout.nnz, 3, 5)
    expected = np.stack([layout.to_dense(each) for each in blocks])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
    def convert(packed):
        which = LayoutTensor(packed, layout.shape, layout.block_size)
        return tf.vectorized_map(
            lambda each: ops.to_dense(each, which), tf.constant(blocks)
        )

    np.testing.assert_array_equal(convert(layout.packed), expected)
    with tf.Graph().as_default() as graph:
        packed = tf.compat.v1.placeholder(tf.int32, [None])
        which = LayoutTensor(packed, layout.shape, layout.block_size)
        whole = ops.to_dense(blocks[0], which)
        with tf.compat.v1.Session(graph=graph) as session:
            value = session.run(whole, {packed: layout.packed})
            with pytest.raises(tf.errors.InvalidArgumentError, match="splits"):
                session.run(whole, {packed: layout.packed[::-1]})
    np.testing.assert_array_equal(value, expected[0])


def test_refuses():
    layout = testing.make_layout("random", (3, 5))
    with pytest.raises(ValueError, match="blocks: got shape"):
        ops.to_dense(np.zeros((1, 3, 5)), layout)
    with pytest.raises(ValueError, match="w: got shape"):
        ops.from_dense(np.zeros((3, 5)), layout)
    with pytest.raises(ValueError, match="layout: got str"):
        ops.to_dense(np.zeros((1, 3, 5)), "layout")
    with pytest.raises(ValueError, match="layout: got one without a value"):
        tf.function(
            lambda packed: reference.to_dense(
                np.zeros((1, 3, 5)), LayoutTensor(packed, (6, 5), (3, 5))
            )
        )(tf.zeros([8], tf.int32))
