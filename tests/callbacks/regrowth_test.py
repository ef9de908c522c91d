# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""RigL and SET in training: when, how many, slots, and nothing else changed."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf
from regrowth_models import (
    BOTH,
    X,
    Y,
    evolution,
    fit,
    layouts,
    make,
    rigl,
    sparse,
)

from tf_blocksparse import layers
from tf_blocksparse.callbacks import RigL, _batches
from tf_blocksparse.callbacks._regrowth import random_scores


class Watch(keras.callbacks.Callback):
    """What has changed after each step."""

    def on_train_begin(self, logs=None):
        self.moved = {}
        self.before = layouts(self.model)

    def on_train_batch_end(self, batch, logs=None):
        after = layouts(self.model)
        for old, new in zip(self.before, after, strict=True):
            assert old.nnz == new.nnz
            both = np.count_nonzero(old.mask & new.mask)
            if both < old.nnz:
                step = int(self.model.optimizer.iterations.numpy())
                self.moved.setdefault(step, []).append(old.nnz - both)
        self.before = after


@BOTH
def test_moves_on_its_steps_only(regrowth):
    model, watch = make(), Watch()
    fit(model, regrowth(fraction=0.5), watch, epochs=3)
    # At the last update so few are dropped that all may grow again.
    assert sorted({*watch.moved, 25}) == [5, 10, 15, 20, 25]
    for step, moved in watch.moved.items():
        share = 0.25 * (1 + math.cos(math.pi * step / 30))
        for layout, count in zip(watch.before, moved, strict=False):
            # Some grow where they were dropped.
            assert count <= round(share * layout.nnz)


@BOTH
def test_nothing_is_traced_anew(regrowth):
    traces = []

    class Model(keras.Sequential):
        def train_step(self, data):
            traces.append(1)
            return super().train_step(data)

    model = Model(make().layers)
    model.compile("sgd", "mse")
    fit(model)
    before, count = layouts(model), len(traces)
    fit(model, regrowth(), epochs=2)
    assert layouts(model) != before
    assert len(traces) == count


def test_nothing_else_changes():
    """Statistics, random numbers and metrics are as without the pass."""
    with_it, without = make(), make()
    # Drops nothing, and so only looks.
    looks = rigl(fraction=0.0, frequency=1)
    looks._fraction_at = lambda step: 1e-9
    looks._update = lambda step: looks._scores(sparse(with_it), step)
    one, two = fit(with_it, looks), fit(without)
    assert one.history == two.history
    for a, b in zip(with_it.variables, without.variables, strict=True):
        np.testing.assert_array_equal(a, b)


def test_new_blocks_and_their_slots_are_new():
    for optimizer, initial in (
        (keras.optimizers.Adam(), 0.0),
        (keras.optimizers.SGD(0.1, 0.9), 0.0),
        (keras.optimizers.Adagrad(0.1, 0.25), 0.25),
        (keras.optimizers.Adam(use_ema=True), 0.0),
    ):
        model = make(optimizer)
        fit(model, batch_size=48)
        layer = sparse(model)[0]
        blocks, old = layer.blocks.numpy(), layer.layout
        slots = [
            each
            for each in optimizer.variables
            if tuple(each.shape) == tuple(layer.blocks.shape)
        ]
        assert slots
        before = [slot.numpy() for slot in slots]
        regrow = evolution(frequency=1)
        regrow.start(model)
        optimizer.iterations.assign_add(1)
        regrow.step()
        new = layer.layout
        both = np.argwhere((old.mask & new.mask).T)
        number = {tuple(at): i for i, at in enumerate(np.argwhere(old.mask.T))}
        kept = 0
        for i, at in enumerate(np.argwhere(new.mask.T)):
            now = [
                layer.blocks.numpy()[i],
                *(slot.numpy()[i] for slot in slots),
            ]
            if tuple(at) in number:
                j = number[tuple(at)]
                then = [blocks[j], *(each[j] for each in before)]
                kept += 1
            else:
                then = [0.0, *(initial for _ in slots)]
            for a, b in zip(now, then, strict=True):
                np.testing.assert_array_equal(a, np.broadcast_to(b, a.shape))
        assert kept == len(both) < new.nnz


