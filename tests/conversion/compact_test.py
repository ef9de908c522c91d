# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""compact: outputs and training as before, without the closed blocks."""

import keras
import numpy as np
import pytest

import tf_blocksparse as tfbs
import tf_blocksparse.layers as bs
from tf_blocksparse import BlockLayout, compact

RNG = np.random.default_rng(0)
PER_TAP = BlockLayout(RNG.random((9, 2, 3)) < 0.8, 8)
SHARED = BlockLayout.dense((16, 24), 8)
GATED = {"block_size": 8, "sparsity": 0.0, "gate": "mask"}


def dense(units, name=None, **arguments):
    return bs.BlockSparseDense(units, name=name, **{**GATED, **arguments})


def close(layer, share=0.5, seed=0):
    """Closes blocks at random, also when they are not zero."""
    size = layer.layout.nnz
    layer.gate_mask.assign(np.random.default_rng(seed).random(size) < share)


LAYERS = {
    "dense": ((30,), lambda: dense(44)),
    "conv per tap": (
        (6, 6, 16),
        lambda: bs.BlockSparseConv2D(24, 3, layout=PER_TAP, gate="mask"),
    ),
    "conv shared": (
        (6, 6, 16),
        lambda: bs.BlockSparseConv2D(24, 3, layout=SHARED, gate="mask"),
    ),
    "conv of groups": (
        (6, 6, 16),
        lambda: bs.BlockSparseConv2D(16, 3, groups=2, **GATED),
    ),
    "conv transposed": (
        (6, 6, 16),
        lambda: bs.BlockSparseConv2DTranspose(24, 3, 2, **GATED),
    ),
    "einsum": (
        (5, 16),
        lambda: bs.BlockSparseEinsumDense(
            "abc,cde->abde", (None, 2, 8), bias_axes="de", **GATED
        ),
    ),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("keep_gate", [False, True])
def test_outputs_are_as_before_and_closed_blocks_gone(name, keep_gate):
    shape, make = LAYERS[name]
    layer = make()
    model = keras.Sequential([keras.Input(shape), layer])
    close(layer)
    kept = layer.gate_mask.numpy()
    assert 0 < kept.sum() < kept.size
    small = compact(model, keep_gate=keep_gate)
    new = small.layers[0]
    assert type(new) is type(layer)
    assert new.name == layer.name
    assert new.layout.nnz == kept.sum()
    assert np.array_equal(new.blocks, layer.blocks.numpy()[kept])
    x = RNG.normal(size=(4, *shape)).astype("float32")
    np.testing.assert_allclose(small(x), model(x), atol=1e-5)
    if keep_gate:
        assert new.gate == "mask"
        assert new.gate_mask.numpy().all()
    else:
        assert new.gate is None
        assert new.gate_mask is None
    # The given model is as it was.
    assert np.array_equal(layer.gate_mask, kept)
    assert layer.layout.nnz == kept.size


def test_attention_is_made_small_layer_by_layer():
    layer = bs.BlockSparseMultiHeadAttention(2, 8, **GATED)
    inputs = keras.Input((5, 16))
    model = keras.Model(inputs, layer(inputs, inputs))
    inner = [
        each
        for each in layer._flatten_layers(include_self=False)
        if isinstance(each, bs.BlockSparseEinsumDense)
    ]
    assert len(inner) == 4
    for seed, each in enumerate(inner):
        close(each, seed=seed)
    count = sum(int(each.gate_mask.numpy().sum()) for each in inner)
    small = compact(model)
    x = RNG.normal(size=(4, 5, 16)).astype("float32")
    np.testing.assert_allclose(small(x), model(x), atol=1e-5)
    blocks = [v for v in small.weights if v.name == "blocks"]
    assert sum(v.shape[0] for v in blocks) == count


def trained_model(optimizer, run_eagerly=True):
    keras.utils.set_random_seed(3)
    model = keras.Sequential(
        [
            keras.Input((30,)),
            dense(44, activation="relu"),
            keras.layers.BatchNormalization(),
            dense(20, activation=lambda x: keras.ops.tanh(x)),
            keras.layers.Dense(3),
        ]
    )
    # Few steps take less time than making a graph.
    model.compile(
        optimizer, loss=lambda y, p: (y - p) ** 2, run_eagerly=run_eagerly
    )
    return model


X = RNG.normal(size=(96, 30)).astype("float32")
Y = np.tanh(X @ RNG.normal(size=(30, 3))).astype("float32")
OPTIMIZERS = {
    "adam": lambda: keras.optimizers.Adam(0.01, amsgrad=True),
    "adamw": lambda: keras.optimizers.AdamW(0.01, clipnorm=1.0),
    "sgd": lambda: keras.optimizers.SGD(0.01, momentum=0.9),
    "adagrad": lambda: keras.optimizers.Adagrad(0.01),
    "average": lambda: keras.optimizers.Adam(0.01, use_ema=True),
    "scaled": lambda: keras.optimizers.LossScaleOptimizer(
        keras.optimizers.Adam(0.01)
    ),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_next_step_is_that_of_the_masked_model(name):
    model = trained_model(OPTIMIZERS[name](), run_eagerly=name != "adam")
    pruner = tfbs.callbacks.BlockPruning(tfbs.schedules.OneShot(0.6, 3))
    model.fit(X, Y, epochs=2, verbose=0, callbacks=[pruner])
    small = compact(model)
    assert small.optimizer is not model.optimizer
    assert int(small.optimizer.iterations) == int(model.optimizer.iterations)
    before = model.count_params()
    assert small.count_params() < before
    for each in (model, small):
        each.train_on_batch(X[:32], Y[:32])
    np.testing.assert_allclose(
        small.layers[0].blocks.numpy(),
        model.layers[0].blocks.numpy()[model.layers[0].gate_mask.numpy()],
        atol=1e-6,
    )
    for one, two in zip(
        small.optimizer.variables, model.optimizer.variables, strict=True
    ):
        if one.shape == two.shape:
            np.testing.assert_allclose(one.numpy(), two.numpy(), atol=1e-6)
        else:
            layer = next(each for each in model.layers if each.name in two.path)
            kept = layer.gate_mask.numpy()
            assert not np.any(two.numpy()[~kept]) or name == "adagrad"
            np.testing.assert_allclose(
                one.numpy(), two.numpy()[kept], atol=1e-6
            )
    np.testing.assert_allclose(small(X), model(X), atol=1e-5)


def test_pruning_goes_on_between_two_fits_as_if_uninterrupted():
    schedule = tfbs.schedules.Polynomial(0.0, 0.9, 1, 11, frequency=2)
    arguments = {"batch_size": 16, "verbose": 0, "shuffle": False}
    whole = trained_model(keras.optimizers.SGD(0.01))
    pruner = tfbs.callbacks.BlockPruning(schedule)
    whole.fit(X, Y, epochs=2, callbacks=[pruner], **arguments)
    model = trained_model(keras.optimizers.SGD(0.01))
    for epoch in range(2):
        pruner = tfbs.callbacks.BlockPruning(schedule)
        model.fit(
            X,
            Y,
            epochs=epoch + 1,
            initial_epoch=epoch,
            callbacks=[pruner],
            **arguments,
        )
        model = compact(model, keep_gate=True)
    whole = compact(whole)
    for one, two in zip(whole.layers, model.layers, strict=True):
        if isinstance(one, bs.BlockSparseDense):
            assert one.layout == two.layout
            assert two.layout.nnz == round(two.layout.mask.size * (1 - 0.9))
    np.testing.assert_allclose(whole(X), model(X), atol=1e-5)


def test_float_gates_are_multiplied_into_the_blocks():
    gates = [bs.ConcreteGate(0.1, seed=each) for each in (0, 1)]
    model = keras.Sequential(
        [
            keras.Input((6, 6, 16)),
            bs.BlockSparseConv2D(24, 3, layout=SHARED, gate=gates[0]),
            keras.layers.GlobalAveragePooling2D(),
            dense(16, gate=gates[1], dtype="mixed_bfloat16"),
        ]
    )
    model.compile("adam", "mse", run_eagerly=True)
    x = RNG.normal(size=(8, 6, 6, 16))
    model.fit(x, np.zeros((8, 16)), verbose=0)
    for gate in gates:
        size = gate.log_alpha.shape[0]
        gate.log_alpha.assign(np.linspace(-4, 4, size))
    small = compact(model)
    for old, new in zip(model.layers[::2], small.layers[::2], strict=True):
        assert 0 < new.layout.nnz < old.layout.nnz
        assert new.gate is None
    np.testing.assert_allclose(small(x), model(x), atol=0.02)
    names = [each.path for each in small.optimizer.variables]
    assert not any("log_alpha" in name for name in names)
    small.fit(x, np.zeros((8, 16)), verbose=0)
    masked = compact(model, keep_gate=True)
    assert [each.gate for each in masked.layers[::2]] == ["mask", "mask"]
    assert np.array_equal(
        masked.layers[2].blocks, compact(model).layers[2].blocks
    )


def test_zero_blocks_are_left_out_if_asked_for():
    layer = dense(44, gate=None)
    model = keras.Sequential([keras.Input((30,)), layer])
    blocks = layer.blocks.numpy()
    blocks[[1, 5]] = 0
    # Only padding: the last block's inputs 30 and 31, outputs 44 to 47.
    blocks[-1] = 0
    blocks[-1, 6:, 4:] = 1
    layer.blocks.assign(blocks)
    assert compact(model).layers[0].layout.nnz == 24
    small = compact(model, drop_zero=True)
    assert small.layers[0].layout.nnz == 21
    np.testing.assert_allclose(small(X), model(X), atol=1e-6)
    assert compact(small, keep_gate=True).layers[0].gate is None


def test_proximal_steps_and_compact_make_a_small_model():
    model = trained_model(keras.optimizers.SGD(0.05))
    step = tfbs.callbacks.ProximalStep(tfbs.regularizers.GroupLasso(0.06))
    model.fit(X, Y, epochs=20, verbose=0, callbacks=[step])
    small = compact(model, drop_zero=True)
    share = [
        new.layout.nnz / old.layout.nnz
        for old, new in zip(model.layers[::2], small.layers[::2], strict=True)
    ]
    assert all(0 < each < 0.9 for each in share)
    np.testing.assert_allclose(small(X), model(X), atol=1e-5)
    small.fit(X, Y, verbose=0)
