# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""EdgeBias after convolutions: where it acts, shapes, saving, training."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from conv_twins import LAYERS, SPATIAL, case_name, make

from tf_blocksparse import ops
from tf_blocksparse.layers import (
    BlockSparseConv2D,
    BlockSparseConv2DTranspose,
    EdgeBias,
)

GEOMETRIES = (
    {},
    {"padding": "same"},
    {"padding": "same", "strides": 2},
    {"padding": "same", "dilation_rate": 2},
    {"padding": ((0, 1), (2, 0), (1, 1)), "strides": 2},
    {"padding": "same_symmetric", "data_format": "channels_first"},
)


def after(conv, x, **arguments):
    """An EdgeBias with the geometry of a convolution, and its inputs."""
    names = ("kernel_size", "strides", "padding", "data_format")
    geometry = {name: getattr(conv, name) for name in names}
    layer = EdgeBias(
        dilation_rate=conv.dilation_rate,
        transpose="Transpose" in type(conv).__name__,
        input_spatial=SPATIAL[conv.rank],
        **{**geometry, "gain_initializer": "random_normal", **arguments},
    )
    return layer, conv(x)


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=case_name)
@pytest.mark.parametrize("kind", LAYERS, ids=case_name)
def test_acts_where_a_tap_fell_off(kind, geometry):
    """Of an image of ones a kernel of ones tells how many taps were inside."""
    arguments = {"kernel_initializer": "ones", "sparsity": 0.0, **geometry}
    conv, x = make(kind, bias_initializer="zeros", **arguments)
    layer, y = after(conv, np.ones_like(x), bias_initializer="random_normal")
    result = layer(y)
    assert result.shape == y.shape == layer.compute_output_shape(y.shape)
    changed = ~np.isclose(result, y, 1e-4).all(axis=layer_axis(layer))
    strides = conv.strides if layer.transpose else (1,) * conv.rank
    most = y.numpy().max(axis=layer_axis(layer))
    if max(strides) == 1:
        np.testing.assert_array_equal(changed, most < most.max())
    expected = ops.edge_bias(
        y, layer.gain, layer.bias, conv.kernel_size, strides=conv.strides,
        padding=conv.padding, dilation_rate=conv.dilation_rate,
        data_format=conv.data_format, transpose=layer.transpose,
        input_spatial=SPATIAL[kind.rank],
    )  # fmt: skip
    np.testing.assert_array_equal(result, expected)


def layer_axis(layer):
    return 1 if layer.data_format == "channels_first" else -1


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_weights_and_first_values(data_format):
    layer = EdgeBias(3, data_format=data_format)
    y = np.random.default_rng(0).normal(size=(2, 6, 6, 6)).astype("float32")
    np.testing.assert_array_equal(layer(y), y)
    shape = (8, 6) if data_format == "channels_last" else (6, 8)
    assert tuple(layer.gain.shape) == tuple(layer.bias.shape) == shape
    layer.gain.assign(2 * layer.gain)
    layer.bias.assign(layer.bias + 0.5)
    result = np.moveaxis(layer(y), layer_axis(layer), -1)
    y = np.moveaxis(y, layer_axis(layer), -1)
    np.testing.assert_array_equal(result[:, 1:-1, 1:-1], y[:, 1:-1, 1:-1])
    np.testing.assert_allclose(result[:, 0], 2 * y[:, 0] + 0.5, 1e-5)
    np.testing.assert_allclose(result[:, :, -1], 2 * y[:, :, -1] + 0.5, 1e-5)


@pytest.mark.parametrize(
    ("arguments", "size", "before"),
    [
        ({"padding": "same"}, 9, 9),
        ({"padding": "valid"}, 9, 11),
        ({"padding": 2, "dilation_rate": 2}, 9, 9),
        ({"padding": "same", "strides": 2, "transpose": True}, 9, 5),
        ({"padding": "valid", "strides": 2, "transpose": True}, 9, 4),
    ],
    ids=case_name,
)
def test_finds_the_sizes_of_the_inputs(arguments, size, before):
    found, told = (
        EdgeBias(3, **arguments),
        EdgeBias(3, input_spatial=(before, before), **arguments),
    )
    y = np.random.default_rng(0).normal(size=(2, size, size, 4))
    for layer in (found, told):
        layer.build(y.shape)
        layer.gain.assign(np.arange(np.size(layer.gain)).reshape(
            layer.gain.shape
        ))  # fmt: skip
    np.testing.assert_array_equal(found(y), told(y))


def test_no_tap_falls_off():
    layer = EdgeBias(3, padding="valid")
    y = np.ones((2, 5, 5, 4), "float32")
    np.testing.assert_array_equal(layer(y), y)
    assert tuple(layer.gain.shape) == (0, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernel_size": 0}, "kernel_size: got int 0"),
        ({"strides": (2, 2, 2), "kernel_size": (3, 3)}, "strides: got tuple"),
        ({"padding": "full"}, "padding: got .*'full'"),
        ({"data_format": "NHWC"}, "data_format: got str"),
        ({"transpose": 1}, "transpose: got int 1, expected True or False"),
        ({"strides": 2}, "input_spatial: got None with strides 2, expected"),
        ({"strides": (1, 2)}, r"input_spatial: got None with strides \(1, 2\)"),
    ],
    ids=case_name,
)
def test_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        EdgeBias(**{"kernel_size": 3, **arguments})