def test_float16_with_scaled_losses():
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_float16")
    try:
        model = make("sgd", auto_scale_loss=True)
    finally:
        keras.config.set_dtype_policy(before)
    watch = Watch()
    fit(model, rigl(fraction=0.6), watch, epochs=2)
    assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    assert len(watch.moved) >= 3


def test_gradients_that_are_not_finite_move_nothing():
    model = make()
    before = layouts(model)
    bad = RigL(lambda step: (X[:4] * np.nan, Y[:4]), end_step=99, frequency=1)
    fit(model, bad)
    assert layouts(model) == before


def test_regularizers_of_weights_play_no_part():
    # They have no gradient where no block is.
    plain, regularized = (make(keras.optimizers.SGD(0.0)) for _ in range(2))
    for variable in regularized.trainable_variables:
        variable.regularizer = keras.regularizers.L2(0.1)
    for model in (plain, regularized):
        before = layouts(model)
        fit(model, RigL((X, Y), end_step=99, frequency=6))
        assert all(a != b for a, b in zip(before, layouts(model), strict=True))
    assert len(regularized.losses) == len(regularized.trainable_variables)
    assert layouts(regularized) == layouts(plain)


def test_several_steps_at_once():
    model, watch = make("sgd", False, steps_per_execution=4), Watch()
    fit(model, rigl(frequency=6, end_step=90), watch, epochs=2)
    # After steps 4, 8, 12, ...: the first that are past a multiple of 6.
    assert sorted(watch.moved) == [8, 12, 20, 24]


@BOTH
def test_custom_loop(regrowth):
    model, optimizer = make(), keras.optimizers.SGD(0.1, 0.9)
    optimizer.build(model.trainable_variables)
    before = layouts(model)
    callback = regrowth(frequency=2)
    callback.start(model, optimizer)
    for step in range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(X, training=True) - Y) ** 2)
        weights = model.trainable_variables
        gradients = tape.gradient(loss, [each.value for each in weights])
        optimizer.apply(gradients, weights)
        callback.step()
        assert (layouts(model) == before) == (step == 0)


def test_a_compiled_model_that_was_never_fitted():
    """The loss is not built before RigL asks for it."""
    model = make()
    callback = RigL(end_step=10, frequency=1)
    callback.start(model)
    before = layouts(model)
    model.optimizer.build(model.trainable_variables)
    model.optimizer.iterations.assign(1)
    callback.step(X, Y, np.ones(len(X)))
    assert layouts(model) != before
    fit(model, rigl())


class InFunction(keras.Sequential):
    """A model whose call is a graph, which keeps what it has traced."""

    @tf.function
    def call(self, x, training=None):
        return super().call(x, training=training)


@pytest.mark.parametrize("traced", [True, False])
def test_functions_inside_of_a_model(traced):
    model = InFunction(make().layers)
    model.build((None, 24))
    model.compile("sgd", "mse")
    if traced:
        model(X, training=True)
    callback = rigl(frequency=1)
    callback.start(model)
    before = layouts(model)
    model.optimizer.iterations.assign(1)
    callback.step(X, Y)
    assert layouts(model) != before
    assert not tf.config.functions_run_eagerly()
    # What is traced from here on is none of the pass.
    statistics = model.layers[1].moving_mean.numpy()
    model(X, training=True)
    assert (model.layers[1].moving_mean.numpy() != statistics).any()


