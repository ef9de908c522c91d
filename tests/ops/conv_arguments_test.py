# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Sizes and errors of convolutions: what is taken, and what is refused."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, LayoutTensor, ops, testing
from tf_blocksparse.ops import _conv_arguments

SHARED = testing.make_conv_layout("random", (3, 5))
PER_TAP = testing.make_conv_layout("random", (3, 5), taps=6)
INPUTS, OUTPUTS = SHARED.shape
ONE = BlockLayout([[1]], 1)


def y_size(name, size, kernel, **options):
    """Pixels of y in one dimension."""
    x = tf.zeros([1, size, 1])
    y = getattr(ops, name)(
        x, tf.zeros([1, kernel, 1, 1]), ONE, kernel, **options
    )
    return y.shape[1]


@pytest.mark.parametrize("padding", ["valid", "same", "causal"])
def test_sizes_as_keras_has_them(padding):
    for size, kernel, stride, dilation in itertools.product(
        range(9), range(1, 6), range(1, 4), (1, 2)
    ):
        options = {
            "strides": stride,
            "padding": padding,
            "dilation_rate": dilation,
        }
        found = y_size("conv", size, kernel, **options)
        if (stride > 1 and dilation > 1) or size == 0:
            continue  # Keras has none
        layer = keras.layers.Conv1D(1, kernel, **options)
        try:
            expected = layer.compute_output_shape((1, size, 1))[1]
        except ValueError:  # where nothing comes out
            expected = 0
        assert found == expected, (size, kernel, options)


@pytest.mark.parametrize("padding", ["valid", "same"])
def test_transposed_sizes_as_keras_has_them(padding):
    for size, kernel, stride, dilation, extra in itertools.product(
        range(1, 5), range(1, 6), range(1, 4), (1, 2), (None, 0, 1, 2)
    ):
        options = {
            "strides": stride,
            "padding": padding,
            "dilation_rate": dilation,
            "output_padding": extra,
        }
        if (stride > 1 and dilation > 1) or (extra or 0) >= stride:
            continue
        layer = keras.layers.Conv1DTranspose(1, kernel, **options)
        expected = layer.compute_output_shape((1, size, 1))[1]
        span = (kernel - 1) * dilation + 1
        if padding == "same" and extra == 0 and span % 2 == 0:
            # TensorFlow refuses it when it runs.
            with pytest.raises(ValueError, match="output_padding: got 0"):
                y_size("conv_transpose", size, kernel, **options)
            continue
        found = y_size("conv_transpose", size, kernel, **options)
        assert found == expected, (size, kernel, options)


@pytest.mark.parametrize(
    "padding",
    ["valid", "same", "same_symmetric", "causal", 0, 1, 3, ((2, 1),)],
    ids=str,
)
def test_a_convolution_comes_back(padding):
    """From every size that a transposed one may have, and no other."""
    for size, kernel, stride, dilation in itertools.product(
        (1, 2, 5), range(1, 5), range(1, 4), (1, 2)
    ):
        geometry = _conv_arguments.geometry(
            kernel, stride, padding, dilation, "channels_last", 1
        )
        fitting = [
            fine
            for fine in range(30)
            if _conv_arguments.coarse_sizes(geometry, [fine]) == [size]
        ]
        options = {
            "strides": stride,
            "padding": padding,
            "dilation_rate": dilation,
        }
        if not fitting:
            continue
        accepted = []
        for fine in range(30):
            try:
                found = y_size(
                    "conv_transpose",
                    size,
                    kernel,
                    output_shape=fine,
                    **options,
                )
            except ValueError as error:
                message = str(error)
                assert f"expected {fitting[0]} to {fitting[-1]};" in message
            else:
                assert found == fine
                accepted.append(fine)
        assert accepted == fitting
        if len(fitting) == stride:
            default = y_size("conv_transpose", size, kernel, **options)
            assert default in fitting
            if padding == "same_symmetric":
                assert default == fitting[-1]
                odd = ((kernel - 1) * dilation + 1) % 2
                assert default == size * stride - (not odd)


def test_output_shape_of_several_dimensions():
    x, blocks = tf.zeros([2, 3, 4, INPUTS]), tf.zeros([SHARED.nnz, 6, 3, 5])
    for shape in ([6, 8], (5, 7), np.array([6, 7])):
        y = ops.conv_transpose(
            x,
            blocks,
            SHARED,
            (2, 3),
            strides=2,
            padding="same",
            output_shape=shape,
        )
        assert y.shape == [2, *shape, OUTPUTS]


