# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`ops.edge_bias` against a loop over pixels and taps."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import ops


def normal(*shape, dtype="float32", seed=0):
    values = np.random.default_rng(seed).standard_normal(shape)
    return tf.constant(values, dtype)


def fallen_taps(inputs, outputs, kernel, strides, dilations, before, transpose):
    """{pixel of y: the taps that have fallen off}, by the definition."""
    result = {}
    for pixel in np.ndindex(*outputs):
        fallen = set()
        for tap in np.ndindex(*kernel):
            for axis, size in enumerate(inputs):
                place = tap[axis] * dilations[axis] - before[axis]
                if transpose:
                    place, between = divmod(pixel[axis] - place, strides[axis])
                    if between:
                        continue
                else:
                    place += pixel[axis] * strides[axis]
                if not 0 <= place < size:
                    fallen.add(tap)
        result[pixel] = frozenset(fallen)
    return result


def expected_of(y, gain, bias, fallen):
    """The result for `[batch, *spatial, features]`, by a loop over pixels."""
    patterns = list(dict.fromkeys(taps for taps in fallen.values() if taps))
    result = np.array(y)
    for pixel, taps in fallen.items():
        if taps:
            number = patterns.index(taps)
            place = (slice(None), *pixel)
            result[place] = gain[number] * result[place] + bias[number]
    return result, len(patterns)


# inputs, outputs, kernel, strides, dilations, padding, zeros before, transpose
GEOMETRIES = [
    ((9,), (9,), (3,), (1,), (1,), "same", (1,), False),
    ((9,), (9,), (3,), (1,), (1,), "causal", (2,), False),
    ((8,), (4,), (3,), (2,), (1,), "same", (0,), False),
    ((9,), (5,), (3,), (2,), (1,), "same", (1,), False),
    ((8,), (4,), (3,), (2,), (1,), "same_symmetric", (1,), False),
    ((9,), (9,), (3,), (1,), (2,), "same", (2,), False),
    ((2,), (2,), (5,), (1,), (1,), "same", (2,), False),
    ((1,), (1,), (3,), (1,), (1,), "same", (1,), False),
    # The kernel lies wholly beside x: all taps fall off, a pattern like others.
    ((2,), (8,), (3,), (1,), (1,), 4, (4,), False),
    ((3, 2), (7, 5), (3, 2), (1, 1), (1, 1), (3, 2), (3, 2), False),
    ((5, 6), (5, 6), (3, 3), (1, 1), (1, 1), "same", (1, 1), False),
    ((7, 6), (4, 3), (3, 2), (2, 2), (1, 1), "same", (1, 0), False),
    ((6, 7), (6, 8), (2, 4), (1, 1), (2, 1), ((1, 1), (2, 2)), (1, 2), False),
    ((4, 3, 4), (4, 3, 4), (3, 3, 3), (1,) * 3, (1,) * 3, "same", (1,) * 3, 0),
    ((4,), (6,), (3,), (1,), (1,), "valid", (0,), True),
    ((4,), (4,), (3,), (1,), (1,), "same", (1,), True),
    ((4,), (8,), (3,), (2,), (1,), "same", (0,), True),
    ((4,), (7,), (3,), (2,), (1,), "same", (1,), True),
    ((4,), (8,), (5,), (2,), (1,), "same_symmetric", (2,), True),
    ((3, 4), (9, 6), (2, 3), (3, 1), (1, 2), ((0, 0), (1, 1)), (0, 1), True),
]


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_by_the_definition(geometry, data_format):
    inputs, outputs, kernel, strides, dilations, padding, before, transpose = (
        geometry
    )
    transpose = bool(transpose)
    fallen = fallen_taps(
        inputs, outputs, kernel, strides, dilations, before, transpose
    )
    options = {
        "strides": strides,
        "padding": padding,
        "dilation_rate": dilations,
        "transpose": transpose,
    }
    count = ops.edge_bias_patterns(
        inputs, kernel, output_spatial=outputs, **options
    )
    y = normal(3, *outputs, 5)
    gain, bias = normal(count, 5, seed=1), normal(count, 5, seed=2)
    expected, patterns = expected_of(y, gain.numpy(), bias.numpy(), fallen)
    assert count == patterns
    first = data_format == "channels_first"
    if first:
        y = np.moveaxis(y, -1, 1)
        gain, bias = tf.transpose(gain), tf.transpose(bias)
    result = ops.edge_bias(
        y,
        gain,
        bias,
        kernel,
        input_spatial=inputs,
        data_format=data_format,
        **options,
    ).numpy()
    if first:
        result = np.moveaxis(result, 1, -1)
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-6)
    for pixel, taps in fallen.items():
        if not taps:
            place = (slice(None), *pixel)
            np.testing.assert_array_equal(result[place], expected[place])


