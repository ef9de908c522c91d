# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""BlockSparseDense in configs, files and copies."""

import copy
import json
import pickle
import time

import h5py
import keras
import numpy as np
import pytest
import tensorflow as tf
from saved_models import X, make_model

from tf_blocksparse.layers import BlockSparseDense
from tf_blocksparse.layout import BlockLayout

RNG = np.random.default_rng(0)
BANDED = BlockLayout.banded((48, 64), (8, 16), bandwidth=1)
NO_MAKER = BlockLayout(RNG.random((6, 4)) < 0.5, (8, 16), 48, 64)


def same(model, other):
    """Whether two models have one layout and one result."""
    layouts = [m.get_layer("sparse").layout for m in (model, other)]
    return layouts[0] == layouts[1] and np.array_equal(model(X), other(X))


def edit_weights(path, change):
    with h5py.File(path, "r+") as file:
        change(file["layers/block_sparse_dense/vars"])


def set_weight(name, value):
    def change(weights):
        del weights[name]
        weights[name] = value

    return change


# --- Config ---------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"block_size": (4, 16), "sparsity": 0.3, "seed": 7},
        {"layout": BANDED},
        {"layout": NO_MAKER},
        {"activation": "gelu", "use_bias": False},
        {"activation": keras.layers.LeakyReLU(0.1)},
        {
            "kernel_initializer": keras.initializers.HeNormal(seed=3),
            "kernel_regularizer": keras.regularizers.L1L2(1e-4, 1e-3),
            "bias_regularizer": "l2",
            "activity_regularizer": "l1",
            "kernel_constraint": "non_neg",
            "bias_constraint": keras.constraints.MaxNorm(2.0),
        },
        {"dtype": "mixed_bfloat16", "trainable": False, "name": "some"},
    ],
)
def test_config_round_trip(arguments):
    layer = BlockSparseDense(64, **arguments)
    config = json.loads(json.dumps(layer.get_config()))
    clone = BlockSparseDense.from_config(config)
    assert clone.get_config() == layer.get_config()
    assert json.loads(json.dumps(config)) == config, "from_config changed it"
    for each in (layer, clone):
        each.build((None, 48))
    assert clone.layout.nnz == layer.layout.nnz
    if "layout" in arguments or "seed" in arguments:
        assert clone.layout == layer.layout
    same_class = keras.layers.deserialize(keras.layers.serialize(layer))
    assert same_class.get_config() == layer.get_config()


def test_config_of_dense_is_a_config():
    config = keras.layers.Dense(8, "relu", kernel_regularizer="l2").get_config()
    layer = BlockSparseDense.from_config({**config, "block_size": 4})
    assert {**layer.get_config(), **config} == {
        **config,
        **layer.get_config(),
    }


def test_large_layout_stays_out_of_the_config():
    mask = RNG.random((1024, 1024)) < 0.3
    layer = BlockSparseDense(1024, layout=BlockLayout(mask, 1))
    config = layer.get_config()
    assert len(json.dumps(config)) < 2000
    clone = BlockSparseDense.from_config(config)
    assert clone.layout.shape == layer.layout.shape
    assert clone.layout.nnz == layer.layout.nnz
    for each in (layer, clone):
        each.build((None, 1024))
    clone.set_weights(layer.get_weights())
    assert clone.layout == layer.layout


def test_layout_below_the_limit_is_in_the_config():
    mask = RNG.random((512, 512)) < 0.5  # 32 kB compressed, 44 kB in base64
    layer = BlockSparseDense(512, layout=BlockLayout(mask, 1))
    clone = BlockSparseDense.from_config(layer.get_config())
    assert clone.layout == layer.layout


# --- Files ----------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"seed": 5},
        {"use_bias": False},
        {"sparsity": 1.0},
        {"layout": NO_MAKER},
        {"dtype": "bfloat16"},
        {"dtype": "mixed_float16"},
    ],
)
def test_keras_file(tmp_path, arguments):
    model = make_model(**arguments)
    model.save(tmp_path / "model.keras")
    assert same(model, keras.models.load_model(tmp_path / "model.keras"))


@pytest.mark.parametrize("arguments", [{}, {"use_bias": False}])
def test_weights_alone_restore_the_layout(tmp_path, arguments):
    path = tmp_path / "model.weights.h5"
    model, other = make_model(**arguments), make_model(**arguments)
    assert not same(model, other)
    model.save_weights(path)
    other.load_weights(path)
    assert same(model, other)


def test_changed_layout_is_saved(tmp_path):
    model = make_model(layout=NO_MAKER)
    new = BlockLayout(np.flip(NO_MAKER.mask), (8, 16), 48, 64)
    layer = model.get_layer("sparse")
    layer.packed_layout.assign(new.packed)
    model.save(tmp_path / "model.keras")
    other = keras.models.load_model(tmp_path / "model.keras")
    assert other.get_layer("sparse").layout == new
    assert same(model, other)


def test_checkpoint(tmp_path):
    model, other = make_model(), make_model()
    path = tf.train.Checkpoint(model=model).write(str(tmp_path / "checkpoint"))
    tf.train.Checkpoint(model=other).read(path).assert_consumed()
    assert same(model, other)


