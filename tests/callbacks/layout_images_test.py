# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The images that `LayoutImages` writes for TensorBoard."""

import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import callbacks, layers
from tf_blocksparse.inspection import Inspection, layout_image, norm_image


def make_model():
    model = keras.Sequential(
        [
            keras.Input((32,)),
            layers.BlockSparseDense(
                32, block_size=8, sparsity=0.5, gate="mask", name="masked"
            ),
            keras.Sequential(
                [
                    keras.Input((32,)),
                    layers.BlockSparseDense(
                        32, block_size=8, sparsity=0.5, seed=2, name="second"
                    ),
                ],
                name="inner",
            ),
        ]
    )
    model.compile("sgd", "mse")
    return model


def fit(model, images, **arguments):
    x = np.ones((4, 32), np.float32)
    model.fit(x, x, callbacks=[images], verbose=0, **arguments)


def events(folder):
    """(step, tag) -> image, of every event file in a folder."""
    found = {}
    for file in sorted(folder.glob("events.*")):
        for record in tf.data.TFRecordDataset(str(file)):
            event = tf.compat.v1.Event.FromString(record.numpy())
            for value in event.summary.value:
                assert value.metadata.plugin_data.plugin_name == "images"
                # Width, height and a PNG for each image.
                width, height, data = tf.make_ndarray(value.tensor)
                image = tf.io.decode_png(data).numpy()[:, :, 0]
                assert image.shape == (int(height), int(width))
                found[event.step, value.tag] = image
    return found


def test_tags_and_steps(tmp_path):
    model = make_model()
    fit(model, callbacks.LayoutImages(tmp_path, frequency=2), epochs=5)
    found = events(tmp_path)
    assert {step for step, _ in found} == {0, 2, 4, 5}
    assert {tag for _, tag in found} == {
        "layouts/masked",
        "norms/masked",
        "layouts/inner/second",
        "norms/inner/second",
    }
    assert len(found) == 16


def test_images_are_those_of_the_moment(tmp_path):
    model = make_model()
    (before, _) = Inspection.of(model).layers

    class Close(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            mask = np.arange(8) != epoch
            self.model.layers[0].gate_mask.assign(mask)

    images = callbacks.LayoutImages(tmp_path, pixels=64)
    model.fit(
        np.ones((4, 32)),
        np.ones((4, 32)),
        epochs=2,
        callbacks=[images, Close()],
        verbose=0,
    )
    (after, second) = Inspection.of(model).layers
    assert after.closed == 1
    found = events(tmp_path)
    for name, draw in (("layouts", layout_image), ("norms", norm_image)):
        for step, layer in ((0, before), (2, after)):
            np.testing.assert_array_equal(
                found[step, f"{name}/masked"], draw(layer, 64)
            )
        np.testing.assert_array_equal(
            found[2, f"{name}/inner/second"], draw(second, 64)
        )
    assert found[0, "layouts/masked"].shape == (64, 64)
    assert np.any(found[1, "layouts/masked"] != found[2, "layouts/masked"])


def test_training_that_goes_on(tmp_path):
    model = make_model()
    images = callbacks.LayoutImages(tmp_path)
    fit(model, images, epochs=1)
    fit(model, images, initial_epoch=1, epochs=2)
    assert {step for step, _ in events(tmp_path)} == {0, 1, 2}


def test_a_model_that_is_built_by_the_first_step(tmp_path):
    model = keras.Sequential([layers.BlockSparseDense(32, sparsity=0.0)])
    model.compile("sgd", "mse")
    fit(model, callbacks.LayoutImages(tmp_path), epochs=1)
    assert 1 in {step for step, _ in events(tmp_path)}


def test_a_model_without_block_sparse_layers(tmp_path):
    model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(32)])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="without a block-sparse layer"):
        fit(model, callbacks.LayoutImages(tmp_path))


@pytest.mark.parametrize("name", ["frequency", "pixels"])
def test_numbers_that_it_refuses(tmp_path, name):
    with pytest.raises(ValueError, match=f"{name}: got int 0"):
        callbacks.LayoutImages(tmp_path, **{name: 0})


def test_tensorboard_need_not_be_installed(tmp_path):
    program = f"""
import sys
sys.modules["tensorboard"] = None
import keras
from tf_blocksparse import callbacks, layers
model = keras.Sequential([keras.Input((32,)), layers.BlockSparseDense(32)])
model.compile("sgd", "mse")
x = keras.ops.ones((2, 32))
images = callbacks.LayoutImages({str(tmp_path)!r})
model.fit(x, x, callbacks=[images], verbose=0)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    assert {step for step, _ in events(tmp_path)} == {0, 1}
