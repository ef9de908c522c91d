# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Pruning in `fit` and in custom loops: how many blocks, and which."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, schedules
from tf_blocksparse.callbacks import BlockPruning
from tf_blocksparse.conversion import _criteria
from tf_blocksparse.layers import BlockSparseConv2D, BlockSparseDense

RNG = np.random.default_rng(0)
X = RNG.normal(size=(96, 30)).astype("float32")
Y = np.tanh(X @ RNG.normal(size=(30, 3))).astype("float32")


def dense(units, **arguments):
    arguments = {"block_size": 8, "sparsity": 0.0, "gate": "mask", **arguments}
    return BlockSparseDense(units, "relu", **arguments)


def small_model(optimizer="adam", run_eagerly=True, **compiling):
    # Few steps take less time than making a graph; some tests do.
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((30,)),
            dense(44, name="first"),
            dense(20, name="second", block_size=4),
            keras.layers.Dense(3),
        ]
    )
    model.compile(optimizer, "mse", run_eagerly=run_eagerly, **compiling)
    return model


def fit(model, pruner, epochs=4, **arguments):
    arguments = {"batch_size": 16, "verbose": 0, "shuffle": False, **arguments}
    return model.fit(X, Y, epochs=epochs, callbacks=[pruner], **arguments)


def mask_of(layer):
    return layer.gate_mask.numpy()


class Record(keras.callbacks.Callback):
    """The number of open blocks of each layer after each step."""

    def __init__(self):
        super().__init__()
        self.counts = []

    def on_train_batch_end(self, batch, logs=None):
        self.counts.append(
            [int(mask_of(layer).sum()) for layer in self.model.layers[:2]]
        )