@pytest.mark.parametrize(
    ("spatial", "kernel", "count"),
    [
        ([32, 32], 3, 8),
        ([4, 128], 3, 8),
        # Too narrow for an interior: a pixel is at both edges.
        ([1, 9], 3, 3),
        ([32], 3, 2),
        ([32, 32, 32], 3, 26),
        ([32, 32], 5, 24),
        ([32, 32], 1, 0),
        ([0, 4], 3, 0),
        (32, (3,), 2),
    ],
)
def test_number_of_patterns(spatial, kernel, count):
    assert ops.edge_bias_patterns(spatial, kernel) == count


def test_numbered_row_by_row():
    y = tf.ones([1, 4, 4, 1])
    bias = tf.range(1.0, 9.0)[:, None]
    result = ops.edge_bias(y, 0 * bias, bias, 3, input_spatial=[4, 4])
    np.testing.assert_array_equal(
        result[0, :, :, 0],
        [[1, 2, 2, 3], [4, 1, 1, 5], [4, 1, 1, 5], [6, 7, 7, 8]],
    )


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
@pytest.mark.parametrize("size", [4, 8, 32])
def test_interior_keeps_every_bit(size, data_format):
    """NaN with its payload, the sign of zero, infinities, subnormals."""
    odd = np.array(
        [0x7FC12345, 0x80000000, 0x7F800000, 0x00000001], np.uint32
    ).view(np.float32)
    y = np.resize(odd, (2, size, size, 3)).astype(np.float32)
    gain, bias = np.full((8, 3), np.nan, np.float32), np.zeros((8, 3))
    if data_format == "channels_first":
        y, gain, bias = np.moveaxis(y, -1, 1), gain.T, bias.T
    result = ops.edge_bias(
        y, gain, bias, 3, input_spatial=[size, size], data_format=data_format
    ).numpy()
    if data_format == "channels_first":
        y, result = np.moveaxis(y, 1, -1), np.moveaxis(result, 1, -1)
    inside = (slice(None), slice(1, -1), slice(1, -1))
    np.testing.assert_array_equal(
        np.ascontiguousarray(result[inside]).view(np.uint32),
        np.ascontiguousarray(y[inside]).view(np.uint32),
    )
    assert np.isnan(result[:, 0]).all()


def derive(function, inputs):
    """The gradients, and their own, of a sum of sines."""
    with tf.GradientTape() as second:
        second.watch(inputs)
        with tf.GradientTape() as first:
            first.watch(inputs)
            loss = tf.reduce_sum(tf.sin(function(*inputs)))
        gradients = first.gradient(loss, inputs)
        squares = tf.add_n([tf.reduce_sum(g**2) for g in gradients])
    return [*gradients, *second.gradient(squares, inputs)]


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
@pytest.mark.parametrize(
    ("features", "size"),
    [(512, 4), (512, 8), (96, 16), (24, 32), (12, 64), (6, 128)],
)
def test_gradients(features, size, data_format):
    first = data_format == "channels_first"
    y = normal(1, size, size, features, dtype="float64")
    gain, bias = (normal(8, features, dtype="float64", seed=s) for s in (1, 2))
    if first:
        y = tf.transpose(y, [0, 3, 1, 2])
        gain, bias = tf.transpose(gain), tf.transpose(bias)

    def ours(y, gain, bias):
        return ops.edge_bias(
            y, gain, bias, 3, input_spatial=[size] * 2, data_format=data_format
        )

    # Row by row of 3 kinds each: the first, the inner ones and the last.
    kind = np.r_[0, np.full(size - 2, 1), 2]
    cell = 3 * kind[:, None] + kind
    pattern = tf.one_hot(np.where(cell > 4, cell - 1, cell), 8, dtype=y.dtype)
    pattern *= (cell != 4)[..., None]
    inside = tf.cast(cell == 4, y.dtype)
    if not first:
        inside = inside[..., None]

    def theirs(y, gain, bias):
        terms = "ke,hwe->khw" if first else "ek,hwe->hwk"
        gain, bias = (tf.einsum(terms, v, pattern) for v in (gain, bias))
        return y * (gain + inside) + bias

    inputs = [y, gain, bias]
    for actual, expected in zip(
        [ours(*inputs), *derive(ours, inputs)],
        [theirs(*inputs), *derive(theirs, inputs)],
        strict=True,
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("size", [3, 16])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_rounds_once(dtype, size):
    y = tf.cast(normal(2, size, 7), dtype)
    gain, bias = (tf.cast(normal(2, 7, seed=s), dtype) for s in (1, 2))
    result = ops.edge_bias(y, gain, bias, 3, input_spatial=[size])
    wide = [tf.cast(v, tf.float64) for v in (y, gain, bias)]
    expected = ops.edge_bias(*wide, 3, input_spatial=[size])
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, tf.cast(expected, dtype))