def test_output_shape_of_unknown_sizes():
    @tf.function(input_signature=[tf.TensorSpec([None, None, 1])])
    def function(x):
        return ops.conv_transpose(
            x, tf.ones([1, 3, 1, 1]), ONE, 3, strides=2, output_shape=[9]
        )

    assert function(tf.ones([2, 4, 1])).shape == [2, 9, 1]


X = np.zeros((2, 5, 6, INPUTS), np.float32)
BLOCKS = tf.zeros([SHARED.nnz, 6, 3, 5])
BAD = [
    ({"x": X[..., 1:]}, "x: got shape .*expected 29 features along axis -1"),
    ({"x": X[0]}, "kernel_size: got tuple .2, 3. for an input with 1 spatial"),
    ({"x": X[0, 0]}, "kernel_size: got"),
    ({"x": np.float32(1)}, "kernel_size: got"),
    ({"x": X[:, None, None], "kernel_size": 1}, "for 4 spatial dimensions"),
    ({"x": "text"}, "x: got str 'text'"),
    ({"x": tf.zeros(X.shape, tf.int32)}, "dtype: got x of int32"),
    ({"x": tf.zeros(X.shape, tf.float64)}, "dtype: got x of float64"),
    ({"blocks": np.zeros((3, 5))}, "blocks: got shape .*nnz, taps, b_in"),
    ({"blocks": BLOCKS[:, 0]}, "blocks: got shape .*nnz, taps, b_in"),
    ({"blocks": BLOCKS[:, 1:]}, "blocks: got shape"),
    ({"layout": PER_TAP}, r"blocks: got shape .*\[nnz, b_in, b_out\]"),
    ({"layout": PER_TAP, "kernel_size": (3, 3)}, "layout: got one for each of "
     "6 taps, expected 9"),
    ({"layout": SHARED.mask}, "layout: got ndarray"),
    ({"layout": LayoutTensor(SHARED.packed, SHARED.shape, (3, 5), 6)},
     "layout.packed: got .* numbers"),
    ({"gate": np.zeros(1, np.float32)}, "gate: got shape"),
    ({"kernel_size": (2, 3, 1)}, "kernel_size: got"),
    ({"kernel_size": (2, 0)}, "kernel_size.1.: got int 0"),
    ({"kernel_size": (2, 1.5)}, "kernel_size.1.: got float 1.5"),
    ({"kernel_size": ()}, "kernel_size: got tuple"),
    ({"kernel_size": None}, "kernel_size: got NoneType"),
    ({"kernel_size": "3"}, "kernel_size: got str '3'"),
    ({"strides": 0}, "strides: got int 0"),
    ({"strides": (1, 2, 3)}, "strides: got tuple .1, 2, 3., expected 2"),
    ({"strides": (1, 0.5)}, "strides.1.: got float 0.5"),
    ({"strides": True}, "strides: got bool True"),
    ({"dilation_rate": -1}, "dilation_rate: got int -1"),
    ({"dilation_rate": 2**31}, "dilation_rate: got int 2147483648"),
    ({"dilation_rate": [1, 2**31 - 1]}, "dilation_rate: got .*dilate less"),
    ({"padding": "full"}, "padding: got str 'full' in 2 spatial"),
    ({"padding": "causal"}, "padding: got str 'causal' in 2 spatial"),
    ({"padding": "SAME"}, "padding: got str 'SAME'"),
    ({"padding": -1}, "padding: got int -1"),
    ({"padding": (1, 2, 3)}, "padding: got tuple"),
    ({"padding": ((1, 2), (1, 2, 3))}, "padding: got tuple"),
    ({"padding": ((1, 2), "same")}, "padding: got tuple"),
    ({"padding": None}, "padding: got NoneType"),
    ({"padding": 1.0}, "padding: got float 1.0"),
    ({"data_format": "NHWC"}, "data_format: got str 'NHWC'"),
    ({"data_format": None}, "data_format: got NoneType"),
    ({"data_format": "channels_first"}, "expected 29 features along axis 1"),
]  # fmt: skip


