# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The reference of convolutions, held to Keras, TensorFlow and loops."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, reference

SHARED = BlockLayout([[1, 0, 1], [1, 1, 0]], (2, 3), inputs=3, outputs=8)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def per_tap(taps):
    """A layout per tap of the same sizes."""
    mask = np.random.default_rng(taps).random((taps, 2, 3)) < 0.6
    return BlockLayout(mask, (2, 3), inputs=3, outputs=8)


def blocks_of(layout, kernel):
    taps = int(np.prod(kernel))
    blocks = (
        normal(*layout.blocks_shape)
        if layout.taps
        else normal(layout.nnz, taps, *layout.block_size)
    )
    inside = layout.gather(np.ones((*kernel, *layout.shape)))
    return np.where(inside == 1, blocks, np.nan)


def windows_by_loops(x, kernel, strides, dilations, before, coarse):
    """The definition: what each tap sees, or None, for each coarse pixel."""
    for pixel in np.ndindex(*coarse):
        for number, tap in enumerate(np.ndindex(*kernel)):
            place = tuple(
                o * s + t * d - p
                for o, s, t, d, p in zip(
                    pixel, strides, tap, dilations, before, strict=True
                )
            )
            inside = all(0 <= i < n for i, n in zip(place, x, strict=True))
            if inside:
                yield pixel, number, place


# kernel, strides, dilations, padding, and zeros before.
EXPLICIT = [
    ((3,), (2,), (3,), "causal", (6,)),
    ((4,), (3,), (2,), "same_symmetric", (3,)),
    ((2,), (1,), (1,), ((4, 5),), (4,)),
    ((3, 2), (2, 3), (2, 3), 2, (2, 2)),
    ((1, 3), (3, 2), (1, 2), [0, (1, 2)], (0, 1)),
    ((2, 1, 3), (1, 2, 2), (2, 1, 2), "valid", (0, 0, 0)),
    ((2, 3), (2, 2), (2, 2), "same_symmetric", (1, 2)),
]


@pytest.mark.parametrize("kernel_case", EXPLICIT, ids=str)
@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
@pytest.mark.parametrize("tapped", [False, True])
def test_equals_loops(kernel_case, data_format, tapped):
    kernel, strides, dilations, padding, before = kernel_case
    sizes = (9, 8, 7)[: len(kernel)]
    layout = per_tap(int(np.prod(kernel))) if tapped else SHARED
    blocks = blocks_of(layout, kernel)
    w = layout.to_dense(blocks, kernel).reshape(-1, 3, 8)
    x = normal(2, *sizes, 3)
    options = {
        "strides": strides,
        "padding": padding,
        "dilation_rate": dilations,
        "data_format": data_format,
    }

    def put(value):
        if data_format == "channels_first":
            value = np.moveaxis(value, -1, 1)
        return tf.constant(value)

    def get(value):
        if data_format == "channels_first":
            value = np.moveaxis(value, 1, -1)
        return value

    y = get(reference.conv(put(x), blocks, layout, kernel, **options))
    coarse = y.shape[1:-1]
    pairs = list(
        windows_by_loops(sizes, kernel, strides, dilations, before, coarse)
    )
    expected = np.zeros((2, *coarse, 8))
    dkernel = np.zeros_like(w)
    back = np.zeros((2, *sizes, 8))
    for pixel, tap, place in pairs:
        o, i = (slice(None), *pixel), (slice(None), *place)
        expected[o] += x[i] @ w[tap]
        dkernel[tap] += x[i].T @ y[o]
    np.testing.assert_allclose(y, expected, atol=1e-12)
    sampled = reference.conv_sampled(put(x), put(y), layout, kernel, **options)
    np.testing.assert_allclose(
        sampled, layout.gather(dkernel.reshape(*kernel, 3, 8)), atol=1e-12
    )

    small = normal(2, *coarse, 3)
    for pixel, tap, place in pairs:
        back[(slice(None), *place)] += small[(slice(None), *pixel)] @ w[tap]
    z = reference.conv_transpose(
        put(small), blocks, layout, kernel, output_shape=sizes, **options
    )
    np.testing.assert_allclose(get(z), back, atol=1e-12)
    dkernel[:] = 0
    for pixel, tap, place in pairs:
        dkernel[tap] += (
            small[(slice(None), *pixel)].T @ back[(slice(None), *place)]
        )
    sampled = reference.conv_sampled(
        z, put(small), layout, kernel, transpose=True, **options
    )
    np.testing.assert_allclose(
        sampled, layout.gather(dkernel.reshape(*kernel, 3, 8)), atol=1e-11
    )


