# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Hard-concrete gates against NumPy, and in models."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_blocksparse.layers as bs
from tf_blocksparse import BlockLayout
from tf_blocksparse.layers import ConcreteGate

RNG = np.random.default_rng(0)
BETA, GAMMA, ZETA = 2 / 3, -0.1, 1.1


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def built_gate(log_alpha, **arguments):
    gate = ConcreteGate(**{"seed": 0, **arguments})
    gate.build((len(log_alpha), 4, 4))
    gate.log_alpha.assign(log_alpha)
    return gate


LOG_ALPHA = RNG.normal(size=200).astype("float32") * 3
BLOCKS = np.zeros((200, 4, 4), "float32")


def test_inference_equals_its_formula():
    gate = built_gate(LOG_ALPHA)
    z = gate(BLOCKS).numpy()
    expected = np.clip(sigmoid(LOG_ALPHA) * (ZETA - GAMMA) + GAMMA, 0, 1)
    np.testing.assert_allclose(z, expected, atol=1e-6)
    assert z.dtype == np.float32
    assert (z == 0).any()
    assert (z == 1).any()
    assert np.array_equal(z, gate(BLOCKS, training=False))


def test_training_equals_its_formula():
    gate = built_gate(LOG_ALPHA)
    # The same draw: from the same seed at the same count.
    twin = keras.random.SeedGenerator(0)
    for _ in range(2):
        u = keras.random.uniform((200,), 1e-6, 1 - 1e-6, seed=twin).numpy()
        logits = (np.log(u) - np.log1p(-u) + LOG_ALPHA) / BETA
        expected = np.clip(sigmoid(logits) * (ZETA - GAMMA) + GAMMA, 0, 1)
        z = gate(BLOCKS, training=True).numpy()
        np.testing.assert_allclose(z, expected, atol=2e-6)


def test_the_penalty_is_the_expected_number_of_open_gates():
    gate = built_gate(LOG_ALPHA, penalty=0.25)
    expected = sigmoid(LOG_ALPHA - BETA * np.log(-GAMMA / ZETA)).sum()
    assert np.isclose(gate.expected_count(), expected, rtol=1e-6)
    assert np.isclose(float(gate.losses[0]), 0.25 * expected, rtol=1e-6)
    counts = [
        (gate(BLOCKS, training=True).numpy() > 0).sum() for _ in range(300)
    ]
    assert abs(np.mean(counts) - expected) < 5 * np.std(counts) / 300**0.5


def test_other_parameters_are_used():
    gate = built_gate(LOG_ALPHA, beta=0.5, gamma=-0.2, zeta=1.5)
    expected = np.clip(sigmoid(LOG_ALPHA) * 1.7 - 0.2, 0, 1)
    np.testing.assert_allclose(gate(BLOCKS), expected, atol=1e-6)
    expected = sigmoid(LOG_ALPHA - 0.5 * np.log(0.2 / 1.5)).sum()
    assert np.isclose(gate.expected_count(), expected, rtol=1e-6)


def test_first_values_follow_the_drop_rate():
    gate = ConcreteGate(drop_rate=0.25)
    gate.build((1000, 2, 2))
    values = gate.log_alpha.numpy()
    assert abs(values.mean() - np.log(3)) < 1e-2
    assert 0.005 < values.std() < 0.02


def test_gradients_are_finite_and_flow_to_what_is_between():
    gate = built_gate(np.array([-100, -1, 0, 1, 100], "float32"), penalty=0.1)
    for training in (False, True):
        with tf.GradientTape() as tape:
            z = gate(BLOCKS[:5], training=training)
            loss = tf.reduce_sum(z) + gate.losses[0]
        gradient = tape.gradient(loss, gate.log_alpha.value).numpy()
        assert np.isfinite(gradient).all()
        assert (gradient[1:4] > 0).all()


def dense_model(dtype=None, run_eagerly=True, **arguments):
    keras.utils.set_random_seed(0)
    gates = [ConcreteGate(seed=each, **arguments) for each in (1, 2)]
    layers = [
        bs.BlockSparseConv2D(
            16, 3, block_size=8, sparsity=0.0, gate=gates[0], dtype=dtype
        ),
        keras.layers.Flatten(),
        bs.BlockSparseDense(
            16, block_size=8, sparsity=0.0, gate=gates[1], dtype=dtype
        ),
        keras.layers.Dense(2),
    ]
    model = keras.Sequential([keras.Input((4, 4, 8)), *layers])
    # Few steps take less time than making a graph.
    optimizer = keras.optimizers.Adam(0.05)
    model.compile(optimizer, "mse", run_eagerly=run_eagerly)
    return model, gates


