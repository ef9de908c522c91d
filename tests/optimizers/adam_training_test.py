# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Models trained by Adam: beside Keras's, saved and loaded, in strategies."""

import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse.layers import BlockSparseDense
from tf_blocksparse.optimizers import Adam


def model_of(optimizer, **compiled):
    keras.utils.set_random_seed(3)
    model = keras.Sequential(
        [
            keras.Input((64,)),
            BlockSparseDense(128, "relu", block_size=16, sparsity=0.5),
            keras.layers.Dense(4),
        ]
    )
    model.compile(optimizer, "mse", **compiled)
    return model


def examples(count=640):
    rng = np.random.default_rng(5)
    x = rng.standard_normal((count, 64), np.float32)
    return x, np.tanh(x[:, :4] * x[:, 4:8])


def losses(model, count=640):
    """The loss of each step; 20 by default."""
    found = []
    x, y = examples(count)
    for i in range(0, count, 32):
        found.append(model.train_on_batch(x[i : i + 32], y[i : i + 32]))
    return np.asarray(found)


@pytest.mark.parametrize("compiled", [{}, {"run_eagerly": True}])
def test_losses_are_those_of_keras(compiled):
    expected = losses(model_of(keras.optimizers.Adam(0.01), **compiled))
    actual = losses(model_of(Adam(0.01), **compiled))
    assert expected[-1] < expected[0]
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-3)


def test_a_dense_model_compiled_by_xla_trains():
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(4)])
    model.compile(Adam(0.01), "mse", jit_compile=True)
    found = losses(model)
    assert found[-1] < found[0]


def test_config_round_trip():
    optimizer = Adam(
        keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5),
        0.8,
        0.99,
        1e-6,
        True,
        weight_decay=0.1,
        clipnorm=1.0,
    )
    for copy in (
        Adam.from_config(optimizer.get_config()),
        keras.optimizers.deserialize(keras.optimizers.serialize(optimizer)),
    ):
        assert type(copy) is Adam
        assert copy.get_config() == optimizer.get_config()
    twin = keras.optimizers.Adam.from_config(optimizer.get_config())
    assert twin.get_config() == optimizer.get_config()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Adam, Adam),
        (Adam, keras.optimizers.Adam),
        (keras.optimizers.Adam, Adam),
    ],
)
def test_training_goes_on_from_the_state_of_either(before, after):
    one = model_of(before(0.01))
    losses(one)
    other = model_of(after(0.01))
    other.set_weights(one.get_weights())
    other.optimizer.build(other.trainable_variables)
    store = {}
    one.optimizer.save_own_variables(store)
    other.optimizer.load_own_variables(store)
    np.testing.assert_allclose(losses(other), losses(one), atol=1e-6)


def test_a_saved_model_resumes_as_if_it_never_ended(tmp_path):
    model = model_of(Adam(0.01, weight_decay=1e-3))
    losses(model)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert type(loaded.optimizer) is Adam
    assert loaded.optimizer.iterations.numpy() == 20
    np.testing.assert_array_equal(losses(loaded), losses(model))


def test_mixed_precision_scales_losses():
    keras.config.set_dtype_policy("mixed_float16")
    try:
        results = [
            losses(model_of(kind(0.01)))
            for kind in (keras.optimizers.Adam, Adam)
        ]
        model = model_of(Adam(0.01))
    finally:
        keras.config.set_dtype_policy("float32")
    assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    np.testing.assert_allclose(*results, atol=1e-3)


def test_a_loop_of_ones_own():
    model = model_of(None)
    optimizer = Adam(0.01)
    x, y = map(tf.constant, examples(64))

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    found = [step().numpy() for _ in range(20)]
    assert found[-1] < found[0]
    assert optimizer.iterations.numpy() == 20


def test_embeddings_beside_dense_layers():
    results = []
    ids = np.arange(60).reshape(20, 3) % 7
    for kind in (keras.optimizers.Adam, Adam):
        keras.utils.set_random_seed(3)
        model = keras.Sequential(
            [
                keras.Input((3,), dtype="int32"),
                keras.layers.Embedding(7, 16),
                keras.layers.Flatten(),
                keras.layers.Dense(1),
            ]
        )
        model.compile(kind(0.01), "mse")
        model.fit(ids, np.ones([20, 1]), epochs=3, verbose=0)
        results.append(model.get_weights())
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


# Logical devices have to be made before TensorFlow has started.
_REPLICAS = """
import keras, numpy as np, sys, tensorflow as tf
from tf_blocksparse.layers import BlockSparseDense
from tf_blocksparse.optimizers import Adam
(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(
    cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
x = np.random.default_rng(5).standard_normal((64, 64), np.float32)
weights = []
for kind in (keras.optimizers.Adam, Adam):
    keras.utils.set_random_seed(3)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    assert strategy.num_replicas_in_sync == 2
    with strategy.scope():
        model = keras.Sequential([
            keras.Input((64,)),
            BlockSparseDense(64, "relu", block_size=16, sparsity=0.5),
            keras.layers.Dense(4)])
        model.compile(kind(0.01), "mse")
    model.fit(x, x[:, :4], 32, epochs=3, shuffle=False, verbose=0)
    for each in model.trainable_variables:
        one, other = strategy.experimental_local_results(each.value)
        np.testing.assert_array_equal(one, other)
    weights.append(model.get_weights())
for one, other in zip(*weights):
    np.testing.assert_allclose(one, other, atol=1e-6)
"""


def test_mirrored_replicas_agree_with_each_other_and_keras():
    result = subprocess.run(
        [sys.executable, "-c", _REPLICAS],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