def test_training_goes_on_from_a_file(tmp_path):
    model = make_model()
    model.compile(keras.optimizers.Adam(), "mse")
    y = RNG.normal(size=(4, 3)).astype("float32")
    model.fit(X, y, verbose=0)
    model.save(tmp_path / "model.keras")
    other = keras.models.load_model(tmp_path / "model.keras")
    for each in (model, other):
        each.fit(X, y, verbose=0)
    np.testing.assert_allclose(model(X), other(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            set_weight("layout", BANDED.packed),
            "layout",
        ),
        (
            lambda weights: weights["layout"].write_direct(
                np.array([-1], np.int32), dest_sel=np.s_[1:2]
            ),
            "packed: got",
        ),
        (
            # The forward view is right, the transposed one is not.
            lambda weights: weights["layout"].write_direct(
                np.array([9999], np.int32), dest_sel=np.s_[-1:]
            ),
            "packed: got block_id",
        ),
        (set_weight("blocks", np.zeros((2, 8, 8))), "got .* blocks of shape"),
        (set_weight("bias", np.zeros(3)), "got a file with bias of shape"),
        (lambda weights: weights.pop("bias"), "got .* the weights .*layout"),
    ],
)
def test_damaged_file(tmp_path, change, message):
    path = tmp_path / "model.weights.h5"
    model = make_model()
    model.save_weights(path)
    edit_weights(path, change)
    other = make_model()
    before = other.get_layer("sparse").get_weights()
    with pytest.raises(ValueError, match=message):
        other.load_weights(path)
    for got, expected in zip(
        other.get_layer("sparse").get_weights(), before, strict=True
    ):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", ["model.keras", "model.weights.h5"])
def test_damaged_layout_is_not_written(tmp_path, name):
    model = make_model()
    layer = model.get_layer("sparse")
    weights = layer.get_weights()
    weights[-1][-1] = 9999
    layer.set_weights(weights)
    with pytest.raises(ValueError, match="packed: got block_id"):
        _ = layer.layout
    save = model.save if name == "model.keras" else model.save_weights
    with pytest.raises(ValueError, match="packed: got block_id"):
        save(tmp_path / name)


def test_other_number_of_blocks(tmp_path):
    path = tmp_path / "model.weights.h5"
    make_model(sparsity=0.5).save_weights(path)
    with pytest.raises(ValueError, match="the block_size and the sparsity"):
        make_model(sparsity=0.75).load_weights(path)


def test_file_of_dense_is_refused(tmp_path):
    path = tmp_path / "dense.weights.h5"
    dense = keras.Sequential(
        [
            keras.Input((48,)),
            keras.layers.Dense(64, name="sparse"),
            keras.layers.Dense(3),
        ]
    )
    dense.save_weights(path)
    with pytest.raises(ValueError, match=r"got .* the weights .* expected"):
        make_model().load_weights(path)


def test_file_size_follows_the_density(tmp_path):
    sizes = []
    for sparsity in (0.0, 0.9):
        model = keras.Sequential(
            [keras.Input((512,)), BlockSparseDense(512, sparsity=sparsity)]
        )
        path = tmp_path / f"{sparsity}.keras"
        model.save(path)
        sizes.append(path.stat().st_size)
    assert sizes[1] < 0.2 * sizes[0]


@pytest.mark.slow
def test_a_million_blocks_save_and_load_in_two_seconds(tmp_path):
    mask = RNG.random((4096, 4096)) < 1 / 16
    for arguments in (
        {"layout": BlockLayout(mask, 1)},
        {"block_size": 1, "sparsity": 15 / 16},
    ):
        layer = BlockSparseDense(4096, name="sparse", **arguments)
        model = keras.Sequential([keras.Input((4096,)), layer])
        # Of the processor, which others may share.
        start = time.process_time()
        model.save(tmp_path / "model.keras")
        other = keras.models.load_model(tmp_path / "model.keras")
        seconds = time.process_time() - start
        assert other.get_layer("sparse").layout == layer.layout
        assert seconds < 2, f"{seconds:.1f} s"


# --- Copies ---------------------------------------------------------------


def test_clone_model_without_a_seed_draws_another_layout():
    model = make_model()
    layout = model.get_layer("sparse").layout
    clone = keras.models.clone_model(model)
    assert model.get_layer("sparse").get_config()["seed"] is None
    assert clone.get_layer("sparse").layout != layout
    clone.set_weights(model.get_weights())
    assert same(model, clone)
    seeded = make_model(seed=3)
    clone = keras.models.clone_model(seeded)
    layout = seeded.get_layer("sparse").layout
    assert clone.get_layer("sparse").layout == layout


def test_clone_model():
    model = make_model(layout=NO_MAKER)
    clone = keras.models.clone_model(model)
    assert clone.get_layer("sparse").layout == NO_MAKER
    clone.set_weights(model.get_weights())
    assert same(model, clone)


@pytest.mark.parametrize("arguments", [{}, {"layout": NO_MAKER}])
def test_copies_of_models(arguments):
    model = make_model(**arguments)
    assert same(model, pickle.loads(pickle.dumps(model)))
    assert same(model, copy.deepcopy(model))


@pytest.mark.parametrize("built", [True, False])
def test_copies_of_layers(built):
    layer = BlockSparseDense(64, block_size=8, seed=1)
    if built:
        layer.build((None, 48))
    for other in (pickle.loads(pickle.dumps(layer)), copy.deepcopy(layer)):
        assert other.built == built
        assert other.get_config() == layer.get_config()
        if built:
            assert other.layout == layer.layout