def test_counts_are_exact_at_each_step_that_is_due():
    schedule = schedules.Polynomial(0.25, 0.9, 4, 20, frequency=4)
    model, record = small_model(run_eagerly=False), Record()
    history = model.fit(
        X,
        Y,
        batch_size=16,
        epochs=4,
        verbose=0,
        callbacks=[BlockPruning(schedule), record],
    )
    # 4 x 6 blocks of 8, and 11 x 5 of 4.
    for step, counts in enumerate(record.counts, 1):
        sparsity = schedule(min(step // 4 * 4, 20))
        assert counts == [round(n * (1 - sparsity)) for n in (24, 55)]
    assert record.counts[-1] == [2, 5]
    sparsity = history.history["sparsity"]
    assert len(sparsity) == 4
    assert sparsity[-1] == 1 - sum(record.counts[-1]) / 79


@pytest.mark.parametrize("sparsity", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("scope", ["layer", "global"])
def test_no_sparsity_and_all_of_it(sparsity, scope):
    model = small_model()
    fit(model, BlockPruning(schedules.OneShot(sparsity, 3), scope=scope), 1)
    counts = [int(mask_of(layer).sum()) for layer in model.layers[:2]]
    if scope == "layer":
        assert counts == [
            round(24 * (1 - sparsity)),
            round(55 * (1 - sparsity)),
        ]
    else:
        assert sum(counts) == round(79 * (1 - sparsity))
    assert np.isfinite(model.predict(X, verbose=0)).all()


@pytest.mark.parametrize("criterion", ["l2", "max"])
def test_the_heaviest_blocks_stay(criterion):
    model = small_model()
    pruner = BlockPruning(schedules.OneShot(0.7, 0), criterion=criterion)
    layer = model.layers[0]
    blocks = layer.blocks.numpy()
    # Padding plays no part: 30 inputs and 44 outputs in blocks of 8.
    blocks[-1, 6:, :] = 100
    layer.blocks.assign(blocks)
    dense = layer.layout.gather(layer.layout.to_dense(blocks))
    scores = (
        np.sqrt((dense.astype("float64") ** 2).sum((1, 2)))
        if criterion == "l2"
        else np.abs(dense).max((1, 2))
    )
    pruner.start(model)
    assert np.array_equal(mask_of(layer), _criteria.heaviest(scores, 7))


def test_of_equal_blocks_the_first_stay():
    model = small_model()
    for layer in model.layers[:2]:
        layer.blocks.assign(np.ones(layer.blocks.shape))
    # 44 inputs and 20 outputs in blocks of 4: no padding.
    BlockPruning(schedules.OneShot(0.5, 0), layers="second").start(model)
    assert mask_of(model.layers[0]).all()
    expected = np.arange(55) < 28
    assert np.array_equal(mask_of(model.layers[1]), expected)


def test_global_scope_closes_the_lightest_of_all():
    model = small_model()
    pruner = BlockPruning(schedules.OneShot(0.6, 0), scope="global")
    first, second = model.layers[:2]
    first.blocks.assign(np.full(first.blocks.shape, 1.0))
    second.blocks.assign(np.full(second.blocks.shape, 2.0))
    pruner.start(model)
    # 32 of 79 stay; those of the second layer are lighter in sum, not in mean.
    # The heaviest of the first stays in any case, so that something flows.
    assert np.flatnonzero(mask_of(first)).tolist() == [0]
    assert np.flatnonzero(mask_of(second)).tolist() == [*range(31)]


def test_threshold_closes_what_is_lighter():
    model = small_model(keras.optimizers.SGD(0.0))
    schedule = schedules.Threshold(0, 4, 9, 0.1, 0.15, frequency=3)
    weights = [layer.blocks.numpy() for layer in model.layers[:2]]
    fit(model, BlockPruning(schedule), 2)
    epsilon = (0.1 * 5 + 0.15 * (6 - 4 + 1)) / 3
    for blocks, layer in zip(weights, model.layers[:2], strict=True):
        blocks = layer.layout.gather(layer.layout.to_dense(blocks))
        expected = np.abs(blocks).max((1, 2)) >= epsilon
        assert np.array_equal(mask_of(layer), expected)
    assert not mask_of(model.layers[0]).all()


@pytest.mark.parametrize(
    "optimizer",
    [
        keras.optimizers.Adam(0.01, weight_decay=0.1),
        keras.optimizers.SGD(0.01, momentum=0.9, nesterov=True),
        keras.optimizers.Adagrad(0.01),
        keras.optimizers.Ftrl(0.01),
        keras.optimizers.RMSprop(0.01, use_ema=True),
        keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(0.01)),
    ],
    ids=lambda optimizer: optimizer.name,
)
def test_closed_blocks_stay_zero_and_so_do_their_slots(optimizer):
    optimizer = type(optimizer).from_config(optimizer.get_config())
    model = small_model(optimizer)
    fit(model, BlockPruning(schedules.OneShot(0.5, 3)), 2)
    for layer in model.layers[:2]:
        is_open = mask_of(layer)
        blocks = layer.blocks.numpy()
        assert not blocks[~is_open].any()
        assert np.isfinite(blocks).all()
        assert all(blocks[w].any() for w in np.flatnonzero(is_open))
    name = f"first_blocks_{'accumulator' if 'ftrl' in optimizer.name else ''}"
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    like = [v for v in inner.variables if f"_{name}" in f"_{v.path}"]
    for variable in like:
        values = variable.numpy()[~mask_of(model.layers[0])]
        assert len(np.unique(values)) == 1
    if type(inner).__name__ in ("Adam", "SGD", "RMSprop"):
        assert like
        assert not any(v.numpy()[~mask_of(model.layers[0])].any() for v in like)


def test_closed_blocks_get_no_gradient():
    model = small_model()
    BlockPruning(schedules.OneShot(0.5, 0)).start(model)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(X) ** 2)
    layers = model.layers[:2]
    gradients = tape.gradient(loss, [each.blocks.value for each in layers])
    for layer, gradient in zip(layers, gradients, strict=True):
        is_open = mask_of(layer)
        assert not gradient.numpy()[~is_open].any()
        assert gradient.numpy()[is_open].any()


def test_a_closed_block_does_not_come_back():
    model = small_model()
    layer = model.layers[0]
    mask = np.ones(24, bool)
    mask[[3, 7]] = False
    layer.gate_mask.assign(mask)
    blocks = layer.blocks.numpy()
    blocks[3] = 1000
    layer.blocks.assign(blocks)
    BlockPruning(schedules.OneShot(0.5, 0)).start(model)
    assert mask_of(layer).sum() == 12
    assert not mask_of(layer)[[3, 7]].any()


def test_layers_that_are_sparse_already_wait_for_the_schedule():
    keras.utils.set_random_seed(0)
    layout = BlockLayout.random((32, 64), 8, sparsity=0.5, seed=0)
    layer = BlockSparseDense(64, layout=layout, gate="mask")
    model = keras.Sequential([keras.Input((32,)), layer])
    model.compile("sgd", "mse", run_eagerly=True)
    pruner = BlockPruning(lambda step: step / 10, frequency=1)
    pruner.start(model)
    counts = []
    for _ in range(10):
        model.train_on_batch(X[:, :16].repeat(2, 1), np.zeros((96, 64)))
        pruner.step()
        counts.append(int(mask_of(layer).sum()))
    assert counts == [16, 16, 16, 16, 16, 13, 10, 6, 3, 0]


def test_several_steps_per_execution_prune_at_the_latest_due_step():
    schedule = schedules.Polynomial(0.0, 0.8, 0, 11, frequency=3)
    model = small_model(run_eagerly=False, steps_per_execution=4)
    record = Record()
    model.fit(
        X[:64],
        Y[:64],
        batch_size=16,
        epochs=3,
        verbose=0,
        callbacks=[BlockPruning(schedule), record],
    )
    expected = [round(24 * (1 - schedule(step))) for step in (3, 6, 11)]
    assert [first for first, _ in record.counts] == expected


def test_gradient_accumulation_counts_updates():
    optimizer = keras.optimizers.Adam(gradient_accumulation_steps=2)
    model, record = small_model(optimizer), Record()
    model.fit(
        X,
        Y,
        batch_size=16,
        verbose=0,
        callbacks=[BlockPruning(schedules.OneShot(0.5, 2)), record],
    )
    assert [first for first, _ in record.counts] == [24, 24, 24, 12, 12, 12]


def test_a_custom_loop_prunes_as_fit_does():
    schedule = schedules.Polynomial(0.0, 0.9, 2, 10, frequency=4)
    fitted, looped = small_model("sgd"), small_model("sgd")
    fit(fitted, BlockPruning(schedule), 2)
    pruner = BlockPruning(schedule)
    looped.optimizer = None
    optimizer = keras.optimizers.SGD()
    pruner.start(looped, optimizer)

    def train(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((looped(x, training=True) - y) ** 2)
        variables = looped.trainable_variables
        gradients = tape.gradient(loss, [v.value for v in variables])
        optimizer.apply(gradients, variables)

    for _ in range(2):
        for start in range(0, 96, 16):
            train(X[start : start + 16], Y[start : start + 16])
            pruner.step()
    for one, two in zip(fitted.weights, looped.weights, strict=True):
        if one.dtype == "bool":
            assert np.array_equal(one.numpy(), two.numpy())
        else:
            np.testing.assert_allclose(one.numpy(), two.numpy(), atol=1e-5)


def test_convolutions_are_pruned_in_both_kinds_of_layouts():
    keras.utils.set_random_seed(0)
    per_tap = BlockLayout(np.ones((9, 2, 2)), 8)
    model = keras.Sequential(
        [
            keras.Input((6, 6, 16)),
            BlockSparseConv2D(
                16, 3, layout=per_tap, padding="same", gate="mask"
            ),
            BlockSparseConv2D(
                16,
                3,
                layout=BlockLayout.dense((16, 16), 8),
                padding="same",
                gate="mask",
            ),
        ]
    )
    model.compile("adam", "mse", run_eagerly=True)
    x = RNG.normal(size=(4, 6, 6, 16))
    pruner = BlockPruning(schedules.OneShot(0.5, 1))
    model.fit(x, x, verbose=0, callbacks=[pruner])
    counts = [int(mask_of(layer).sum()) for layer in model.layers]
    assert counts == [18, 2]