@pytest.mark.parametrize(
    "shape", [None, [None, None, None, 5], [None, 6, 7, 5]]
)
@pytest.mark.parametrize("transpose", [False, True])
def test_unknown_shapes(shape, transpose):
    options = {"input_spatial": [6, 7], "transpose": transpose}

    @tf.function(
        input_signature=[
            tf.TensorSpec(shape),
            tf.TensorSpec(None),
            tf.TensorSpec([8, 5]),
        ]
    )
    def function(y, gain, bias):
        return ops.edge_bias(y, gain, bias, (3, 3), **options)

    y, gain, bias = normal(2, 6, 7, 5), normal(8, 5, seed=1), normal(8, 5)
    expected = ops.edge_bias(y, gain, bias, 3, **options)
    np.testing.assert_array_equal(function(y, gain, bias), expected)
    if shape is None or shape[1] is None:
        with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
            function(normal(2, 7, 6, 5), gain, bias)


@pytest.mark.parametrize("shape", [(0, 4, 4, 3), (2, 0, 4, 3), (2, 4, 4, 0)])
def test_empty(shape):
    spatial = shape[1:3]
    count = ops.edge_bias_patterns(spatial, 3)
    gain = tf.Variable(tf.ones([count, shape[-1]]))
    with tf.GradientTape() as tape:
        y = ops.edge_bias(
            tf.zeros(shape), gain, tf.ones_like(gain), 3, input_spatial=spatial
        )
    assert y.shape == shape
    if count:
        gradient = tf.convert_to_tensor(tape.gradient(y, gain))
        np.testing.assert_array_equal(gradient, tf.zeros_like(gain))


def test_without_edges_it_is_y():
    y = normal(2, 4, 3)
    for kernel, padding in ((1, "same"), (3, "valid")):
        inputs = 4 if kernel == 1 else 6
        result = ops.edge_bias(
            y,
            tf.zeros([0, 3]),
            tf.zeros([0, 3]),
            kernel,
            input_spatial=[inputs],
            padding=padding,
        )
        np.testing.assert_array_equal(result, y)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gain": np.ones((7, 5))}, "gain: got shape .*expected .8, 5."),
        ({"bias": np.ones((8, 4))}, "bias: got shape"),
        ({"gain": tf.ones([8, 5], tf.float64)}, "gain: got dtype float64"),
        ({"y": tf.ones([2, 6, 7, 5], tf.int32)}, "gain: got dtype"),
        ({"y": np.ones((2, 6, 5))}, "input_spatial: got"),
        ({"y": np.ones((2, 6))}, "kernel_size: got int 3 for 0 spatial"),
        ({"y": np.ones((2, 7, 6, 5))}, "y: got shape"),
        ({"input_spatial": [6]}, "input_spatial: got"),
        ({"input_spatial": [6, -1]}, "input_spatial.1.: got int -1"),
        ({"transpose": 1}, "transpose: got int 1"),
        ({"kernel_size": (3, 3, 3)}, "kernel_size: got"),
        ({"padding": "full"}, "padding: got str 'full'"),
        ({"data_format": "NHWC"}, "data_format: got str 'NHWC'"),
    ],
)
def test_refuses(changes, message):
    arguments = {
        "y": tf.ones([2, 6, 7, 5]),
        "gain": tf.ones([8, 5]),
        "bias": tf.ones([8, 5]),
        "kernel_size": 3,
        "input_spatial": [6, 7],
        **changes,
    }
    with pytest.raises(ValueError, match=message):
        ops.edge_bias(**arguments)


def test_every_edge_of_three_dimensions():
    """26 patterns, each where its faces meet."""
    bias = tf.range(1.0, 27.0)[:, None]
    y = tf.zeros([1, 3, 3, 3, 1])
    result = ops.edge_bias(
        y, tf.ones_like(bias), bias, 3, input_spatial=[3] * 3
    )
    numbers = result.numpy().ravel()
    places = list(itertools.product(range(3), repeat=3))
    centre = places.index((1, 1, 1))
    assert numbers[centre] == 0
    np.testing.assert_array_equal(np.delete(numbers, centre), range(1, 27))