KERAS = [
    case
    for case in itertools.product(
        (1, 2, 3), (1, 2, 3, 5), (1, 2, 3), (1, 2), ("valid", "same")
    )
    if case[2] == 1 or case[3] == 1  # TensorFlow has not both
]


@pytest.mark.parametrize(
    ("rank", "size", "strides", "dilation", "padding"), KERAS
)
def test_equals_keras(rank, size, strides, dilation, padding):
    sizes = (12, 9, 10)[:rank]
    kernel = (size, *(2, 3)[: rank - 1])
    x = normal(2, *sizes, 3).astype(np.float32)
    blocks = blocks_of(SHARED, kernel).astype(np.float32)
    options = {
        "strides": strides,
        "padding": padding,
        "dilation_rate": dilation,
    }
    w = SHARED.to_dense(blocks, kernel)
    expected = keras.ops.conv(x, w, **options)
    for kernel_size in (kernel, *((size,) if rank == 1 else ())):
        y = reference.conv(x, blocks, SHARED, kernel_size, **options)
        np.testing.assert_allclose(y, expected, atol=1e-4)


TRANSPOSED = [
    (rank, size, strides, dilation, padding, extra)
    for rank, size, strides, dilation, padding in KERAS
    for extra in (None, 0, 1, 2)
    # TensorFlow can't dilate these.
    if rank < 3 and dilation == 1
    # A convolution comes back to the size of the input.
    if extra is None
    or (
        1 <= extra + size % 2 <= strides
        if padding == "same"
        else extra < strides
    )
]


@pytest.mark.parametrize(
    ("rank", "size", "strides", "dilation", "padding", "extra"), TRANSPOSED
)
def test_transposed_equals_keras(rank, size, strides, dilation, padding, extra):
    sizes = (5, 6)[:rank]
    kernel = (size,) * rank
    x = normal(2, *sizes, 3).astype(np.float32)
    blocks = blocks_of(SHARED, kernel).astype(np.float32)
    options = {
        "strides": strides,
        "padding": padding,
        "output_padding": extra,
    }
    w = np.swapaxes(SHARED.to_dense(blocks, kernel), -1, -2)
    expected = keras.ops.conv_transpose(x, w, **options)
    y = reference.conv_transpose(x, blocks, SHARED, kernel, **options)
    np.testing.assert_allclose(y, expected, atol=1e-4)
    again = reference.conv_transpose(
        x,
        blocks,
        SHARED,
        kernel,
        strides=strides,
        padding=padding,
        output_shape=y.shape[1:-1].as_list(),
    )
    np.testing.assert_array_equal(again, y)


def test_the_transposed_one_in_three_dimensions():
    kernel = (2, 3, 2)
    x = normal(2, 3, 4, 2, 3).astype(np.float32)
    blocks = blocks_of(SHARED, kernel).astype(np.float32)
    options = {"strides": (2, 1, 2), "padding": "same"}
    w = np.swapaxes(SHARED.to_dense(blocks, kernel), -1, -2)
    expected = keras.ops.conv_transpose(x, w, **options)
    y = reference.conv_transpose(x, blocks, SHARED, kernel, **options)
    np.testing.assert_allclose(y, expected, atol=1e-4)


@pytest.mark.parametrize("dilation", [1, 2])
def test_a_dilated_transposed_one_is_the_gradient(dilation):
    y = tf.constant(normal(2, 6, 5, 8))
    layout = SHARED.transpose()
    kernel = (3, 2)
    blocks = blocks_of(layout, kernel)
    w = np.swapaxes(layout.to_dense(blocks, kernel), -1, -2)
    for padding in ("VALID", "SAME"):
        options = {
            "padding": padding.lower(),
            "dilation_rate": dilation,
        }
        z = reference.conv_transpose(y, blocks, layout, kernel, **options)
        x = tf.zeros(z.shape, tf.float64)
        with tf.GradientTape() as tape:
            tape.watch(x)
            same = tf.nn.convolution(x, w, padding=padding, dilations=dilation)
            loss = tf.reduce_sum(same * y)
        np.testing.assert_allclose(z, tape.gradient(loss, x), atol=1e-12)