def test_losses_of_custom_loops():
    """Sample weights go to the loss, and without one there is advice."""
    model = make()
    model.optimizer.build(model.trainable_variables)
    callback = RigL(end_step=10, frequency=1)
    seen = []

    def loss(y, y_pred, *weights):
        seen.append(weights)
        return tf.reduce_mean((y - y_pred) ** 2)

    callback.start(model, loss=loss)
    for step, weights in enumerate([(), (np.ones(len(X)),)], 1):
        model.optimizer.iterations.assign(step)
        callback.step(X, Y, *weights)
        assert len(seen[-1]) == len(weights)
    other = keras.Sequential(make().layers)
    callback.start(other, model.optimizer)
    model.optimizer.iterations.assign(3)
    with pytest.raises(ValueError, match=r"loss: got None .* to start"):
        callback.step(X, Y)


def test_layers_in_layers_used_twice_and_frozen_ones():
    class Inner(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.parts = [
                layers.BlockSparseDense(24, block_size=4, sparsity=0.5, seed=i)
                for i in range(2)
            ]

        def call(self, x):
            for part in (*self.parts, self.parts[0]):
                x = part(x)
            return x

    inner = Inner()
    frozen = layers.BlockSparseDense(24, block_size=4, sparsity=0.5)
    frozen.trainable = False
    model = keras.Sequential([frozen, inner, keras.layers.Dense(3)])
    model.compile("sgd", "mse")  # not built yet
    fit(model, rigl(end_step=900))
    before = [part.layout for part in (*inner.parts, frozen)]
    fit(model, rigl(end_step=900))
    after = [part.layout for part in (*inner.parts, frozen)]
    moved = [a != b for a, b in zip(after, before, strict=True)]
    assert moved == [True, True, False]


def test_groups_stay_groups():
    model = keras.Sequential(
        [
            keras.Input((24, 1)),
            keras.layers.Permute((2, 1)),
            layers.BlockSparseConv1D(
                32, 1, groups=2, block_size=4, sparsity=0.5, seed=1
            ),
            keras.layers.Flatten(),
            keras.layers.Dense(3),
        ]
    )
    model.compile("sgd", "mse")
    (layer,) = [each for each in model.layers if hasattr(each, "layout")]
    before = layer.layout
    fit(model, evolution(frequency=1, fraction=0.9))
    assert layer.layout != before
    inside = np.kron(np.eye(2), np.ones((3, 4)))
    assert not (layer.layout.mask & (inside == 0)).any()


def test_chosen_layers():
    model = make()
    one, two = sparse(model)
    before = layouts(model)
    fit(model, evolution(layers=[two.name]))
    assert one.layout == before[0]
    assert two.layout != before[1]


def test_full_and_empty_layers_stay():
    model = keras.Sequential(
        [
            keras.Input((24,)),
            layers.BlockSparseDense(8, block_size=4, sparsity=0.0),
            layers.BlockSparseDense(8, block_size=4, sparsity=1.0),
            keras.layers.Dense(3),
        ]
    )
    model.compile("sgd", "mse")
    before = layouts(model)
    fit(model, rigl())
    assert layouts(model) == before


def test_set_moves_a_constant_share_without_an_end():
    model, watch = make(), Watch()
    fit(model, evolution(end_step=None, fraction=0.4), watch, epochs=2)
    assert sorted(watch.moved) == [5, 10, 15, 20]


def test_random_numbers_are_the_same_everywhere():
    scores = random_scores((2, 2), 3, 100, 1)
    expected = [
        [4235923126146257.0, 7300830042923993.0],
        [64963969391797.0, 3483824723226898.0],
    ]
    assert scores.tolist() == expected
    words = np.random.PCG64([3, 100])
    assert _batches.distinct(1000, 4, words).tolist() == [388, 157, 944, 397]


@pytest.mark.parametrize("limit", [1, 7, 100])
@pytest.mark.parametrize("count", [0, 1, 5, 30, 200])
def test_distinct_numbers(limit, count):
    numbers = _batches.distinct(limit, count, np.random.PCG64(1))
    assert len(set(numbers.tolist())) == len(numbers) == min(limit, count)
    assert set(numbers.tolist()) <= set(range(limit))
