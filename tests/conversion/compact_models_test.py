# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""compact of models of every kind."""

import keras
import numpy as np
import pytest

import tf_blocksparse.layers as bs
from tf_blocksparse import compact

RNG = np.random.default_rng(0)
X = RNG.normal(size=(8, 16)).astype("float32")


def dense(units=16, name=None, **arguments):
    given = {"block_size": 8, "sparsity": 0.0, "gate": "mask", **arguments}
    return bs.BlockSparseDense(units, name=name, **given)


def close(*layers):
    for layer in layers:
        kept = np.ones(layer.layout.nnz, bool)
        kept[1::2] = False
        layer.gate_mask.assign(kept)


def equal(model, small):
    np.testing.assert_allclose(small(X), model(X), atol=1e-6)


@pytest.mark.parametrize("keep_gate", [False, True])
def test_a_layer_may_lose_all_of_its_blocks(keep_gate):
    layer = dense(24, bias_initializer="ones")
    model = keras.Sequential([keras.Input((16,)), layer, dense(8)])
    model.compile("adam", "mse", run_eagerly=True)
    model.fit(X, np.zeros((8, 8)), verbose=0)
    layer.gate_mask.assign(np.zeros(6, bool))
    small = compact(model, keep_gate=keep_gate)
    assert small.layers[0].blocks.shape == (0, 8, 8)
    equal(model, small)
    small.fit(X, np.zeros((8, 8)), verbose=0)
    equal(compact(small), small)


def test_saved_small_models_are_small_and_load(tmp_path):
    model = keras.Sequential([keras.Input((256,)), dense(256)])
    layer = model.layers[0]
    layer.gate_mask.assign(np.arange(layer.layout.nnz) < 50)
    small = compact(model)
    for name, each in [("large", model), ("small", small)]:
        each.save(tmp_path / f"{name}.keras")
    sizes = [
        (tmp_path / f"{name}.keras").stat().st_size
        for name in ("large", "small")
    ]
    assert sizes[1] < sizes[0] / 5
    loaded = keras.models.load_model(tmp_path / "small.keras")
    x = RNG.normal(size=(4, 256))
    np.testing.assert_allclose(loaded(x), model(x), atol=1e-5)


def test_layers_that_are_shared_or_used_twice():
    shared = dense(name="shared")
    inputs = keras.Input((16,))
    inner = keras.Sequential([keras.Input((16,)), shared, dense()], name="in")
    model = keras.Model(inputs, inner(shared(shared(inputs))))
    close(shared, inner.layers[1])
    small = compact(model)
    equal(model, small)
    assert small.get_layer("in").layers[0] is small.get_layer("shared")
    assert len(small.weights) == 6
    assert small.get_layer("shared").layout.nnz == 2


class Block(keras.layers.Layer):
    def __init__(self, **arguments):
        super().__init__(**arguments)
        self.parts = [dense(), keras.layers.Dense(16)]
        self.named = {"last": dense()}

    def call(self, x):
        for part in self.parts:
            x = part(x)
        return self.named["last"](x)


class Subclassed(keras.Model):
    def __init__(self, **arguments):
        super().__init__(**arguments)
        self.first = dense()
        self.block = Block()

    def call(self, x):
        return self.block(self.first(x))


@pytest.mark.parametrize("outer", ["layer", "subclassed", "uncompiled"])
def test_layers_inside_of_layers(outer):
    if outer == "subclassed":
        model = Subclassed()
        model(X)
        block = model.block
        close(model.first)
    else:
        block = Block()
        model = keras.Sequential([keras.Input((16,)), block])
    if outer != "uncompiled":
        model.compile(keras.optimizers.Adam(), "mse", run_eagerly=True)
        model.fit(X, X, verbose=0)
    close(block.parts[0], block.named["last"])
    small = compact(model)
    equal(model, small)
    assert type(small) is type(model)
    new = small.block if outer == "subclassed" else small.layers[0]
    assert new.parts[0].layout.nnz == new.named["last"].layout.nnz == 2
    if outer == "uncompiled":
        assert not small.compiled
    else:
        for each in (model, small):
            each.train_on_batch(X, X)
        equal(model, small)


def test_a_single_layer():
    layer = dense()
    layer(X)
    close(layer)
    equal(layer, compact(layer))


def test_nothing_to_do_is_a_copy():
    model = keras.Sequential(
        [keras.Input((16,)), dense(gate=None), keras.layers.Dense(2)]
    )
    small = compact(model)
    assert small is not model
    assert small.layers[0] is not model.layers[0]
    for one, two in zip(model.weights, small.weights, strict=True):
        assert np.array_equal(one.numpy(), two.numpy())


def test_layers_that_are_not_trained_stay_so():
    model = keras.Sequential([keras.Input((16,)), dense(), dense()])
    model.layers[0].trainable = False
    close(*model.layers)
    small = compact(model)
    assert [each.trainable for each in small.layers] == [False, True]
    assert len(small.trainable_weights) == 2


def test_models_that_are_not_built_are_refused():
    with pytest.raises(ValueError, match="not built"):
        compact(keras.Sequential([dense()]))
    model = keras.Sequential([keras.Input((16,)), dense()])
    with pytest.raises(ValueError, match="keep_gate: got"):
        compact(model, keep_gate="mask")
