# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Rebuilt models are compiled, and train on, as the old ones were."""

import inspect

import conversion_models as models
import keras
import numpy as np
import pytest

from tf_blocksparse import _optimizer_slots
from tf_blocksparse.conversion._rebuild import Replacement, rebuild

L = keras.layers
RNG = np.random.default_rng(0)
X = RNG.normal(size=(16, 8)).astype("float32")
Y = RNG.normal(size=(16, 3)).astype("float32")
OPTIMIZERS = sorted(
    name
    for name, each in vars(keras.optimizers).items()
    if inspect.isclass(each)
    and issubclass(each, keras.optimizers.Optimizer)
    and name not in ("Optimizer", "LossScaleOptimizer", "MultiOptimizer")
)


def nothing(layer):
    return None


def first_columns(layer):
    """The layer "second" without half of its inputs, as if pruned."""
    if layer.name != "second":
        return None

    def half(array):
        return array[:4].reshape(4, 2, -1)

    new = Halved(name="second")
    return Replacement(
        new,
        {"blocks": half(layer.kernel.numpy())},
        {"blocks": ("kernel", half)},
    )


class Halved(L.Layer):
    """A weight of another name and rank."""

    def build(self, shape):
        self.blocks = self.add_weight(shape=(4, 2, 4), name="blocks")
        self.bias = self.add_weight(shape=(8,), name="bias")

    def call(self, x):
        return keras.ops.relu(
            x[:, :4] @ keras.ops.reshape(self.blocks, (4, 8)) + self.bias
        )


def trained(optimizer="adam", **arguments):
    model = models.mlp(8, 8)
    # Eagerly: tracing takes longer than these few steps.
    arguments = {"loss": "mse", "run_eagerly": True, **arguments}
    model.compile(optimizer, **arguments)
    for _ in range(4):
        model.train_on_batch(X[:8], Y[:8])
    return model


def values(optimizer):
    return [v.numpy() for v in optimizer.variables]


def short(variable):
    return variable.path.partition("/")[2]


def test_there_are_optimizers():
    assert "Adam" in OPTIMIZERS
    assert len(OPTIMIZERS) >= 12


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_goes_on(name):
    model = trained(getattr(keras.optimizers, name)(learning_rate=0.01))
    new = rebuild(model, nothing)
    assert type(new.optimizer) is type(model.optimizer)
    assert new.optimizer.get_config() == model.optimizer.get_config()
    pairs = zip(values(model.optimizer), values(new.optimizer), strict=True)
    for a, b in pairs:
        np.testing.assert_array_equal(a, b)
    for each in (model, new):
        each.fit(X, Y, verbose=0, shuffle=False)
    for a, b in zip(model.weights, new.weights, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_slots_follow_a_changed_weight(name):
    optimizer = getattr(keras.optimizers, name)(
        learning_rate=0.01, use_ema=True
    )
    model = trained(optimizer)
    new = rebuild(model, first_columns)
    assert int(new.optimizer.iterations) == int(model.optimizer.iterations) > 0
    old_slots, new_slots = (
        {
            (short(variable), slot.name): slot
            for variable, slots in zip(
                m.trainable_variables,
                _optimizer_slots.slots(m.optimizer, m.trainable_variables),
                strict=True,
            )
            for slot in slots
        }
        for m in (model, new)
    )
    assert ("second/blocks", "average") in new_slots
    for (path, slot_name), slot in new_slots.items():
        old = old_slots.get((path.replace("blocks", "kernel"), slot_name))
        if not path.endswith("blocks"):
            np.testing.assert_array_equal(
                slot.variable.numpy(), old.variable.numpy()
            )
        elif slot.is_like_variable and old and old.is_like_variable:
            np.testing.assert_array_equal(
                slot.variable.numpy().ravel(), old.variable.numpy()[:4].ravel()
            )
    new.fit(X, Y, verbose=0)


def test_rates_and_scales_are_kept():
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 3, 0.5)
    model = trained(keras.optimizers.SGD(schedule))
    new = rebuild(model, nothing)
    assert float(new.optimizer.learning_rate) == float(
        model.optimizer.learning_rate
    )
    model = trained(keras.optimizers.SGD(lambda: 0.25))
    assert rebuild(model, nothing).optimizer.learning_rate == 0.25
    model = trained(keras.optimizers.SGD(0.25))
    model.optimizer.learning_rate = 0.125
    assert float(rebuild(model, nothing).optimizer.learning_rate) == 0.125


def test_mixed_precision_keeps_the_scale_of_losses():
    model = models.mlp(8, 8, dtype="mixed_float16")
    optimizer = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.Adam(0.01), initial_scale=4.0, dynamic_growth_steps=2
    )
    model.compile(optimizer, "mse")
    model.fit(X, Y, verbose=0, batch_size=2)
    new = rebuild(model, nothing)
    assert isinstance(new.optimizer, keras.optimizers.LossScaleOptimizer)
    assert float(new.optimizer.dynamic_scale) > 4.0
    pairs = zip(values(model.optimizer), values(new.optimizer), strict=True)
    for a, b in pairs:
        np.testing.assert_array_equal(a, b)


