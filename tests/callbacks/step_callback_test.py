# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What callbacks that act after steps share: layers, steps and optimizers."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import callbacks, layers, regularizers, schedules

RNG = np.random.default_rng(0)
X = RNG.normal(size=(32, 16)).astype("float32")
Y = X[:, :2] * 2


def pruning(**options):
    schedule = schedules.Threshold(0, 2, 9, 0.1, frequency=2)
    return callbacks.BlockPruning(schedule, **options)


def shrinking(**options):
    lasso = regularizers.GroupLasso(0.1)
    return callbacks.ProximalStep(lasso, step_size=0.1, **options)


def evolution(**options):
    return callbacks.SET(fraction=0.9, frequency=2, **options)


MAKERS = {
    "pruning": (pruning, "mask", 0.0),
    "shrinking": (shrinking, None, 0.0),
    "evolution": (evolution, None, 0.5),
}
ALL = pytest.mark.parametrize("name", MAKERS)


def make(name, optimizer="sgd"):
    """A callback, and a model for it with a Keras layer before the blocks."""
    callback, gate, sparsity = MAKERS[name]
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input((16,)),
            keras.layers.Dense(16, name="before"),
            layers.BlockSparseDense(
                16,
                block_size=4,
                sparsity=sparsity,
                seed=0,
                gate=gate,
                name="blocks",
            ),
            keras.layers.Dense(2, name="after"),
        ]
    )
    # Few steps take less time than making a graph.
    model.compile(optimizer, "mse", run_eagerly=True)
    return callback(), model


def fit(model, *each, epochs=1):
    options = {"batch_size": 8, "epochs": epochs, "shuffle": False}
    model.fit(X, Y, callbacks=[*each], verbose=0, **options)


@ALL
def test_backups_that_are_restored_after_it_has_begun(name, tmp_path):
    class Stop(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if epoch == 1:
                raise KeyboardInterrupt

    def backup():
        return keras.callbacks.BackupAndRestore(tmp_path, "epoch")

    callback, whole = make(name)
    fit(whole, callback, epochs=2)
    callback, model = make(name)
    with pytest.raises(KeyboardInterrupt):
        fit(model, callback, backup(), Stop(), epochs=2)
    callback, model = make(name)
    fit(model, callback, backup(), epochs=2)
    for one, two in zip(model.variables, whole.variables, strict=True):
        np.testing.assert_array_equal(one, two)


def momentum(model):
    """The optimizer's slot of the blocks, and the blocks."""
    (slot,) = [
        each
        for each in model.optimizer.variables
        if "blocks_blocks" in each.path
    ]
    return slot.numpy(), model.get_layer("blocks").blocks.numpy()


def several():
    """An optimizer that is several: the blocks have a momentum."""
    others = keras.optimizers.Adagrad(0.1)
    default = keras.optimizers.SGD(0.1, momentum=0.5)
    each = keras.optimizers.OptimizerMap(
        default, {".*(before|after)/.*": others}
    )
    return keras.optimizers.MultiOptimizer(each)


@pytest.mark.parametrize("name", ["pruning", "evolution"])
@pytest.mark.parametrize("frozen", [True, False])
def test_slots_of_any_optimizer_are_found(name, frozen):
    """Also where it was built for layers that have been frozen since."""
    optimizer = keras.optimizers.SGD(0.1, momentum=0.5)
    callback, model = make(name, optimizer if frozen else several())
    fit(model)
    model.get_layer("before").trainable = not frozen
    layer = model.get_layer("blocks")
    before = layer.layout
    fit(model)
    slot, blocks = momentum(model)
    if name == "pruning":
        callback = callbacks.BlockPruning(schedules.OneShot(0.5, 99))
        callback.start(model)
        mask = np.arange(16) % 2 == 0
        callback._close({"blocks": mask})
        slot, blocks = momentum(model)
        assert slot[mask].any(axis=(1, 2)).all()
        assert not slot[~mask].any()
        assert not blocks[~mask].any()
    else:
        callback.start(model)
        callback._update(2)
        numbers = np.flatnonzero(before.mask.T)
        again = np.flatnonzero(layer.layout.mask.T)
        stay = np.isin(again, numbers)
        assert 0 < stay.sum() < 8
        moved = momentum(model)[0]
        kept = slot[np.isin(numbers, again)]
        np.testing.assert_array_equal(moved[stay], kept)
        assert not moved[~stay].any()


def test_a_loop_with_an_optimizer_for_the_blocks_alone():
    callback, model = make("pruning")
    layer = model.get_layer("blocks")
    others = [
        each for each in model.trainable_variables if each is not layer.blocks
    ]
    inner, outer = keras.optimizers.Adam(), keras.optimizers.SGD()
    callback.start(model, inner)
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(X) - Y) ** 2)
        variables = [layer.blocks, *others]
        gradients = tape.gradient(loss, [each.value for each in variables])
        inner.apply(gradients[:1], variables[:1])
        outer.apply(gradients[1:], others)
        callback.step()
    mask = layer.gate_mask.numpy()
    assert 0 < mask.sum() < 16
    for slot in inner.variables[2:]:
        assert not slot.numpy()[~mask].any()


@ALL
def test_layers_that_were_never_called_are_refused(name):
    maker, gate, _ = MAKERS[name]

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.used = keras.layers.Dense(2)
            self.unused = layers.BlockSparseDense(2, block_size=1, gate=gate)

        def call(self, x):
            return self.used(x)

    model = Model()
    model.compile("sgd", "mse", run_eagerly=True)
    with pytest.raises(ValueError, match="not built, expected one with"):
        fit(model, maker())


@ALL
@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (3, "layers: got int 3, expected layers, or"),
        (["other*"], r"layers: got str 'other\*', expected one of"),
        ([keras.layers.Dense(1)], "layers: got Dense"),
    ],
)
def test_wrong_layers_are_refused(name, wrong, text):
    _, model = make(name)
    with pytest.raises(ValueError, match=text):
        MAKERS[name][0](layers=wrong).start(model)


@ALL
def test_a_loop_passes_the_batch_and_the_loss_to_any_of_them(name):
    def blocks_after(loss, *batch):
        callback, model = make(name)
        callback.start(model, model.optimizer, **loss)
        for _ in range(3):
            model.train_on_batch(X, Y)
            callback.step(*batch)
        layer = model.get_layer("blocks")
        mask = None if layer.gate_mask is None else layer.gate_mask.numpy()
        return layer.layout.mask, layer.blocks.numpy(), mask

    weight = np.ones(len(X))
    with_all = blocks_after(
        {"loss": keras.losses.MeanSquaredError()}, X, Y, weight
    )
    for one, other in zip(blocks_after({}), with_all, strict=True):
        np.testing.assert_array_equal(one, other)
