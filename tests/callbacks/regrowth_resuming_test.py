# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""A training that RigL or SET take part in goes on as if never interrupted."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import layers
from tf_blocksparse.callbacks import SET, RigL

RNG = np.random.default_rng(0)
X = RNG.normal(size=(64, 24)).astype("float32")
Y = np.tanh(X @ RNG.normal(size=(24, 3))).astype("float32")
WEIGHTS = RNG.random(64).astype("float32")


class Parts(keras.utils.PyDataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        rows = slice(8 * index, 8 * index + 8)
        return X[rows], Y[rows]


def dataset():
    data = tf.data.Dataset.from_tensor_slices((X, Y))
    return data.shuffle(64, seed=3).batch(12)


def rows_of(step):
    return X[step % 50 : step % 50 + 9], Y[step % 50 : step % 50 + 9]


def rigl(data):
    return RigL(data, end_step=40, frequency=3, fraction=0.5, batch_size=10)


# Each makes the callback anew, as another process would.
CALLBACKS = {
    "set": lambda: SET(end_step=40, frequency=3, fraction=0.5),
    "arrays": lambda: rigl((tf.constant(X), Y, WEIGHTS)),
    "dataset": lambda: rigl(dataset()),
    "py_dataset": lambda: rigl(Parts(workers=1)),
    "function": lambda: rigl(rows_of),
}


def make():
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((24,)),
            layers.BlockSparseDense(
                32, "relu", block_size=4, sparsity=0.6, seed=5
            ),
            keras.layers.Dense(3),
        ]
    )
    model.compile(keras.optimizers.Adam(0.01), "mse")
    return model


def fit(model, callbacks, first, epochs):
    model.fit(
        X,
        Y,
        8,
        epochs,
        initial_epoch=first,
        shuffle=False,
        verbose=0,
        callbacks=callbacks,
    )


def same(one, two):
    for a, b in zip(one.variables, two.variables, strict=True):
        np.testing.assert_array_equal(a, b)
    pairs = zip(one.optimizer.variables, two.optimizer.variables, strict=True)
    for a, b in pairs:
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", CALLBACKS)
def test_through_a_file(name, tmp_path):
    """Of the second of four epochs: a step after an update."""
    model = make()
    start = model.layers[0].layout
    save = keras.callbacks.ModelCheckpoint(tmp_path / "{epoch}.keras")
    fit(model, [CALLBACKS[name](), save], 0, 4)
    again = keras.saving.load_model(tmp_path / "2.keras")
    middle = again.layers[0].layout
    fit(again, [CALLBACKS[name]()], 2, 4)
    assert again.optimizer.iterations.numpy() == 32
    assert start != middle != again.layers[0].layout
    same(again, model)


def test_through_backup_and_restore(tmp_path):
    """It restores as a training begins, after the model was set."""

    class Stop(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if epoch == 2:
                raise KeyboardInterrupt

    def callbacks():
        backup = keras.callbacks.BackupAndRestore(tmp_path, "epoch")
        return [CALLBACKS["arrays"](), backup]

    whole = make()
    fit(whole, [CALLBACKS["arrays"]()], 0, 4)
    with pytest.raises(KeyboardInterrupt):
        fit(make(), [*callbacks(), Stop()], 0, 4)
    again = make()
    fit(again, callbacks(), 0, 4)
    same(again, whole)


def test_through_checkpoints_of_tensorflow(tmp_path):
    def train(model, optimizer, callback, steps):
        for step in steps:
            rows = slice(step % 8 * 8, step % 8 * 8 + 8)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(X[rows]) - Y[rows]) ** 2)
            weights = model.trainable_variables
            values = [each.value for each in weights]
            optimizer.apply(tape.gradient(loss, values), weights)
            callback.step(X[rows], Y[rows])

    def begin(path=None):
        model = make()
        optimizer = keras.optimizers.SGD(0.1, 0.9)
        optimizer.build(model.trainable_variables)
        checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)
        if path is not None:
            checkpoint.restore(path)
        callback = RigL(end_step=40, frequency=3, fraction=0.5)
        callback.start(model, optimizer)
        return model, optimizer, callback, checkpoint

    model, optimizer, callback, checkpoint = begin()
    train(model, optimizer, callback, range(12))
    path = checkpoint.save(tmp_path / "checkpoint")
    train(model, optimizer, callback, range(12, 24))
    again, optimizer, callback, _ = begin(path)
    train(again, optimizer, callback, range(12, 24))
    for a, b in zip(again.variables, model.variables, strict=True):
        np.testing.assert_array_equal(a, b)


def test_iterables_go_on_and_start_over():
    batches = [rows_of(step) for step in (1, 2)]
    drawn = rigl(batches)._batches
    sizes = [drawn.draw(step, 0)[0][0, 0] for step in range(3)]
    assert sizes == [X[1, 0], X[2, 0], X[1, 0]]


def test_a_generator_that_has_ended():
    callback = rigl(rows_of(step) for step in range(2))
    with pytest.raises(ValueError, match="without a batch left"):
        fit(make(), [callback], 0, 2)
