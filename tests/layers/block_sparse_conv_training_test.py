# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The convolution layers in models that train."""

import keras
import numpy as np
import pytest
from conv_twins import LAYERS, Twin, case_name, gathered, make

from tf_blocksparse.layers import (
    BlockSparseConv1D,
    BlockSparseConv2D,
    BlockSparseConv2DTranspose,
)

RNG = np.random.default_rng(0)
IMAGES = RNG.normal(size=(96, 8, 8, 4)).astype("float32")
# Each pixel from its neighbours, so that only taps can tell it.
TARGETS = np.tanh(
    IMAGES[:, ::-1, :, :2][:, ::-1] - np.roll(IMAGES, 1, 2)[..., :2]
)


def autoencoder():
    settings = {"padding": "same", "block_size": 4, "sparsity": 0.25}
    return keras.Sequential(
        [
            keras.Input((8, 8, 4)),
            BlockSparseConv2D(16, 3, 2, activation="relu", **settings),
            BlockSparseConv2D(32, 3, activation="gelu", **settings),
            BlockSparseConv2DTranspose(16, 3, 2, activation="relu", **settings),
            keras.layers.Conv2D(2, 3, padding="same", dtype="float32"),
        ]
    )


def loss_falls(model, **fit):
    fit = {"epochs": 6, "batch_size": 16, "verbose": 0, **fit}
    losses = model.fit(IMAGES, TARGETS, **fit).history["loss"]
    return np.isfinite(losses).all() and losses[-1] < 0.8 * losses[0]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"run_eagerly": True},
        {"steps_per_execution": 3},
    ],
    ids=case_name,
)
def test_fit(arguments):
    model = autoencoder()
    model.compile(keras.optimizers.Adam(5e-3), "mse", **arguments)
    assert loss_falls(model)
    assert not model.jit_compile
    assert model.predict(IMAGES, verbose=0).shape == TARGETS.shape


@pytest.mark.parametrize(
    "policy", ["mixed_bfloat16", "mixed_float16", "float64"]
)
def test_fit_in_a_policy(policy):
    previous = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        model = autoencoder()
        model.compile(keras.optimizers.Adam(5e-3), "mse", auto_scale_loss=True)
        assert loss_falls(model)
    finally:
        keras.config.set_dtype_policy(previous)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"padding": "same", "strides": 2},
        {"per_tap": True},
        {"data_format": "channels_first", "per_tap": True},
    ],
    ids=case_name,
)
@pytest.mark.parametrize("kind", LAYERS, ids=case_name)
def test_a_step_of_fit_is_that_of_keras(kind, arguments):
    layer, x = make(kind, **arguments)
    twin = Twin(layer)
    y = RNG.normal(size=layer.compute_output_shape(x.shape))
    inputs = keras.Input(x.shape[1:])
    for call in (layer, twin):
        model = keras.Model(inputs, call(inputs))
        model.compile(keras.optimizers.SGD(5.0), "mse")
        model.train_on_batch(x, y)
    kernel, bias = twin.keras.get_weights()
    before = Twin(layer).keras.get_weights()[0]
    np.testing.assert_allclose(
        layer.blocks.numpy(), twin.blocks(kernel), 1e-4, 1e-4
    )
    np.testing.assert_allclose(layer.bias.numpy(), bias, 1e-4, 1e-4)
    assert not np.allclose(kernel, before, 1e-3, 1e-3), "no step was made"


def test_learns_as_the_masked_keras_layer():
    """Five steps of SGD equal those on a whole kernel under a mask."""
    layer, x = make(BlockSparseConv2DTranspose, strides=2, per_tap=True)
    twin = Twin(layer).keras
    mask = twin.kernel.numpy() != 0
    y = RNG.normal(size=layer.compute_output_shape(x.shape))
    for model in (keras.Sequential([layer]), keras.Sequential([twin])):
        model.compile(keras.optimizers.SGD(5.0), "mse")
        for _ in range(5):
            model.train_on_batch(x, y)
            twin.kernel.assign(twin.kernel * mask)
    np.testing.assert_allclose(
        layer.blocks.numpy(), gathered(layer, twin.kernel), 1e-4, 1e-4
    )


def test_layout_and_padding_stay():
    layer, x = make(BlockSparseConv1D)
    layout = layer.layout
    model = keras.Sequential([layer])
    model.compile(keras.optimizers.AdamW(1e-2, weight_decay=0.1), "mse")
    model.fit(x, np.ones(layer.compute_output_shape(x.shape)), verbose=0)
    assert layer.layout == layout
    blocks = layer.blocks.numpy()
    whole = layout.to_dense(blocks, layer.kernel_size)
    np.testing.assert_array_equal(blocks, layout.gather(whole))


def test_same_seed_same_training():
    def train():
        keras.utils.set_random_seed(3)
        layer = BlockSparseConv2D(8, 3, block_size=4)
        model = keras.Sequential([layer, keras.layers.Conv2D(2, 1)])
        model.compile("adam", "mse")
        model.fit(IMAGES, TARGETS[:, 1:-1, 1:-1], verbose=0)
        return model(IMAGES).numpy()

    np.testing.assert_array_equal(train(), train())


def test_constraint_acts_on_the_blocks():
    layer, x = make(BlockSparseConv2D, kernel_constraint="non_neg")
    model = keras.Sequential([layer])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    model.fit(x, np.ones(layer.compute_output_shape(x.shape)), verbose=0)
    assert layer.blocks.numpy().min() == 0.0
