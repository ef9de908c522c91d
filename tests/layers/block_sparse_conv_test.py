# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The convolution layers against Keras's: values, gradients, shapes."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from conv_twins import (
    CONV,
    FILTERS,
    GROUPS,
    LAYERS,
    SPATIAL,
    TRANSPOSE,
    Twin,
    case_name,
    cases,
    keras_class,
    kernel,
    make,
    results,
)

from tf_blocksparse.layers import (
    BlockSparseConv1D,
    BlockSparseConv2D,
    BlockSparseConv2DTranspose,
)

every_layer = pytest.mark.parametrize("kind", LAYERS, ids=case_name)


@pytest.mark.parametrize(("kind", "arguments"), list(cases()), ids=case_name)
def test_equals_keras(kind, arguments):
    layer, x = make(kind, **arguments)
    twin = Twin(layer, arguments.get("activation"))
    ours = results(layer, layer.trainable_weights, x)
    y, dx, dkernel, *dbias = results(twin, twin.keras.trainable_weights, x)
    assert layer.compute_output_shape(x.shape) == y.shape
    expected = y, dx, twin.blocks(dkernel), *dbias
    for got, wanted in zip(ours, expected, strict=True):
        np.testing.assert_allclose(got, wanted, 1e-4, 1e-4)


def test_groups_are_those_of_keras():
    layer, x = make(BlockSparseConv2D, **GROUPS)
    theirs = keras.layers.Conv2D(
        FILTERS, layer.kernel_size, groups=2, use_bias=False
    )
    theirs.build(x.shape)
    whole = kernel(layer)
    half = np.split(whole, 2, axis=-1)
    inputs = x.shape[-1] // 2
    of_groups = [half[0][..., :inputs, :], half[1][..., inputs:, :]]
    theirs.set_weights([np.concatenate(of_groups, axis=-1)])
    np.testing.assert_allclose(
        layer(x), theirs(x) + layer.bias.value, 1e-4, 1e-4
    )
    assert layer.layout.nnz == round(2 * 3 * 2 * (1 - layer.sparsity)) == 5
    assert np.count_nonzero(half[0][..., inputs:, :]) == 0


@pytest.mark.parametrize(
    "activation",
    [None, "relu", "gelu", "silu", "tanh", "sigmoid", "elu", "softmax",
     keras.layers.LeakyReLU(), lambda x: 2 * x],
)  # fmt: skip
@pytest.mark.parametrize("kind", [CONV[1], TRANSPOSE[0]], ids=case_name)
def test_activations(kind, activation):
    layer, x = make(kind, activation=activation)
    np.testing.assert_allclose(layer(x), Twin(layer, activation)(x), 1e-5, 1e-5)


@pytest.mark.parametrize(
    ("policy", "tolerance"),
    [
        ("float64", 1e-12),
        ("bfloat16", 5e-2),
        ("float16", 6e-3),
        ("mixed_bfloat16", 5e-2),
        ("mixed_float16", 6e-3),
    ],
)
@pytest.mark.parametrize("kind", [CONV[1], TRANSPOSE[1]], ids=case_name)
@pytest.mark.parametrize("per_tap", [False, True])
def test_policies(kind, policy, tolerance, per_tap):
    layer, x = make(
        kind, dtype=policy, activation="relu", strides=2, per_tap=per_tap
    )
    policy = keras.dtype_policies.get(policy)
    y = layer(x)
    assert layer.blocks.dtype == policy.variable_dtype
    assert layer.packed_layout.dtype == "int32"
    assert keras.backend.standardize_dtype(y.dtype) == policy.compute_dtype
    expected = Twin(layer, "relu", "float64")(x.astype("float64"))
    np.testing.assert_allclose(
        keras.ops.cast(y, "float64"), expected, tolerance, tolerance
    )


@pytest.mark.parametrize("autocast", [True, False])
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_casts_inputs_as_dense_does(autocast, policy, dtype):
    settings = {"dtype": policy, "autocast": autocast}
    got = BlockSparseConv1D(8, 1, block_size=8, sparsity=0.0, **settings)(
        tf.ones((2, 3, 8), dtype)
    )
    expected = keras.layers.Dense(8, **settings)(tf.ones((2, 8), dtype))
    assert got.dtype == expected.dtype


# --- Shapes ---------------------------------------------------------------