def test_output_padding_and_symmetric_padding():
    def sizes(size, **options):
        x = tf.zeros([1, size, 3])
        blocks = tf.zeros([SHARED.nnz, 3, 2, 3])
        y = reference.conv_transpose(x, blocks, SHARED, 3, **options)
        return y.shape[1]

    assert sizes(4, strides=2, padding=1) == 7
    assert sizes(4, strides=2, padding=1, output_padding=1) == 8
    assert sizes(4, strides=2, padding="same_symmetric") == 8
    assert sizes(4, strides=4, padding="valid") == 16
    assert sizes(4, strides=2, padding="causal") == 7
    assert sizes(4, strides=2, padding="same", output_shape=7) == 7


def test_nothing_to_see():
    kernel, blocks = (3, 3), tf.zeros([SHARED.nnz, 9, 2, 3])
    for shape in ([0, 4, 4, 3], [1, 0, 4, 3], [1, 2, 2, 3]):
        y = reference.conv(tf.zeros(shape), blocks, SHARED, kernel)
        assert y.shape == [shape[0], *(max(s - 2, 0) for s in shape[1:3]), 8]
        dblocks = reference.conv_sampled(tf.zeros(shape), y, SHARED, kernel)
        assert not np.any(dblocks)
    y = reference.conv_transpose(tf.zeros([0, 4, 4, 3]), blocks, SHARED, kernel)
    assert y.shape == [0, 6, 6, 8]


@pytest.mark.parametrize("tapped", [False, True])
def test_gate_bias_and_activation(tapped):
    kernel = (2, 3)
    layout = per_tap(6) if tapped else SHARED
    blocks = blocks_of(layout, kernel)
    blocks[0] = np.nan
    gate = normal(layout.nnz)
    gate[0] = 0
    bias = normal(8)
    x = normal(2, 5, 4, 3)
    scale = gate.reshape(-1, *[1] * (blocks.ndim - 1))
    scaled = np.where(scale == 0, 0, blocks * scale)
    for function in (reference.conv, reference.conv_transpose):
        for data_format in ("channels_last", "channels_first"):
            seen = x if data_format == "channels_last" else np.moveaxis(x, 3, 1)
            y = function(
                seen,
                blocks,
                layout,
                kernel,
                gate=gate,
                bias=bias,
                activation="tanh",
                data_format=data_format,
            )
            expected = np.tanh(function(x, scaled, layout, kernel) + bias)
            if data_format == "channels_first":
                expected = np.moveaxis(expected, 3, 1)
            np.testing.assert_allclose(y, expected, atol=1e-12)
    y = reference.conv(x, blocks, layout, kernel, gate=gate != 0)
    assert np.all(np.isfinite(y))


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("tapped", [False, True])
def test_derivatives(adjoint, tapped):
    """dx is the other one with transposed blocks, dblocks the sampled one."""
    kernel = (2, 3)
    layout = per_tap(6) if tapped else SHARED
    blocks = tf.constant(blocks_of(layout, kernel))
    options = {"strides": 2, "dilation_rate": (1, 2), "padding": ((1, 0), 2)}
    x = tf.constant(normal(2, 5, 4, 3))
    function = reference.conv_transpose if adjoint else reference.conv
    with tf.GradientTape(persistent=True) as outer:
        outer.watch([x, blocks])
        with tf.GradientTape() as tape:
            tape.watch([x, blocks])
            y = function(x, blocks, layout, kernel, **options)
            dy = normal(*y.shape, seed=1)
            loss = tf.reduce_sum(y * dy)
        dx, dblocks = tape.gradient(loss, [x, blocks])
        second = tf.reduce_sum(dx**2)
    turned = layout.transpose()
    turned_blocks = turned.gather(
        np.swapaxes(layout.to_dense(blocks, kernel), -1, -2)
    )
    if adjoint:
        expected = reference.conv(dy, turned_blocks, turned, kernel, **options)
    else:
        expected = reference.conv_transpose(
            dy, turned_blocks, turned, kernel, output_shape=(5, 4), **options
        )
    np.testing.assert_allclose(dx, expected, atol=1e-12)
    fine, coarse = (dy, x) if adjoint else (x, dy)
    sampled = reference.conv_sampled(
        fine, coarse, layout, kernel, transpose=adjoint, **options
    )
    np.testing.assert_allclose(dblocks, sampled, atol=1e-12)
    assert np.any(outer.gradient(second, blocks))
