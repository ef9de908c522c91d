# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The convolution layers in configs, files and copies."""

import copy
import json
import pickle

import h5py
import keras
import numpy as np
import pytest
from conv_twins import (
    CONV,
    FILTERS,
    GROUPS,
    INPUTS,
    KERNEL_SIZE,
    LAYERS,
    TRANSPOSE,
    case_name,
    keras_class,
    make,
)

from tf_blocksparse.layers import BlockSparseConv2D
from tf_blocksparse.layout import BlockLayout

every_layer = pytest.mark.parametrize("kind", LAYERS, ids=case_name)
per_tap_or_not = pytest.mark.parametrize("per_tap", [False, True])


def make_model(kind, **arguments):
    layer, x = make(kind, name="sparse", **arguments)
    return keras.Sequential([keras.Input(x.shape[1:]), layer]), x


def same(model, other, x):
    """Whether two models have one layout and one result."""
    layouts = [m.get_layer("sparse").layout for m in (model, other)]
    return layouts[0] == layouts[1] and np.array_equal(model(x), other(x))


# --- Config ---------------------------------------------------------------


@every_layer
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"strides": 2, "padding": "same", "data_format": "channels_first"},
        {"padding": ((1, 0), (0, 2), (1, 1)), "dilation_rate": 2},
        {"padding": 1, "activation": keras.layers.LeakyReLU(0.1)},
        {"per_tap": True, "dtype": "mixed_bfloat16", "trainable": False},
        {"seed": 7, "use_bias": False, "kernel_constraint": "non_neg"},
    ],
    ids=case_name,
)
def test_config_round_trip(kind, arguments):
    layer, x = make(kind, **arguments)
    config = json.loads(json.dumps(layer.get_config()))
    clone = kind.from_config(config)
    assert clone.get_config() == layer.get_config()
    assert json.loads(json.dumps(config)) == config, "from_config changed it"
    clone.build(x.shape)
    assert clone.blocks.shape == layer.blocks.shape
    if "per_tap" in arguments or "seed" in arguments:
        assert clone.layout == layer.layout
    same_class = keras.layers.deserialize(keras.layers.serialize(layer))
    assert same_class.get_config() == layer.get_config()


def test_config_keeps_groups():
    layer, x = make(BlockSparseConv2D, **GROUPS)
    clone = BlockSparseConv2D.from_config(layer.get_config())
    clone.build(x.shape)
    assert clone.groups == 2
    assert clone.layout.nnz == layer.layout.nnz


@pytest.mark.parametrize("kind", TRANSPOSE, ids=case_name)
def test_config_keeps_output_padding(kind):
    layer, _ = make(kind, strides=2, output_padding=1)
    clone = kind.from_config(json.loads(json.dumps(layer.get_config())))
    assert clone.output_padding == (1,) * kind.rank


@every_layer
def test_config_of_keras_is_a_config(kind):
    theirs = keras_class(kind)(8, 3, 2, "same", activation="relu")
    config = theirs.get_config()
    ours = kind.from_config({**config, "block_size": 4}).get_config()
    # Keras leaves this one out of layers that have none.
    assert config.pop("activity_regularizer") is None
    assert {name: ours[name] for name in config} == config


@pytest.mark.parametrize("groups", [1, 2])
@per_tap_or_not
def test_large_layout_stays_out_of_the_config(groups, per_tap):
    rng = np.random.default_rng(0)
    mask = rng.random((9, 512, 512) if per_tap else (1024, 1024)) < 0.3
    half = mask.shape[-1] // 2
    if groups == 2:
        mask[..., :half, half:] = mask[..., half:, :half] = False
    layout = BlockLayout(mask, 1)
    layer = BlockSparseConv2D(2 * half, 3, groups=groups, layout=layout)
    config = layer.get_config()
    assert len(json.dumps(config)) < 2000
    clone = BlockSparseConv2D.from_config(config)
    assert clone.layout.taps == layout.taps
    assert clone.layout.nnz == layout.nnz
    for each in (layer, clone):
        each.build((None, 3, 3, 2 * half))
    clone.set_weights(layer.get_weights())
    assert clone.layout == layout


# --- Files ----------------------------------------------------------------


@every_layer
@per_tap_or_not
def test_keras_file(tmp_path, kind, per_tap):
    arguments = {"per_tap": per_tap, "padding": 1, "strides": 2}
    model, x = make_model(kind, **arguments)
    model.save(tmp_path / "model.keras")
    assert same(model, keras.models.load_model(tmp_path / "model.keras"), x)


