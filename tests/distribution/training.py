# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""A small training, for the programs and tests of this folder."""

import pathlib

import keras
import numpy as np
import tensorflow as tf

from tf_blocksparse import callbacks, layers, optimizers, schedules
from tf_blocksparse.regularizers import GroupLasso

BATCH = 16
RNG = np.random.default_rng(0)
X = RNG.normal(size=(64, 6, 6, 8)).astype(np.float32)
Y = RNG.normal(size=(64, 4)).astype(np.float32)


def make_model(gate=None, make_gate=lambda: None):
    """One layer of each kind of weight, from the same numbers each time."""
    keras.utils.set_random_seed(1)
    return keras.Sequential(
        [
            keras.Input(X.shape[1:]),
            layers.BlockSparseConv2D(
                16,
                3,
                block_size=4,
                sparsity=0.5,
                seed=1,
                gate=gate,
                kernel_regularizer="l2",
            ),
            layers.EdgeBias(3, padding="same"),
            keras.layers.GlobalAveragePooling2D(),
            layers.BlockSparseDense(
                32,
                "gelu",
                block_size=4,
                sparsity=0.5,
                seed=2,
                gate=make_gate() or gate,
            ),
            keras.layers.Dense(4),
        ]
    )


def concrete_gate():
    return layers.ConcreteGate(1e-3, seed=3)


def rigl(worker=0):
    return callbacks.RigL(end_step=99, frequency=2)


def evolution(worker=0):
    # A worker that decided by itself would do so by its own seed.
    return callbacks.SET(end_step=99, frequency=2, seed=worker)


def pruning(worker=0):
    return callbacks.BlockPruning(
        schedules.Polynomial(0.5, 0.8, 0, 5, frequency=2)
    )


def proximal_step(worker=0):
    return callbacks.ProximalStep(GroupLasso(4.0))


# How models are made, and what happens between their steps: one after the
# other in one training, since tracing takes longer than all of the steps.
TRAININGS = [
    ({"gate": "mask"}, [pruning]),
    ({}, [rigl, evolution, proximal_step]),
]
STAGES = [make.__name__ for _, stages in TRAININGS for make in stages]
STEPS = 4  # of each stage; blocks move, or are closed, at two of them


def mean_square(y, y_pred):
    return tf.reduce_mean((y - y_pred) ** 2)


class Loop:
    """A custom training loop in a distribution strategy."""

    def __init__(self, strategy, **model):
        self.strategy = strategy
        with strategy.scope():
            self.model = make_model(**model)
            self.optimizer = optimizers.Adam(1e-2)
            self.optimizer.build(self.model.trainable_variables)
        self.step = tf.function(self._step)
        self.losses = []

    def run(self, callback, steps=STEPS):
        """Trains on, with a callback of this package."""
        callback.start(self.model, self.optimizer, mean_square)
        first = int(self.optimizer.iterations.numpy())
        self.losses = []
        options = tf.data.Options()
        options.experimental_distribute.auto_shard_policy = (
            tf.data.experimental.AutoShardPolicy.DATA
        )
        data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH)
        data = data.repeat().skip(first).take(steps).with_options(options)
        for x, y in self.strategy.experimental_distribute_dataset(data):
            self.losses.append(float(self.step(x, y)))
            callback.step(x, y)
        return self

    def _step(self, x, y):
        losses = self.strategy.run(self._replica_step, (x, y))
        return self.strategy.reduce("SUM", losses, axis=None)

    def _replica_step(self, x, y):
        with tf.GradientTape() as tape:
            loss = mean_square(y, self.model(x, training=True))
            loss += sum(self.model.losses)
            # Keras adds up the gradients of the replicas.
            loss /= self.strategy.num_replicas_in_sync
        variables = self.model.trainable_variables
        self.optimizer.apply(tape.gradient(loss, variables), variables)
        return loss

    def write(self, path):
        """Writes the weights, and the losses of the last run, to a file."""
        np.savez(path, *self.model.get_weights(), losses=self.losses)

    def check(self, path):
        """Compares with what `write` has written."""
        with np.load(path) as file:
            expected = [file[name] for name in file.files if name != "losses"]
            np.testing.assert_allclose(self.losses, file["losses"], rtol=1e-5)
        assert_same(self.model, expected)

    def all_bytes(self):
        """Every number of the training, to compare to the last bit."""
        variables = [*self.model.variables, *self.optimizer.variables]
        return b"".join(each.numpy().tobytes() for each in variables)

    def checkpoint(self):
        return tf.train.Checkpoint(model=self.model, optimizer=self.optimizer)

    def save(self, folder):
        """Writes everything in each kind of file."""
        folder = pathlib.Path(folder)
        folder.mkdir()
        self.checkpoint().write(str(folder / "checkpoint"))
        self.model.save(folder / "model.keras")
        self.model.save_weights(folder / "model.weights.h5")
        np.save(folder / "y.npy", self.model(X))

    def restore(self, folder):
        """Goes on from a checkpoint, once the other files were looked at."""
        folder = pathlib.Path(folder)
        y = np.load(folder / "y.npy")
        self.model.load_weights(folder / "model.weights.h5")
        np.testing.assert_allclose(self.model(X), y, rtol=1e-5, atol=1e-6)
        with self.strategy.scope():
            loaded = keras.models.load_model(folder / "model.keras")
        np.testing.assert_allclose(loaded(X), y, rtol=1e-5, atol=1e-6)
        status = self.checkpoint().read(str(folder / "checkpoint"))
        status.assert_existing_objects_matched()
        np.testing.assert_allclose(self.model(X), y, rtol=1e-5, atol=1e-6)
        return self


def assert_same(model, expected):
    """Floats are equal to rounding, integers and bools exactly."""
    for variable, wanted in zip(model.weights, expected, strict=True):
        got = variable.numpy()
        assert got.dtype == wanted.dtype
        # A hundredth of what Adam moves a number in a step.
        atol = 1e-4 if got.dtype.kind == "f" else 0
        np.testing.assert_allclose(
            got, wanted, rtol=0, atol=atol, err_msg=variable.path
        )
