# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`ops.conv` and its sisters forward: shapes, layouts, what they take."""

import concurrent.futures

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, LayoutTensor, ops, reference, testing

SHARED = testing.make_conv_layout("random", (3, 5))
PER_TAP = testing.make_conv_layout("random", (3, 5), taps=6)
INPUTS, OUTPUTS = SHARED.shape
KERNEL = (2, 3)


def normal(*shape, dtype="float32", seed=0):
    values = np.random.default_rng(seed).standard_normal(shape)
    return tf.constant(values, dtype)


def blocks_of(layout, taps=6, dtype="float32"):
    if layout.taps:
        return normal(*layout.blocks_shape, dtype=dtype)
    return normal(layout.nnz, taps, *layout.block_size, dtype=dtype)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
@pytest.mark.parametrize(
    ("batch", "sizes", "kernel", "padding"),
    [
        (0, (5, 4), 3, "same"),
        (2, (0, 4), 3, "same"),
        (2, (0, 4), 3, "valid"),
        (2, (2, 4), 3, "same"),
        (2, (1, 1), (5, 4), "same"),
        (1, (1, 1), 1, "valid"),
        (2, (2, 4), 3, 2),
        # Transposed, all of it is cut off.
        (2, (2, 4), 3, 7),
        (2, (0, 4), 3, 7),
        (1, (7, 1), (7, 1), "valid"),
        (3, (1,), 4, "causal"),
        (2, (9, 1, 1), (2, 1, 1), "valid"),
    ],
)
def test_sizes_that_are_odd(
    batch, sizes, kernel, padding, data_format, transposed
):
    """Nothing in a batch, less than a kernel, one pixel out."""
    taps = int(np.prod(np.broadcast_to(kernel, len(sizes))))
    first = data_format == "channels_first"
    shape = (batch, INPUTS, *sizes) if first else (batch, *sizes, INPUTS)
    x = normal(*shape, dtype="float64")
    inputs = [x, blocks_of(SHARED, taps, dtype="float64")]
    results = []
    for module in (ops, reference):
        function = module.conv_transpose if transposed else module.conv
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            y = function(
                *inputs,
                SHARED,
                kernel,
                padding=padding,
                data_format=data_format,
            )
            loss = tf.reduce_sum(y * y)
        results.append([y, *tape.gradient(loss, inputs)])
    for actual, expected in zip(*results, strict=True):
        assert actual.shape == expected.shape
        np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("padding", ["valid", "same"])
def test_smaller_than_the_kernel(padding, transposed):
    """A convolution of 2 pixels by 3 x 3 has none, the other way it has."""
    function = ops.conv_transpose if transposed else ops.conv
    y = function(
        tf.ones([2, 2, 5, INPUTS]),
        blocks_of(SHARED, 9),
        SHARED,
        3,
        padding=padding,
    )
    sizes = (2, 5) if padding == "same" else (4, 7) if transposed else (0, 3)
    assert y.shape == (2, *sizes, OUTPUTS)


@pytest.mark.parametrize("layout", [SHARED, PER_TAP], ids=["shared", "tap"])
@pytest.mark.parametrize("name", ["conv", "conv_transpose"])
def test_one_pixel_is_a_matmul(layout, name):
    """1 x 1 kernels, and kernels of which one tap meets the only pixel."""
    one = BlockLayout(
        layout.mask[0] if layout.taps else layout.mask,
        layout.block_size,
        *layout.shape,
    )
    x, blocks = normal(2, 4, 3, INPUTS), normal(one.nnz, 3, 5)
    y = getattr(ops, name)(x, blocks[:, None], one, 1)
    np.testing.assert_allclose(y, ops.matmul(x, blocks, one), atol=1e-4)


def test_channels_without_blocks_are_zero():
    """An input and an output channel block, and a tap, without blocks."""
    for taps in (None, 9):
        layout = testing.make_conv_layout("gaps", 8, taps=taps)
        blocks = blocks_of(layout, 9)
        x = normal(2, 5, 5, layout.inputs)
        for name in ("conv", "conv_transpose"):
            function = getattr(ops, name)
            y = function(x, blocks, layout, 3, padding="same")
            expected = getattr(reference, name)(
                x, blocks, layout, 3, padding="same"
            )
            np.testing.assert_allclose(y, expected, atol=1e-4)
            some = layout.mask.any(axis=0)
            some = some.any(axis=0) if taps else some
            empty = ~some.repeat(8)[: layout.outputs]
            assert empty.any()
            assert not np.any(y.numpy()[..., empty])