@pytest.mark.parametrize(
    "arguments",
    [{"dtype": "mixed_float16"}, {"dtype": "bfloat16"}, {"sparsity": 1.0},
     {"use_bias": False}, GROUPS],
    ids=case_name,
)  # fmt: skip
def test_keras_file_of_arguments(tmp_path, arguments):
    model, x = make_model(BlockSparseConv2D, **arguments)
    model.save(tmp_path / "model.keras")
    assert same(model, keras.models.load_model(tmp_path / "model.keras"), x)


@every_layer
@per_tap_or_not
def test_weights_alone_restore_the_layout(tmp_path, kind, per_tap):
    model, x = make_model(kind, per_tap=per_tap)
    other, _ = make_model(kind, per_tap=per_tap)
    taps = [int(np.prod(KERNEL_SIZE[kind.rank]))] if per_tap else []
    layout = BlockLayout.random(
        (*taps, INPUTS, FILTERS), 4, sparsity=0.6, seed=99
    )
    layer = model.get_layer("sparse")
    layer.packed_layout.assign(layout.packed)
    assert not same(model, other, x)
    path = tmp_path / "model.weights.h5"
    model.save_weights(path)
    other.load_weights(path)
    assert same(model, other, x)
    assert other.get_layer("sparse").layout == layout


def set_weight(name, value):
    def change(weights):
        del weights[name]
        weights[name] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            set_weight("blocks", np.zeros((2, 9, 8, 8))),
            r"got .* blocks of shape .* is \(nnz, taps, b_in, b_out\)",
        ),
        (set_weight("blocks", np.zeros((2, 8, 8))), r"is \(nnz, b_in, b_out\)"),
        (
            set_weight("bias", np.zeros(3)),
            r"a file with bias of shape .* with the filters and the inputs",
        ),
        (
            lambda weights: weights["layout"].write_direct(
                np.array([9999], np.int32), dest_sel=np.s_[-1:]
            ),
            "packed: got block_id",
        ),
    ],
)
@per_tap_or_not
def test_damaged_file(tmp_path, per_tap, change, message):
    path = tmp_path / "model.weights.h5"
    model, _ = make_model(BlockSparseConv2D, per_tap=per_tap)
    model.save_weights(path)
    with h5py.File(path, "r+") as file:
        (name,) = file["layers"]
        change(file["layers"][name]["vars"])
    before = model.get_weights()
    with pytest.raises(ValueError, match=message):
        model.load_weights(path)
    assert all(map(np.array_equal, before, model.get_weights()))


def test_layout_of_the_other_kind_is_refused(tmp_path):
    path = tmp_path / "model.weights.h5"
    make_model(BlockSparseConv2D)[0].save_weights(path)
    with pytest.raises(ValueError, match="or the layout, of the saved one"):
        make_model(BlockSparseConv2D, per_tap=True)[0].load_weights(path)


def test_layout_outside_of_the_groups_is_refused(tmp_path):
    path = tmp_path / "model.weights.h5"
    model, _ = make_model(BlockSparseConv2D, **GROUPS)
    mask = np.zeros((6, 4))
    mask[0] = mask[5, 0] = 1
    no_groups = {"inputs": 24, "layout": BlockLayout(mask, (4, 5))}
    make_model(BlockSparseConv2D, **no_groups)[0].save_weights(path)
    with pytest.raises(ValueError, match="are of two of the 2 groups"):
        model.load_weights(path)


def test_damaged_layout_is_not_written(tmp_path):
    model, _ = make_model(BlockSparseConv2D, per_tap=True)
    weights = model.get_weights()
    weights[-1][-1] = 9999
    model.set_weights(weights)
    with pytest.raises(ValueError, match="packed: got block_id"):
        model.save(tmp_path / "model.keras")


# --- Copies ---------------------------------------------------------------


@pytest.mark.parametrize("kind", [CONV[1], TRANSPOSE[1]], ids=case_name)
@per_tap_or_not
def test_copies(kind, per_tap):
    model, x = make_model(kind, per_tap=per_tap)
    assert same(model, pickle.loads(pickle.dumps(model)), x)
    assert same(model, copy.deepcopy(model), x)
    clone = keras.models.clone_model(model)
    assert (model.layers[0].layout == clone.layers[0].layout) == per_tap
    clone.set_weights(model.get_weights())
    assert same(model, clone, x)