@every_layer
@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_output_shape_is_that_of_keras(kind, data_format):
    rank = kind.rank
    paddings = ["valid", "same"] + ["causal"] * (kind is BlockSparseConv1D)
    table = itertools.product(paddings, (1, 2, 3), (1, 2), (2, 3))
    for padding, strides, dilation, kernel_size in table:
        if strides > 1 and dilation > 1:
            continue
        arguments = {
            "filters": 8,
            "kernel_size": kernel_size,
            "strides": strides,
            "padding": padding,
            "dilation_rate": dilation,
            "data_format": data_format,
        }
        ours, theirs = kind(**arguments), keras_class(kind)(**arguments)
        for size in (5, 6, 7, None):
            shape = (None, *[size] * rank, 16)
            if data_format == "channels_first":
                shape = (3, 16, *[size] * rank)
            expected = tuple(theirs.compute_output_shape(shape))
            assert ours.compute_output_shape(shape) == expected


@every_layer
def test_symbolic_call(kind):
    layer = kind(
        12, 3, padding="same", strides=2, dtype="mixed_float16", block_size=4
    )
    spec = layer(keras.Input((*[None] * kind.rank, 16)))
    assert spec.shape == (None, *[None] * kind.rank, 12)
    assert spec.dtype == "float16"
    size = 20 if kind in TRANSPOSE else 5
    spec = layer.compute_output_spec(
        keras.KerasTensor((2, *[10] * kind.rank, 16))
    )
    assert spec.shape == (2, *[size] * kind.rank, 12)
    assert spec.dtype == "float16"


@every_layer
@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
@pytest.mark.parametrize(
    "geometry",
    [
        {"padding": "same", "strides": 2},
        {"padding": 1, "strides": 2},
        {"dilation_rate": 2},
    ],
    ids=case_name,
)
def test_sizes_known_only_when_it_runs(kind, data_format, geometry):
    layer, x = make(kind, data_format=data_format, **geometry)
    shape = [None] * x.ndim
    shape[1 if data_format == "channels_first" else -1] = layer.layout.inputs

    call = tf.function(layer, input_signature=[tf.TensorSpec(shape)])
    larger = np.pad(x, [(0, int(size is None)) for size in shape], "edge")
    for inputs in (x, larger):
        expected = results(layer, layer.trainable_weights, inputs)
        ours = results(call, layer.trainable_weights, inputs)
        for got, wanted in zip(ours, expected, strict=True):
            np.testing.assert_allclose(got, wanted, 1e-4, 1e-4)


def test_data_format_is_the_one_that_keras_is_set_to():
    previous = keras.config.image_data_format()
    keras.config.set_image_data_format("channels_first")
    try:
        layer = BlockSparseConv2D(8, 3, block_size=4)
    finally:
        keras.config.set_image_data_format(previous)
    assert layer.data_format == "channels_first"
    assert layer(np.ones((1, 4, 5, 6))).shape == (1, 8, 3, 4)
    assert BlockSparseConv2D(8, 3).data_format == previous


@every_layer
def test_no_images(kind):
    layer, x = make(kind)
    y = layer(x[:0])
    assert y.shape == (0, *layer.compute_output_shape(x.shape)[1:])


# --- As Keras has it ------------------------------------------------------


@every_layer
def test_masks_are_treated_as_in_keras(kind):
    ours, theirs = kind(8, 1, block_size=4), keras_class(kind)(8, 1)
    assert ours.supports_masking == theirs.supports_masking
    x = keras.ops.ones((1, *SPATIAL[kind.rank], 8))
    x._keras_mask = keras.ops.ones((1, SPATIAL[kind.rank][0]), "bool")
    for layer in (ours, theirs):
        assert getattr(layer(x), "_keras_mask", None) is None


def test_regularizers():
    layer, x = make(
        BlockSparseConv2DTranspose,
        kernel_regularizer=keras.regularizers.L2(0.5),
        activity_regularizer=keras.regularizers.L1(0.25),
    )
    y = layer(x)
    expected = [
        0.5 * np.sum(layer.blocks.numpy() ** 2),
        # Keras takes the mean over the batch.
        0.25 * np.sum(np.abs(y)) / len(x),
    ]
    np.testing.assert_allclose(sorted(layer.losses), sorted(expected), 1e-4)
