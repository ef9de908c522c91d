# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Pruning that was interrupted, and pruning that cannot begin."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import compact, schedules
from tf_blocksparse.callbacks import BlockPruning
from tf_blocksparse.layers import BlockSparseDense

RNG = np.random.default_rng(0)
X = RNG.normal(size=(96, 30)).astype("float32")
Y = np.tanh(X @ RNG.normal(size=(30, 3))).astype("float32")


def dense(units, **arguments):
    arguments = {"block_size": 8, "sparsity": 0.0, "gate": "mask", **arguments}
    return BlockSparseDense(units, "relu", **arguments)


def small_model(optimizer=None, run_eagerly=True, **arguments):
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((30,)),
            dense(44, **arguments),
            dense(20, **arguments),
            keras.layers.Dense(3),
        ]
    )
    optimizer = optimizer or keras.optimizers.Adam(0.01)
    # Few steps take less time than making a graph.
    model.compile(optimizer, "mse", run_eagerly=run_eagerly)
    return model


def fit(model, pruner, epochs, **arguments):
    model.fit(
        X,
        Y,
        batch_size=16,
        epochs=epochs,
        verbose=0,
        shuffle=False,
        callbacks=[pruner],
        **arguments,
    )


@pytest.mark.parametrize(
    "schedule",
    [
        schedules.Polynomial(0.0, 0.9, 2, 21, frequency=4),
        schedules.Threshold(2, 10, 22, 0.06, 0.02, frequency=2),
    ],
    ids=["polynomial", "threshold"],
)
@pytest.mark.parametrize("whole", [True, False], ids=["model", "checkpoint"])
def test_interrupted_training_equals_uninterrupted(schedule, whole, tmp_path):
    uninterrupted = small_model()
    fit(uninterrupted, BlockPruning(schedule), 4)

    first = small_model()
    fit(first, BlockPruning(schedule), 2)
    assert not first.layers[0].gate_mask.numpy().all()
    if whole:
        first.save(tmp_path / "model.keras")
        second = keras.models.load_model(tmp_path / "model.keras")
    else:
        path = tf.train.Checkpoint(first).write(str(tmp_path / "checkpoint"))
        second = small_model()
        second.optimizer.build(second.trainable_variables)
        tf.train.Checkpoint(second).read(path).assert_consumed()
    for one, two in zip(first.weights, second.weights, strict=True):
        assert np.array_equal(one.numpy(), two.numpy())
    fit(second, BlockPruning(schedule), 4, initial_epoch=2)
    for one, two in zip(uninterrupted.weights, second.weights, strict=True):
        assert np.array_equal(one.numpy(), two.numpy()), one.path
    assert uninterrupted.layers[0].gate_mask.numpy().mean() < 0.5


def test_a_model_that_its_first_step_builds():
    layers = [dense(44), keras.layers.Dense(3)]
    model = keras.Sequential(layers)
    model.compile("adam", "mse")
    fit(model, BlockPruning(schedules.OneShot(0.5, 0)), 1)
    assert layers[0].gate_mask.numpy().sum() == 12


def test_layers_in_layers_and_models_in_models_are_found():
    class Block(keras.layers.Layer):
        def __init__(self):
            super().__init__(name="block")
            self.inner = [dense(30, name="inner")]

        def call(self, x):
            return x + self.inner[0](x)

    nested = keras.Sequential([keras.Input((30,)), Block()], name="nested")
    inputs = keras.Input((30,))
    shared = dense(30, name="shared")
    outputs = nested(shared(shared(inputs)))
    model = keras.Model(inputs, outputs)
    model.compile("sgd", "mse")
    inner = nested.layers[0].inner[0]
    counts = []
    for layers in ("nested/*", [shared], None):
        pruner = BlockPruning(schedules.OneShot(0.5, 0), layers=layers)
        pruner.start(model)
        counts.append(
            [int(layer.gate_mask.numpy().sum()) for layer in (inner, shared)]
        )
    assert counts == [[8, 16], [8, 8], [8, 8]]


