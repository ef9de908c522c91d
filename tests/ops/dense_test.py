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
