# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""A SavedModel whose layout was tampered with is an error, never a crash."""

import pathlib
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, ops
from tf_blocksparse.layers import BlockSparseConv2D, BlockSparseDense

INT32 = np.iinfo(np.int32)


def put(value, place):
    def spoil(packed):
        packed[place] = value

    return spoil


def reverse(packed):
    packed[:] = packed[::-1].copy()


def fill(packed):
    packed[:] = INT32.max


# Each spoils numbers that a product reads, both forward and back.
SPOILS = {
    "largest": put(INT32.max, slice(None, None, 3)),
    "least": put(INT32.min, slice(None, None, 3)),
    "negative": put(-1, slice(1, None, 2)),
    "beyond": put(10**6, slice(1, None, 2)),
    "reversed": reverse,
    "filled": fill,
}


def rewrite_variables(folder, spoil):
    """Spoils every layout among the variables of a SavedModel."""
    prefix = str(folder / "variables" / "variables")
    reader = tf.train.load_checkpoint(prefix)
    names = sorted(reader.get_variable_to_dtype_map())
    values = [reader.get_tensor(name) for name in names]
    found = 0
    for value in values:
        if getattr(value, "dtype", None) == np.int32 and value.ndim == 1:
            spoil(value)
            found += 1
    assert found > 0, names
    shutil.rmtree(folder / "variables")
    (folder / "variables").mkdir()
    tf.raw_ops.SaveV2(
        prefix=prefix + ".part",
        tensor_names=names,
        shape_and_slices=[""] * len(names),
        tensors=[tf.constant(value) for value in values],
    )
    tf.raw_ops.MergeV2Checkpoints(
        checkpoint_prefixes=[prefix + ".part"], destination_prefix=prefix
    )


def rewrite_constants(folder, packed, spoil):
    """Spoils the constant that a layout is in a graph."""
    spoilt = packed.copy()
    spoil(spoilt)
    path = folder / "saved_model.pb"
    before = path.read_bytes()
    assert packed.tobytes() in before
    path.write_bytes(before.replace(packed.tobytes(), spoilt.tobytes()))


def exported_layers(folder):
    model = keras.Sequential(
        [
            keras.Input((6, 6, 8)),
            BlockSparseConv2D(16, 3, block_size=4, sparsity=0.5, seed=0),
            keras.layers.Flatten(),
            BlockSparseDense(24, block_size=8, sparsity=0.5, seed=0),
        ]
    )
    model.export(folder, verbose=False)
    return lambda loaded: loaded.serve(np.ones((2, 6, 6, 8), np.float32))


@pytest.fixture(scope="module")
def of_layers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layers") / "model"
    return folder, exported_layers(str(folder))


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS)
def test_spoilt_variables(of_layers, tmp_path, spoil):
    folder, call = of_layers
    copy = pathlib.Path(shutil.copytree(folder, tmp_path / "model"))
    assert call(tf.saved_model.load(str(copy))).shape == (2, 24)
    rewrite_variables(copy, spoil)
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected"):
        call(tf.saved_model.load(str(copy)))


class Module(tf.Module):
    """A product and both of its gradients, with layouts in the graph."""

    layout = BlockLayout.random((64, 48), 8, sparsity=0.5, seed=0)

    def __init__(self):
        super().__init__()
        self.blocks = tf.Variable(tf.ones(self.layout.blocks_shape))

    @tf.function(input_signature=[tf.TensorSpec([None, 64])])
    def __call__(self, x):
        return ops.matmul(x, self.blocks, self.layout)

    @tf.function(input_signature=[tf.TensorSpec([None, 48])])
    def backward(self, x):
        return ops.matmul(x, self.blocks, self.layout, transpose=True)

    @tf.function(
        input_signature=[tf.TensorSpec([None, 64]), tf.TensorSpec([None, 48])]
    )
    def sampled(self, x, y):
        return ops.sampled_matmul(x, y, self.layout)


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS)
def test_spoilt_constants(tmp_path, spoil):
    tf.saved_model.save(Module(), str(tmp_path / "model"))
    rewrite_constants(tmp_path / "model", Module.layout.packed, spoil)
    x, y = tf.ones([3, 64]), tf.ones([3, 48])
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    for call in (
        lambda: loaded(x),
        lambda: loaded.backward(y),
        lambda: loaded.sampled(x, y),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match="expected"):
            call()


# --- Configs --------------------------------------------------------------


def edited(config, path, value):
    """A copy of nested dicts and lists with one entry replaced."""
    copy = config.copy()
    first, *rest = path
    copy[first] = edited(copy[first], rest, value) if rest else value
    return copy


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["block_size"], -8),
        (["block_size"], [2**40, 1]),
        (["block_size"], "8"),
        (["units"], 2**70),
        (["sparsity"], float("nan")),
        (["sparsity"], 7.5),
        (["layout"], {"class_name": "BlockLayout"}),
        (["layout"], "x" * 1000),
        (["layout"], [[0, 1]] * 3),
        (["seed"], -1),
    ],
)
def test_spoilt_config_of_a_keras_file(path, value):
    layer = BlockSparseDense(24, block_size=8, sparsity=0.5, seed=0)
    model = keras.Sequential([keras.Input((64,)), layer])
    config = model.get_config()
    place = next(
        i
        for i, entry in enumerate(config["layers"])
        if entry["config"].get("block_size") is not None
    )
    spoilt = edited(config, ["layers", place, "config", *path], value)
    # Keras makes a TypeError of what a layer says, and quotes it.
    with pytest.raises((ValueError, TypeError), match=r"got|expected"):
        keras.Sequential.from_config(spoilt)
