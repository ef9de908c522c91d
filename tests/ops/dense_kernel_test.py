# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`ops.to_dense` and `ops.from_dense` of kernels, and layouts per tap."""

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, LayoutTensor, ops, reference, testing

KERNELS = [(1,), (3,), (2, 3), (3, 1, 2)]
SIZES = [4, (8, 16), 32]


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def dynamic(layout):
    return LayoutTensor(
        tf.Variable(layout.packed),
        layout.shape,
        layout.block_size,
        layout.taps,
    )


def taps_of(kernel, per_tap):
    return int(np.prod(kernel)) if per_tap else None


@pytest.mark.parametrize("per_tap", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("block_size", SIZES)
@pytest.mark.parametrize("kind", ["random", "gaps", "one", "none"])
def test_equals_numpy(kind, block_size, kernel, per_tap):
    taps = taps_of(kernel, per_tap)
    layout = testing.make_conv_layout(kind, block_size, taps)
    w = normal(*kernel, *layout.shape)
    blocks = layout.gather(w)
    expected = layout.to_dense(blocks, kernel)
    for module, which in (
        (ops, layout),
        (ops, dynamic(layout)),
        (reference, layout),
    ):
        cut = module.from_dense(w, which)
        np.testing.assert_array_equal(cut, blocks)
        whole = module.to_dense(blocks, which, kernel)
        np.testing.assert_array_equal(whole, expected)
    if len(kernel) == 1:
        whole = ops.to_dense(blocks, layout, kernel[0])
        np.testing.assert_array_equal(whole, expected)


@pytest.mark.parametrize("per_tap", [False, True])
def test_padding_is_ignored(per_tap):
    layout = testing.make_conv_layout("full", 16, 6 if per_tap else None)
    inside = layout.gather(np.ones((2, 3, *layout.shape))) == 1
    blocks = tf.constant(np.where(inside, 1, np.nan))
    with tf.GradientTape() as tape:
        tape.watch(blocks)
        w = ops.to_dense(blocks, layout, (2, 3))
    np.testing.assert_array_equal(w, np.ones((2, 3, *layout.shape)))
    np.testing.assert_array_equal(tape.gradient(w, blocks), inside)


@pytest.mark.parametrize("per_tap", [False, True])
def test_two_orders(per_tap):
    layout = testing.make_conv_layout("random", 4, 6 if per_tap else None)
    w = normal(2, 3, *layout.shape)
    for value, convert in (
        (layout.gather(w), lambda m, v: m.to_dense(v, layout, (2, 3))),
        (w, lambda m, v: m.from_dense(v, layout)),
    ):
        value = tf.constant(value)
        results = []
        for module in (ops, reference):
            with tf.GradientTape() as outer:
                outer.watch(value)
                with tf.GradientTape() as tape:
                    tape.watch(value)
                    loss = tf.reduce_sum(convert(module, value) ** 3)
                gradient = tape.gradient(loss, value)
            results.append([gradient, outer.gradient(gradient, value)])
        for actual, expected in zip(*results, strict=True):
            np.testing.assert_allclose(
                actual, tf.convert_to_tensor(expected), atol=1e-12
            )


@pytest.mark.parametrize("per_tap", [False, True])
@pytest.mark.parametrize("known", [False, True])
def test_static_shape(known, per_tap):
    layout = testing.make_conv_layout("random", 4, 6 if per_tap else None)
    nnz = layout.nnz if known else None
    w = normal(2, 3, *layout.shape).astype(np.float32)
    blocks = layout.gather(w)

    @tf.function(
        input_signature=[
            tf.TensorSpec([None] * blocks.ndim if known else None),
            tf.TensorSpec([None, 3, None, None]),
            tf.TensorSpec([layout.packed.size if known else None], tf.int32),
        ]
    )
    def convert(blocks, w, packed):
        which = LayoutTensor(
            packed, layout.shape, layout.block_size, layout.taps
        )
        return ops.to_dense(blocks, which, (2, 3)), ops.from_dense(w, which)

    dense, cut = convert.get_concrete_function().output_shapes
    assert dense.as_list() == [2, 3, *layout.shape]
    assert cut.as_list() == [nnz, *([] if per_tap else [None]), 4, 4]
    dense, cut = convert(blocks, w, layout.packed)
    np.testing.assert_array_equal(cut, blocks)
    np.testing.assert_array_equal(dense, layout.to_dense(blocks, (2, 3)))


def test_a_weight_of_unknown_rank():
    for taps, shape in ((None, []), (6, [2, 3])):
        layout = testing.make_conv_layout("random", 4, taps)
        w = normal(*shape, *layout.shape)
        cut = tf.function(
            lambda w, layout=layout: ops.from_dense(w, layout),
            input_signature=[tf.TensorSpec(None, tf.float64)],
        )
        np.testing.assert_array_equal(cut(w), layout.gather(w))


def test_a_damaged_layout_per_tap():
    layout = testing.make_conv_layout("full", 16, 6)
    rows, columns = layout.packed_grid
    w = normal(2, 3, *layout.shape)
    damaged = layout.packed.copy()
    damaged[columns + 1] = rows
    with pytest.raises(ValueError, match=r"input_index\[0\]"):
        ops.from_dense(w, LayoutTensor(damaged, layout.shape, 16, 6))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
    def cut(packed):
        return ops.from_dense(w, LayoutTensor(packed, layout.shape, 16, 6))

    np.testing.assert_array_equal(cut(layout.packed), layout.gather(w))
    with pytest.raises(tf.errors.InvalidArgumentError, match="input_index"):
        cut(damaged)


_TAPS = BlockLayout(np.ones((2, 2, 2)), 4)
_MATRIX = BlockLayout(np.ones((2, 2)), 4)
_TENSOR = LayoutTensor(_TAPS.packed, (8, 8), 4, 2)
_ROWS = tf.ones([3, 8])

WRONG = [
    (lambda: ops.to_dense(tf.ones([8, 4, 4]), _TAPS), "kernel_size: got None"),
    (lambda: ops.to_dense(tf.ones([8, 4, 4]), _TAPS, 3), "expected 2 taps"),
    (lambda: ops.to_dense(tf.ones([7, 4, 4]), _TAPS, 2), "blocks: got shape"),
    (
        lambda: ops.to_dense(tf.ones([4, 2, 4, 4]), _MATRIX),
        "kernel_size: got None with blocks of shape",
    ),
    (
        lambda: ops.to_dense(tf.ones([4, 2, 4, 4]), _MATRIX, 3),
        r"blocks: got shape \(4, 2, 4, 4\), expected \[4, 3, 4, 4\] \[nnz, tap",
    ),
    (lambda: ops.to_dense(tf.ones([4, 4, 4]), _MATRIX, 1), "blocks: got shap"),
    (lambda: ops.from_dense(tf.ones([8, 8]), _TAPS), r"expected \[2 taps, 8"),
    (lambda: ops.from_dense(tf.ones([3, 8, 8]), _TAPS), "w: got shape"),
    (lambda: ops.from_dense(tf.ones([0, 8, 8]), _MATRIX), "w: got shape"),
    (lambda: ops.from_dense(tf.ones([2, 7, 8]), _MATRIX), "w: got shape"),
    (lambda: ops.from_dense(tf.ones([8]), _MATRIX), "w: got shape"),
    (
        lambda: ops.matmul(_ROWS, tf.ones([8, 4, 4]), _TAPS),
        "layout: got one for each of 2 taps, expected that of a matrix",
    ),
    (
        lambda: ops.matmul(_ROWS, tf.ones([8, 4, 4]), _TENSOR),
        "layout: got one for each of 2 taps, expected that of a matrix",
    ),
    (
        lambda: ops.sampled_matmul(_ROWS, _ROWS, _TAPS),
        "layout: got one for each of 2 taps, expected that of a matrix",
    ),
    (
        lambda: ops.from_dense(
            tf.ones([2, 8, 8]), LayoutTensor(_TAPS.packed, (8, 8), 4, 0)
        ),
        "layout.taps: got int 0",
    ),
    (
        lambda: ops.from_dense(
            tf.ones([3, 8, 8]), LayoutTensor(_TAPS.packed, (8, 8), 4, 3)
        ),
        r"layout.packed: got 32 numbers, expected 10 \+ 3 nnz .* and 3 taps",
    ),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()