def test_shared_taps_are_every_tap():
    """A layout shared by all taps, and the layout per tap that equals it."""
    mask = np.broadcast_to(SHARED.mask, (6, *SHARED.mask.shape))
    layout = BlockLayout(mask, SHARED.block_size, *SHARED.shape)
    blocks = blocks_of(SHARED)
    x = normal(2, 5, 6, INPUTS)
    options = {"strides": 2, "padding": "same"}
    for name in ("conv", "conv_transpose"):
        function = getattr(ops, name)
        y = function(x, blocks, SHARED, KERNEL, **options)
        per_tap = tf.reshape(blocks, layout.blocks_shape)
        other = function(x, per_tap, layout, KERNEL, **options)
        np.testing.assert_allclose(y, other, atol=1e-4)


@pytest.mark.parametrize("convert", [np.asarray, np.ndarray.tolist])
def test_takes_arrays_and_lists(convert):
    x = np.arange(2 * 3 * 4 * INPUTS).reshape(2, 3, 4, INPUTS) % 7
    blocks = blocks_of(SHARED, dtype="float64")
    expected = reference.conv(
        tf.constant(x, tf.float64), blocks, SHARED, KERNEL
    )
    for kernel in (KERNEL, list(KERNEL), np.array(KERNEL)):
        y = ops.conv(convert(x), blocks, SHARED, kernel)
        assert y.dtype == tf.float64
        np.testing.assert_allclose(y, expected, atol=1e-10)
    other = ops.conv(normal(2, 3, 4, INPUTS), blocks.numpy(), SHARED, KERNEL)
    assert other.dtype == tf.float32


def test_takes_variables():
    x = tf.Variable(normal(2, 3, 4, INPUTS))
    blocks = tf.Variable(blocks_of(PER_TAP))
    y = ops.conv(x, blocks, PER_TAP, KERNEL)
    expected = ops.conv(x.value(), blocks.value(), PER_TAP, KERNEL)
    np.testing.assert_array_equal(y, expected)
    sampled = ops.conv_sampled(x, tf.Variable(y), PER_TAP, KERNEL)
    assert sampled.shape == blocks.shape


@pytest.mark.parametrize(
    ("padding", "other"),
    [
        (1, (1, 1)),
        (2, ((2, 2), (2, 2))),
        ((0, 1), ((0, 0), (1, 1))),
        ([(1, 0), 2], ((1, 0), (2, 2))),
        (np.array([[1, 0], [2, 1]]), ((1, 0), (2, 1))),
        (0, "valid"),
        ("same_symmetric", ((1, 1), (1, 1))),
    ],
)
def test_paddings_that_are_the_same(padding, other):
    x, blocks = normal(2, 5, 6, INPUTS), blocks_of(SHARED)
    for name in ("conv", "conv_transpose"):
        function = getattr(ops, name)
        y = function(x, blocks, SHARED, KERNEL, padding=padding)
        expected = function(x, blocks, SHARED, KERNEL, padding=other)
        np.testing.assert_array_equal(y, expected)