@pytest.mark.parametrize("name", ["conv", "conv_transpose"])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *BAD,
        ({"bias": np.zeros(3)}, "bias: got shape"),
        ({"bias": tf.zeros(OUTPUTS, tf.float64)}, "bias: got dtype float64"),
        ({"activation": "no such"}, "no such"),
    ],
)
def test_refuses(name, changes, message):
    arguments = {
        "x": tf.constant(X),
        "blocks": BLOCKS,
        "layout": SHARED,
        "kernel_size": (2, 3),
        **changes,
    }
    with pytest.raises(ValueError, match=message) as error:
        getattr(ops, name)(**arguments)
    if "activation" not in changes:
        assert "expected" in str(error.value)
        assert ";" in str(error.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"output_padding": 2}, "output_padding: got 2 .*expected 0 to 1"),
        ({"output_padding": -1}, "output_padding: got int -1"),
        ({"output_padding": (0, 1, 0)}, "output_padding: got tuple"),
        ({"output_padding": 0, "output_shape": 3}, "output_shape: got one be"),
        ({"output_shape": (9, 9)}, "output_shape: got 9 .*expected 10 to 11"),
        ({"output_shape": (10,)}, "output_shape: got tuple"),
        ({"output_shape": -1}, "output_shape: got int -1"),
    ],
)
def test_transposed_refuses(changes, message):
    options = {"strides": 2, **changes}
    with pytest.raises(ValueError, match=message):
        ops.conv_transpose(X, BLOCKS, SHARED, (2, 3), **options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(
            (changes, message)
            for changes, message in BAD
            if not {"x", "blocks"} & set(changes) and "blocks" not in message
        ),
        ({"fine": X[..., 1:]}, "fine: got shape"),
        ({"fine": tf.zeros(X.shape, tf.float64)}, "fine and coarse: got flo"),
        ({"fine": X[:1]}, "fine and coarse: got .*expected one dtype"),
        ({"fine": X[:, 1:]}, r"fine and coarse: .*\[2, 3, 4, None\]"),
        ({"coarse": X}, "coarse: got shape"),
        ({"coarse": tf.zeros([2, 4, OUTPUTS])}, "coarse: got shape"),
        ({"transpose": True}, "fine: got shape .*expected 43 features"),
        ({"transpose": 1}, "transpose: got int 1"),
    ],
)  # fmt: skip
def test_sampled_refuses(changes, message):
    arguments = {
        "fine": tf.constant(X),
        "coarse": tf.zeros([2, 4, 4, OUTPUTS]),
        "layout": SHARED,
        "kernel_size": (2, 3),
        **changes,
    }
    with pytest.raises(ValueError, match=message):
        ops.conv_sampled(**arguments)


@pytest.mark.parametrize("dtypes", list(itertools.product(
    ["float32", "float64", "bfloat16", "float16"], repeat=2
)), ids="-".join)  # fmt: skip
def test_supported_dtypes_or_named(dtypes):
    x, blocks = tf.zeros(X.shape, dtypes[0]), tf.cast(BLOCKS, dtypes[1])
    if dtypes in testing.DTYPES:
        y = ops.conv(x, blocks, SHARED, (2, 3))
        assert y.dtype == dtypes[0]
        return
    with pytest.raises(
        ValueError,
        match=f"dtype: got x of {dtypes[0]} and blocks of {dtypes[1]} "
        r"\(block size \(3, 5\), data_format channels_last, device CPU\), "
        "expected one of .*; cast",
    ):
        ops.conv(x, blocks, SHARED, (2, 3))


def test_refuses_shapes_known_only_when_it_runs():
    @tf.function(input_signature=[tf.TensorSpec(None), tf.TensorSpec(None)])
    def function(x, blocks):
        return ops.conv(x, blocks, SHARED, (2, 3))

    for x, blocks in (
        (X[..., 1:], BLOCKS),
        (X[0], BLOCKS),
        (X, BLOCKS[:, 1:]),
        (X, BLOCKS[1:]),
        (X, BLOCKS[:, 0]),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match="expected"):
            function(x, blocks)


def test_a_kernel_size_needs_a_rank():
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def function(x):
        return ops.conv(x, BLOCKS, SHARED, 3)

    with pytest.raises(
        ValueError, match="kernel_size: got int 3 for an input "
    ):
        function(X)