X = RNG.normal(size=(32, 4, 4, 8)).astype("float32")
Y = RNG.normal(size=(32, 2)).astype("float32")


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "mixed_bfloat16", "bfloat16"]
)
def test_layers_are_the_product_with_gated_blocks(dtype):
    model, gates = dense_model(dtype)
    layer = model.layers[2]
    gates[1].log_alpha.assign(np.linspace(-5, 5, layer.layout.nnz))
    assert gates[1].log_alpha.dtype == "float32"
    x = RNG.normal(size=(8, layer.layout.inputs))
    z = gates[1](layer.blocks).numpy()
    assert 0 < np.count_nonzero(z) < z.size
    blocks = layer.blocks.numpy().astype("float64") * z[:, None, None]
    expected = x @ layer.layout.to_dense(blocks)
    tolerance = 0.05 if "bfloat16" in dtype else 1e-4
    got = np.asarray(layer(x), "float64")
    np.testing.assert_allclose(got, expected, atol=tolerance)


def test_training_draws_and_inference_does_not():
    model, _ = dense_model()
    for layer in (model.layers[0], model):
        one, two = layer(X, training=True), layer(X, training=True)
        assert not np.array_equal(one, two)
        assert np.array_equal(layer(X), layer(X, training=False))


def test_the_penalty_closes_gates():
    model, gates = dense_model(run_eagerly=False, penalty=1.0)
    model.optimizer.learning_rate = 0.5
    before = [gate.expected_count() for gate in gates]
    history = model.fit(X, Y, epochs=16, verbose=0)
    after = [gate.expected_count() for gate in gates]
    assert np.isfinite(history.history["loss"]).all()
    assert sum(after) < 0.5 * sum(before)


def test_a_layer_that_is_used_twice_pays_once():
    gate = ConcreteGate(0.5)
    layer = bs.BlockSparseDense(16, block_size=8, sparsity=0.0, gate=gate)
    inputs = keras.Input((16,))
    model = keras.Model(inputs, layer(layer(inputs)))
    model(np.ones((2, 16)), training=True)
    assert len(model.losses) == 1
    assert np.isclose(float(model.losses[0]), 0.5 * gate.expected_count())


def test_saving_restores_gates_and_their_randomness(tmp_path):
    model, gates = dense_model(penalty=0.01)
    model.fit(X, Y, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    gate = loaded.layers[0].gate
    assert gate.get_config() == gates[0].get_config()
    assert np.array_equal(model(X), loaded(X))
    assert np.array_equal(model(X, training=True), loaded(X, training=True))
    for each in (model, loaded):
        each.fit(X, Y, verbose=0, shuffle=False)
    for one, two in zip(model.weights, loaded.weights, strict=True):
        assert np.array_equal(one.numpy(), two.numpy())


def test_layouts_per_tap_have_a_gate_for_each_tap():
    gate = ConcreteGate()
    layout = BlockLayout(np.ones((9, 1, 2)), 8)
    layer = bs.BlockSparseConv2D(16, 3, layout=layout, gate=gate)
    layer(X)
    assert gate.log_alpha.shape == (18,)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"penalty": -1}, "penalty: got int -1"),
        ({"drop_rate": 0.0}, "drop_rate: got float 0.0"),
        ({"drop_rate": 1}, "drop_rate: got"),
        ({"beta": 0}, "beta: got"),
        ({"gamma": 0.1}, "gamma: got"),
        ({"zeta": 1.0}, "zeta: got"),
        ({"zeta": "1.1"}, "zeta: got str"),
    ],
)
def test_wrong_arguments_are_refused(arguments, text):
    with pytest.raises(ValueError, match=text):
        ConcreteGate(**arguments)


def test_one_gate_for_two_layers_is_refused():
    gate = ConcreteGate()
    with pytest.raises(ValueError, match="got no blocks yet"):
        gate.expected_count()
    one = bs.BlockSparseDense(16, block_size=8, sparsity=0.0, gate=gate)
    two = bs.BlockSparseDense(32, block_size=8, sparsity=0.0, gate=gate)
    one(np.ones((1, 16)))
    with pytest.raises(ValueError, match="got 8 blocks, expected 4"):
        two(np.ones((1, 16)))
