# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Keras trains layers with blocks by XLA: `jit_compile=True` and `"auto"`."""

import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, callbacks, sparsify
from tf_blocksparse.layers import (
    BlockSparseConv2D,
    BlockSparseConv2DTranspose,
    BlockSparseDense,
    BlockSparseEinsumDense,
    BlockSparseMultiHeadAttention,
)
from tf_blocksparse.optimizers import Adam

RNG = np.random.default_rng(0)


def dense_model(**options):
    return keras.Sequential(
        [
            keras.Input((32,)),
            BlockSparseDense(48, "gelu", block_size=8, sparsity=0.5, **options),
            keras.layers.Dropout(0.0),
            BlockSparseDense(16, block_size=8, sparsity=0.5, **options),
        ]
    )


def conv_model():
    same = {"padding": "same", "block_size": 8, "sparsity": 0.5}
    return keras.Sequential(
        [
            keras.Input((8, 8, 8)),
            BlockSparseConv2D(16, 3, strides=2, activation="relu", **same),
            BlockSparseConv2DTranspose(8, 3, strides=2, **same),
        ]
    )


def attention_model():
    x = keras.Input((6, 32))
    attended = BlockSparseMultiHeadAttention(2, 16, block_size=8, sparsity=0.5)(
        x, x
    )
    y = BlockSparseEinsumDense(
        "abc,cd->abd", (6, 32), block_size=8, sparsity=0.5
    )(attended)
    return keras.Model(x, y)


MODELS = {
    "dense": dense_model,
    "conv": conv_model,
    "attention": attention_model,
}


def data(model, rows=40):
    x, y = (
        RNG.standard_normal((rows, *shape[1:])).astype("float32")
        for shape in (model.input_shape, model.output_shape)
    )
    return x, y


def twins(make, **options):
    """The same model twice: with XLA, and without."""
    keras.utils.set_random_seed(0)
    compiled = make(**options)
    plain = keras.models.clone_model(compiled)
    plain.set_weights(compiled.get_weights())
    return compiled, plain


@pytest.mark.parametrize(
    ("name", "optimizer"),
    [
        ("dense", Adam),
        ("dense", keras.optimizers.Adam),
        ("conv", Adam),
        ("attention", keras.optimizers.Adam),
    ],
)
def test_training_is_that_without_xla(form, name, optimizer):
    compiled, plain = twins(MODELS[name])
    x, y = data(compiled)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled.compile(optimizer(1e-3), "mse", jit_compile=True)
    assert compiled.jit_compile is True
    plain.compile(optimizer(1e-3), "mse", jit_compile=False)
    # The last batch is smaller.
    options = {"batch_size": 16, "epochs": 2, "shuffle": False, "verbose": 0}
    histories = [model.fit(x, y, **options) for model in (compiled, plain)]
    losses = [history.history["loss"] for history in histories]
    np.testing.assert_allclose(*losses, rtol=1e-3)
    for actual, expected in zip(
        compiled.get_weights(), plain.get_weights(), strict=True
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-2, atol=1e-4)
    predicted = [
        model.predict(x, batch_size=16, verbose=0)
        for model in (compiled, plain)
    ]
    np.testing.assert_allclose(*predicted, rtol=1e-2, atol=1e-3)


def test_auto_is_on_where_keras_has_it_on(monkeypatch):
    gpu = tf.config.PhysicalDevice("/physical_device:GPU:0", "GPU")
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda *_: [gpu])
    for make in MODELS.values():
        model = make()
        model.compile("adam", "mse", jit_compile="auto")
        assert model.jit_compile
        x, y = data(model, 4)
        model.fit(x, y, verbose=0)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision(policy):
    model = dense_model(dtype=policy)
    model.compile("adam", "mse", jit_compile=True)
    x, y = data(model)
    losses = model.fit(x, y, epochs=5, verbose=0).history["loss"]
    assert losses[-1] < losses[0]


def test_new_layouts_take_effect_without_a_trace():
    compiled, plain = twins(dense_model)
    x, _ = data(compiled)
    for model, jit in ((compiled, True), (plain, False)):
        model.compile("sgd", "mse", jit_compile=jit)
        model.predict(x, verbose=0)
    function = compiled.predict_function
    for model in (compiled, plain):
        layer = model.layers[0]
        mask = np.roll(layer.layout.mask, 1, axis=0)
        layer.set_layout(BlockLayout(mask, 8))
    for actual, expected in zip(
        compiled.get_weights(), plain.get_weights(), strict=True
    ):
        np.testing.assert_array_equal(actual, expected)
    np.testing.assert_allclose(
        compiled.predict(x, verbose=0),
        plain.predict(x, verbose=0),
        rtol=1e-4,
        atol=1e-5,
    )
    assert compiled.predict_function is function


def test_callbacks_change_layouts_while_xla_trains():
    model = dense_model()
    x, y = data(model)
    model.compile("adam", "mse", jit_compile=True)
    before = [layer.layout for layer in model.layers[::2]]
    rigl = callbacks.RigL((x, y), end_step=100, frequency=2)
    model.fit(x, y, batch_size=8, epochs=3, callbacks=[rigl], verbose=0)
    after = [layer.layout for layer in model.layers[::2]]
    assert before != after


def test_a_model_that_was_made_sparse():
    model = keras.Sequential(
        [
            keras.Input((64,)),
            keras.layers.Dense(64, "relu"),
            keras.layers.Dense(8),
        ]
    )
    sparse = sparsify(model, sparsity=0.5, block_size=8)
    sparse.compile("adam", "mse", jit_compile=True)
    x, y = data(sparse)
    sparse.fit(x, y, verbose=0)
    assert sparse.jit_compile is True