@pytest.mark.parametrize(
    ("arguments", "shape", "message"),
    [
        ({}, (None, None, 9, 4), "input_shape: got .* all sizes but the batch"),
        ({}, (None, 9, 9, None), "input_shape: got .* all sizes but the batch"),
        ({"kernel_size": (3,)}, (None, 9, 9, 4), "kernel_size: got tuple"),
        (
            {"input_spatial": (9, 9), "strides": 2},
            (None, 5, 4, 4),
            r"input_spatial: got \(9, 9\), of which .* makes \[5, 5\], .* "
            r"makes \[5, 4\]",
        ),
        ({"input_spatial": (9,)}, (None, 9, 9, 4), "input_spatial: got"),
        ({"dtype": "int32"}, (None, 9, 9, 4), "dtype: got int32"),
    ],
    ids=case_name,
)
def test_refuses_to_build(arguments, shape, message):
    with pytest.raises(ValueError, match=message):
        EdgeBias(**{"kernel_size": 3, **arguments}).build(shape)


def test_other_inputs_are_refused():
    layer = EdgeBias(3)
    layer(np.ones((2, 5, 5, 4)))
    with pytest.raises(ValueError, match="expected shape="):
        layer(np.ones((2, 5, 6, 4)))


@pytest.mark.parametrize(
    "policy",
    ["float64", "bfloat16", "float16", "mixed_bfloat16", "mixed_float16"],
)
def test_policies(policy):
    layer = EdgeBias(3, dtype=policy, bias_initializer="ones")
    y = layer(np.ones((2, 5, 5, 4)))
    policy = keras.dtype_policies.get(policy)
    assert layer.gain.dtype == policy.variable_dtype
    assert keras.backend.standardize_dtype(y.dtype) == policy.compute_dtype
    values = keras.ops.cast(y, "float32").numpy()
    assert set(np.unique(values)) == {1, 2}
    assert np.count_nonzero(values == 1) == 2 * 3 * 3 * 4


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_compiles_with_xla(data_format):
    layer = EdgeBias(3, data_format=data_format, bias_initializer="ones")
    y = tf.ones((2, 6, 6, 6))
    expected = layer(y)
    compiled = tf.function(layer, jit_compile=True)
    np.testing.assert_array_equal(compiled(y), expected)


def make_model():
    settings = {"padding": "same", "block_size": 4, "sparsity": 0.25}
    return keras.Sequential(
        [
            keras.Input((8, 8, 4)),
            BlockSparseConv2D(8, 3, 2, activation="relu", **settings),
            EdgeBias(3, 2, input_spatial=(8, 8)),
            BlockSparseConv2DTranspose(8, 3, 2, **settings),
            EdgeBias(3, 2, transpose=True),
            keras.layers.Conv2D(1, 1),
        ]
    )


def test_trains_saves_and_is_copied(tmp_path):
    model = make_model()
    x = np.random.default_rng(0).normal(size=(64, 8, 8, 4)).astype("float32")
    y = np.sin(np.arange(8.0))[:, None, None] * x[..., :1]
    model.compile(keras.optimizers.Adam(1e-2), "mse")
    losses = model.fit(x, y, epochs=4, verbose=0).history["loss"]
    assert losses[-1] < 0.9 * losses[0]
    for layer in (model.layers[1], model.layers[3]):
        assert not np.allclose(layer.gain, 1, 1e-4)
        assert np.all(np.any(layer.bias.numpy() != 0, axis=-1))
    model.save(tmp_path / "model.keras")
    other = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(other(x), model(x))
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    np.testing.assert_array_equal(clone(x), model(x))
    model.export(tmp_path / "exported", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "exported")
    np.testing.assert_allclose(loaded.serve(x), model(x), 1e-5, 1e-5)


@pytest.mark.parametrize(
    "arguments",
    [
        {"kernel_size": 3},
        {
            "kernel_size": [3, 2],
            "strides": [2, 1],
            "padding": [[0, 1], 2],
            "data_format": "channels_first",
            "input_spatial": [9, 9],
            "gain_regularizer": "l2",
            "bias_constraint": "non_neg",
            "gain_initializer": "zeros",
            "trainable": False,
        },
        {"kernel_size": 3, "padding": "SAME", "transpose": True, "strides": 2},
    ],
    ids=case_name,
)
def test_config_round_trip(arguments):
    layer = EdgeBias(**arguments)
    clone = EdgeBias.from_config(json.loads(json.dumps(layer.get_config())))
    assert clone.get_config() == layer.get_config()
    same_class = keras.layers.deserialize(keras.layers.serialize(layer))
    assert same_class.get_config() == layer.get_config()