def test_a_loss_is_scaled_once():
    with_policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_float16")
    try:
        model = trained("sgd")
    finally:
        keras.config.set_dtype_policy(with_policy)
    new = rebuild(model, nothing)
    for each in (model, new):
        assert isinstance(each.optimizer, keras.optimizers.LossScaleOptimizer)
        assert isinstance(each.optimizer.inner_optimizer, keras.optimizers.SGD)
    assert new.dtype_policy.name == "mixed_float16"


def test_weight_decay_leaves_out_the_same_weights():
    optimizer = keras.optimizers.AdamW(0.01, weight_decay=0.1)
    optimizer.exclude_from_weight_decay(var_names=["second/kernel", "kernel"])
    model = trained(optimizer)
    new = rebuild(model, first_columns)
    decays = {
        short(v): new.optimizer._use_weight_decay(v)
        for v in new.trainable_variables
    }
    assert not decays["second/blocks"]
    assert not decays["first/kernel"]
    assert decays["second/bias"]


def test_gradients_go_on_accumulating():
    model = trained(keras.optimizers.SGD(0.1, gradient_accumulation_steps=3))
    new = rebuild(model, first_columns)
    assert int(new.optimizer._iterations) == 4
    for a, b in zip(values(model.optimizer), values(new.optimizer),
                    strict=True):  # fmt: skip
        if a.shape == b.shape:
            np.testing.assert_array_equal(a, b)


class OwnLoss(keras.losses.Loss):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def call(self, y, prediction):
        return self.scale * keras.ops.mean((y - prediction) ** 2, -1)


def test_compile_arguments_are_kept():
    def own(y, prediction):
        return keras.ops.mean(y)

    loss = OwnLoss(3.0)
    counted = keras.metrics.MeanAbsoluteError(name="counted")
    model = trained(
        "sgd",
        loss=loss,
        loss_weights=[2.0],
        metrics=[counted, own, lambda y, p: keras.ops.mean(p)],
        weighted_metrics=["mse"],
        run_eagerly=True,
        steps_per_execution=2,
    )
    new = rebuild(model, nothing)
    assert new.loss is loss
    assert new.run_eagerly
    assert new.steps_per_execution == 2
    a, b = (m.evaluate(X, Y, verbose=0, return_dict=True) for m in (new, model))
    assert a == b
    assert len(a) == 5
    model = trained("sgd", loss=loss, metrics=[counted])
    state = [v.numpy() for v in counted.variables]
    rebuild(model, nothing).evaluate(X, Y, verbose=0)
    for before, variable in zip(state, counted.variables, strict=True):
        np.testing.assert_array_equal(before, variable.numpy())


def test_what_is_not_compiled_stays_so():
    assert not rebuild(models.mlp(8, 8), nothing).compiled
    model = models.mlp(8, 8)
    model.compile("adam", "mse")
    new = rebuild(model, nothing)
    assert new.compiled
    assert not new.optimizer.built
    new.fit(X, Y, verbose=0)


@pytest.mark.skipif(
    not hasattr(keras.optimizers, "MultiOptimizer"), reason="an older Keras"
)
def test_an_optimizer_of_several_is_left_out():
    of_all = keras.optimizers.OptimizerMap(keras.optimizers.SGD())
    model = trained(keras.optimizers.MultiOptimizer(of_all))
    with pytest.warns(UserWarning, match="chooses optimizers by weights"):
        assert not rebuild(model, nothing).compiled


class OwnCompile(keras.Model):
    def __init__(self, name="own"):
        super().__init__(name=name)
        self.dense = L.Dense(3)

    def call(self, x):
        return self.dense(x)

    def compile(self, optimizer, factor):
        super().compile(optimizer, "mse")
        self.factor = factor

    def get_config(self):
        return {"name": self.name}


class OwnCompileWithConfig(OwnCompile):
    def get_compile_config(self):
        return {"factor": self.factor}

    def compile_from_config(self, config):
        self.compile("adam", config["factor"])


def test_a_compile_of_its_own_needs_a_config():
    model = OwnCompile()
    model.compile("adam", 3)
    model.fit(X, Y, verbose=0)
    with pytest.warns(UserWarning, match="is not compiled, since OwnCompile"):
        assert not rebuild(model, nothing).compiled
    model = OwnCompileWithConfig()
    model.compile("adam", 3)
    model.fit(X, Y, verbose=0)
    new = rebuild(model, nothing)
    assert new.factor == 3
    for a, b in zip(values(model.optimizer), values(new.optimizer),
                    strict=True):  # fmt: skip
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("was", [True, False])
def test_layers_are_frozen_or_not_since_the_optimizer_was_built(was):
    model = models.mlp(8, 8)
    model.layers[0].trainable = was
    model.compile("adam", "mse", run_eagerly=True)
    model.train_on_batch(X, Y)
    model.layers[0].trainable = not was
    new = rebuild(model, nothing)
    assert new.layers[0].trainable is not was
    before, after = (
        {short(v): v.numpy() for v in m.optimizer.variables}
        for m in (model, new)
    )
    # What was frozen from the start has slots now, in which nothing is yet.
    assert set(before) <= set(after)
    for name, array in after.items():
        np.testing.assert_array_equal(array, before.get(name, 0))
    new.train_on_batch(X, Y)
    new.layers[0].trainable = True
    new.train_on_batch(X, Y)
