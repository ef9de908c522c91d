# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Trains on two logical CPUs and on one, and compares.

    mirrored_program.py FOLDER

goes on from FOLDER/single, writes FOLDER/mirrored and what one device does with
each callback, and prints a line for each check that has passed.
"""

import sys

import tensorflow as tf

# Before TensorFlow looks at its devices.
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0],
    [tf.config.LogicalDeviceConfiguration()] * 2,
)

import keras  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402
import training  # noqa: E402

from tf_blocksparse import callbacks, optimizers  # noqa: E402

# One for all: TensorFlow takes the sums of two strategies for the same.
STRATEGY = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def fit(strategy, optimizer, callback, **model):
    with strategy.scope():
        made = training.make_model(**model)
        made.compile(optimizer(), "mse")
    history = made.fit(
        training.X,
        training.Y,
        batch_size=training.BATCH,
        epochs=2,
        shuffle=False,
        verbose=0,
        callbacks=[callback] if callback else None,
    )
    return made, history.history["loss"]


def check_replicas(variables):
    """Every replica has the same, to the bit."""
    for variable in variables:
        first, *others = (each.numpy() for each in variable.value.values)
        assert others
        for other in others:
            np.testing.assert_array_equal(first, other, err_msg=variable.path)


def check_fit(name, optimizer, make=lambda: None, **model):
    """`fit` with two replicas does as with one device."""
    single, expected = fit(
        tf.distribute.get_strategy(), optimizer, make(), **model
    )
    model, losses = fit(STRATEGY, optimizer, make(), **model)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    training.assert_same(model, single.get_weights())
    check_replicas([*model.variables, *model.optimizer.variables])
    print("passed: fit", name, flush=True)


def check_stage(single, loop, make, folder):
    """The same in a custom loop, whose batches are values of replicas."""
    path = f"{folder}/{make.__name__}.npz"
    single.run(make()).write(path)
    loop.run(make()).check(path)
    check_replicas([*loop.model.variables, *loop.optimizer.variables])
    print("passed: loop", make.__name__, flush=True)


def check_refused(loop):
    """Values of replicas beside such as are none."""
    rigl = callbacks.RigL(end_step=99, frequency=1)
    rigl.start(loop.model, loop.optimizer, training.mean_square)
    data = tf.data.Dataset.from_tensors(training.X[:4])
    loop.optimizer.iterations.assign_add(1)
    x = next(iter(STRATEGY.experimental_distribute_dataset(data)))
    with pytest.raises(ValueError, match="beside values of replicas"):
        rigl.step(x, training.Y[:4])
    print("passed: refused", flush=True)


def main(folder):
    # Which, unlike Adam, gradients too large by a factor would change.
    check_fit(
        "SGD and ConcreteGate",
        lambda: keras.optimizers.SGD(0.1, momentum=0.9),
        make_gate=training.concrete_gate,
    )
    check_fit(
        "Adam and RigL",
        lambda: optimizers.Adam(1e-2),
        lambda: callbacks.RigL(
            (training.X, training.Y), end_step=99, frequency=2
        ),
    )
    for model, stages in training.TRAININGS:
        single = training.Loop(tf.distribute.get_strategy(), **model)
        loop = training.Loop(STRATEGY, **model)
        for make in stages:
            check_stage(single, loop, make, folder)
    check_refused(loop)
    # Of what the model has learnt since, nothing is left then.
    loop.restore(f"{folder}/single").run(training.rigl(), steps=3)
    loop.save(f"{folder}/mirrored")
    print("passed: went on", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