def test_causal_sees_the_past_only():
    layout = BlockLayout.dense((4, 4), 4)
    x = normal(1, 9, 4)
    later = tf.concat([x[:, :5], normal(1, 4, 4, seed=5)], axis=1)
    options = {"padding": "causal", "dilation_rate": 2}
    a, b = (
        ops.conv(value, normal(1, 3, 4, 4), layout, 3, **options)
        for value in (x, later)
    )
    assert a.shape == x.shape
    np.testing.assert_array_equal(a[:, :5], b[:, :5])
    assert np.any(a[:, 5] != b[:, 5])


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
@pytest.mark.parametrize("known", ["all", "features", "nothing"])
@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("name", ["conv", "conv_transpose"])
def test_static_shape(name, static, known, data_format):
    first = data_format == "channels_first"

    def shape(batch, height, width, features):
        if first:
            return [batch, features, height, width]
        return [batch, height, width, features]

    spec = {
        "all": shape(None, 5, 6, INPUTS),
        "features": shape(None, None, 6, INPUTS),
        "nothing": None,
    }[known]
    options = {"strides": 2, "padding": "same", "data_format": data_format}

    @tf.function(
        input_signature=[
            tf.TensorSpec(spec),
            tf.TensorSpec([None, None, 3, 5] if spec else None),
            tf.TensorSpec([None], tf.int32),
        ]
    )
    def function(x, blocks, packed):
        dynamic = LayoutTensor(packed, SHARED.shape, SHARED.block_size)
        layout = SHARED if static else dynamic
        return getattr(ops, name)(x, blocks, layout, KERNEL, **options)

    found = function.get_concrete_function().output_shapes
    height, width = (3, 3) if name == "conv" else (10, 12)
    if known == "nothing":
        assert found.rank in (None, 4)
    else:
        height = height if known == "all" else None
        assert found.as_list() == shape(None, height, width, OUTPUTS)
    x = tf.constant(normal(*shape(2, 5, 6, INPUTS)))
    blocks = blocks_of(SHARED)
    expected = getattr(ops, name)(x, blocks, SHARED, KERNEL, **options)
    y = function(x, blocks, SHARED.packed)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("layout", [SHARED, PER_TAP], ids=["shared", "tap"])
def test_layout_tensor_changes_without_a_new_trace(layout):
    traces = []

    @tf.function
    def function(x, blocks, packed):
        traces.append(1)
        dynamic = LayoutTensor(
            packed, layout.shape, layout.block_size, layout.taps
        )
        y = ops.conv(x, blocks, dynamic, KERNEL)
        back = ops.conv_transpose(x, blocks, dynamic, KERNEL)
        return y, back, ops.conv_sampled(x, y, dynamic, KERNEL)

    other = BlockLayout(
        np.roll(layout.mask, 1, axis=-2), layout.block_size, *layout.shape
    )
    assert other != layout
    packed = tf.Variable(layout.packed)
    x, blocks = normal(2, 5, 6, INPUTS), blocks_of(layout)
    for new in (layout, other):
        packed.assign(new.packed)
        y, back, sampled = function(x, blocks, packed)
        for actual, expected in (
            (y, reference.conv(x, blocks, new, KERNEL)),
            (back, reference.conv_transpose(x, blocks, new, KERNEL)),
            (sampled, reference.conv_sampled(x, y, new, KERNEL)),
        ):
            np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-3)
    assert len(traces) == 1


def test_in_eager_mode_and_many_graphs():
    """What is kept for eager calls does not leak into graphs."""
    x, blocks = normal(2, 5, 6, INPUTS), blocks_of(SHARED)
    expected = ops.conv(x, blocks, SHARED, KERNEL)

    def function(x):
        with tf.init_scope():
            outside = ops.conv_transpose(x0, blocks, SHARED, KERNEL)
        del outside
        return ops.conv(x, blocks, SHARED, KERNEL)

    x0 = normal(2, 5, 6, INPUTS)
    for compiled in (tf.function(function), tf.function(function)):
        np.testing.assert_array_equal(compiled(x), expected)
    with tf.Graph().as_default() as graph:
        y = ops.conv(x.numpy(), blocks.numpy(), SHARED, KERNEL)
        with tf.compat.v1.Session(graph=graph) as session:
            np.testing.assert_array_equal(session.run(y), expected)


def test_vectorized_map():
    x, blocks = normal(3, 2, 5, 6, INPUTS), blocks_of(SHARED)
    y = tf.vectorized_map(lambda x: ops.conv(x, blocks, SHARED, KERNEL), x)
    expected = [ops.conv(each, blocks, SHARED, KERNEL) for each in x]
    np.testing.assert_allclose(y, tf.stack(expected), atol=1e-4)


def test_many_threads_in_one_op():
    xs = [normal(2, 9, 8, INPUTS, seed=seed) for seed in range(16)]
    blocks = blocks_of(PER_TAP)
    function = tf.function(lambda x: ops.conv(x, blocks, PER_TAP, KERNEL))
    expected = [function(x).numpy() for x in xs]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for y, e in zip(
            pool.map(function, xs * 10), expected * 10, strict=True
        ):
            np.testing.assert_array_equal(y, e)