def test_a_model_without_masks_is_refused_with_advice():
    pruner = BlockPruning(schedules.OneShot(0.5, 0))
    with pytest.raises(ValueError, match=r"gate='mask'; convert .* sparsify"):
        fit(small_model(gate=None), pruner, 1)
    with pytest.raises(ValueError, match="layers: got str 'third', expected"):
        fit(small_model(), BlockPruning(pruner.schedule, layers=["third"]), 1)


def test_a_schedule_of_the_past_is_refused():
    model = small_model()
    schedule = schedules.Polynomial(0.0, 0.9, 0, 5)
    model.fit(X, Y, batch_size=16, verbose=0)
    with pytest.raises(ValueError, match=r"ends with step 5, .* done 6 steps"):
        fit(model, BlockPruning(schedule), 1)
    # Not where it was followed.
    model = small_model()
    fit(model, BlockPruning(schedule), 1)
    fit(model, BlockPruning(schedule), 1)


@pytest.mark.parametrize(
    ("schedule", "scope"),
    [
        # 2.4 of 24 blocks: two are more sparsity than that, three are less.
        (schedules.OneShot(0.9, 3), "layer"),
        (schedules.OneShot(0.9, 3), "global"),
        (schedules.Threshold(0, 2, 5, 0.036, frequency=1), "layer"),
    ],
    ids=["layer", "global", "threshold"],
)
def test_a_schedule_that_was_followed_before_compact(schedule, scope):
    model = small_model()
    pruner = BlockPruning(schedule, scope=scope)
    fit(model, pruner, 1)
    sparsity = pruner.sparsity()
    assert 0 < sparsity < 1
    model = compact(model, keep_gate=True)
    fit(model, pruner, 1)
    assert pruner.sparsity() == sparsity
    assert all(each.gate_mask.numpy().all() for each in model.layers[:2])


def test_steps_need_a_start_and_an_optimizer():
    pruner = BlockPruning(schedules.OneShot(0.5, 0))
    with pytest.raises(ValueError, match="step: got no model"):
        pruner.step()
    with pytest.raises(ValueError, match="sparsity: got no model"):
        pruner.sparsity()
    model = keras.Sequential([keras.Input((30,)), dense(8)])
    with pytest.raises(ValueError, match="optimizer: got None"):
        pruner.start(model)


def test_weights_that_diverged_are_told_with_their_layer():
    model = small_model()
    layer = model.layers[1]
    layer.blocks.assign(np.full(layer.blocks.shape, np.nan))
    with pytest.raises(ValueError, match=f"layer {layer.name}: got NaN"):
        BlockPruning(schedules.OneShot(0.5, 0)).start(model)
    # All or nothing: the layer before it is as it was.
    assert model.layers[0].gate_mask.numpy().all()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"schedule": 0.5}, "schedule: got float 0.5"),
        ({"scope": "model"}, "scope: got str 'model'"),
        ({"criterion": "l1"}, "criterion: got str 'l1'"),
        ({"frequency": 3}, "frequency: got int 3, expected None"),
        ({"schedule": lambda step: 0.0, "frequency": 0}, "frequency: got int"),
    ],
)
def test_wrong_arguments_are_refused(arguments, text):
    with pytest.raises(ValueError, match=text):
        BlockPruning(**{"schedule": schedules.OneShot(0.5, 0), **arguments})


@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "bfloat16", "float64"])
def test_dtypes(dtype):
    model = small_model(dtype=dtype)
    fit(model, BlockPruning(schedules.OneShot(0.75, 2)), 1)
    layer = model.layers[0]
    assert layer.gate_mask.numpy().sum() == 6
    blocks = layer.blocks.numpy().astype("float32")
    assert np.array_equal(blocks.any(axis=(1, 2)), layer.gate_mask.numpy())
