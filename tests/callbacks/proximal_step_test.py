# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Proximal steps after training steps."""

import keras
import numpy as np
import pytest

from tf_blocksparse.callbacks import ProximalStep
from tf_blocksparse.layers import BlockSparseDense
from tf_blocksparse.regularizers import GroupLasso

RNG = np.random.default_rng(0)
X = RNG.normal(size=(64, 16)).astype("float32")
# Only the first four features matter, and only to four outputs.
Y = np.zeros((64, 16), "float32")
Y[:, 4:8] = X[:, :4]


def small_model(rate=0.1, **arguments):
    keras.utils.set_random_seed(0)
    layer = BlockSparseDense(16, block_size=4, sparsity=0.0, **arguments)
    model = keras.Sequential([keras.Input((16,)), layer])
    optimizer = keras.optimizers.SGD(rate)
    model.compile(optimizer, lambda y, p: keras.ops.sum((y - p) ** 2, axis=-1))
    return model, layer


def test_only_blocks_that_matter_stay():
    model, layer = small_model(0.04)
    callback = ProximalStep(GroupLasso(0.5))
    history = model.fit(
        X, Y, epochs=30, batch_size=32, verbose=0, callbacks=[callback]
    )
    is_zero = ~layer.blocks.numpy().any(axis=(1, 2))
    # Blocks go output by output: output 1, input 0 is the fifth.
    assert np.flatnonzero(~is_zero).tolist() == [4]
    assert history.history["zero_blocks"][-1] == 15 / 16


def test_one_step_is_a_gradient_step_and_the_proximal_operator():
    regularizer = GroupLasso(0.3)
    plain, plain_layer = small_model()
    model, layer = small_model()
    plain.train_on_batch(X, Y)
    step = ProximalStep(regularizer)
    step.start(model)
    model.train_on_batch(X, Y)
    step.step()
    expected = regularizer.proximal(plain_layer.blocks, 0.1)
    np.testing.assert_allclose(layer.blocks.numpy(), expected, rtol=1e-6)
    # Without a step in between nothing happens.
    before = layer.blocks.numpy()
    step.step()
    assert np.array_equal(before, layer.blocks.numpy())


def test_several_steps_at_once_shrink_as_much_more():
    model, layer = small_model(0.0)
    model.compile(keras.optimizers.SGD(0.0), "mse", steps_per_execution=4)
    before = layer.blocks.numpy()
    regularizer = GroupLasso(0.01)
    step = ProximalStep(regularizer, step_size=0.5)
    model.fit(X, Y, batch_size=16, verbose=0, callbacks=[step])
    expected = regularizer.proximal(keras.ops.convert_to_tensor(before), 2.0)
    np.testing.assert_allclose(layer.blocks.numpy(), expected, rtol=1e-5)


def test_layers_that_are_not_trained_are_left_alone():
    model, layer = small_model()
    layer.trainable = False
    with pytest.raises(ValueError, match="without a block-sparse layer to"):
        ProximalStep(GroupLasso(0.1)).start(model)


def test_a_penalty_beside_it_is_refused():
    model, layer = small_model(kernel_regularizer=GroupLasso(0.1))
    with pytest.raises(ValueError, match=f"layer {layer.name}: got kernel_reg"):
        ProximalStep(GroupLasso(0.1)).start(model)


@pytest.mark.parametrize(
    "regularizer", [0.1, keras.regularizers.L1(), GroupLasso(1, block_size=4)]
)
def test_wrong_regularizers_are_refused(regularizer):
    with pytest.raises(ValueError, match="regularizer: got"):
        ProximalStep(regularizer)


@pytest.mark.parametrize("step_size", [-1, "0.1", np.nan, True, np.inf])
def test_wrong_step_sizes_are_refused(step_size):
    with pytest.raises(ValueError, match="step_size: got"):
        ProximalStep(GroupLasso(0.1), step_size=step_size)


def test_several_learning_rates_need_a_step_size():
    model, _ = small_model()
    each = keras.optimizers.OptimizerMap(keras.optimizers.SGD())
    model.compile(keras.optimizers.MultiOptimizer(each), "mse")
    with pytest.raises(ValueError, match="step_size: got None and multi_opt"):
        ProximalStep(GroupLasso(0.1)).start(model)
    ProximalStep(GroupLasso(0.1), step_size=0.1).start(model)
