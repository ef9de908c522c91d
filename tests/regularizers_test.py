# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""GroupLasso and its proximal operator against NumPy."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout
from tf_blocksparse.layers import BlockSparseConv2D, BlockSparseDense
from tf_blocksparse.regularizers import GroupLasso

RNG = np.random.default_rng(0)
DTYPES = ["float16", "bfloat16", "float32", "float64"]


def norms(blocks):
    return np.sqrt((blocks.reshape(len(blocks), -1) ** 2).sum(axis=1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 4), (4, 2, 2)])
def test_the_penalty_is_exact_on_small_integers(dtype, shape):
    blocks = np.zeros((3, *shape))
    blocks[0] = 1
    blocks[2].flat[0] = -3
    x = tf.constant(blocks, dtype)
    assert float(GroupLasso(0.5)(x)) == 0.5 * 4 * (4 + 0 + 3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_gradient_of_a_block_of_zeros_is_zero(dtype):
    blocks = np.zeros((2, 2, 2))
    blocks[1] = [[3, 0], [0, -4]]
    x = tf.constant(blocks, dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        penalty = GroupLasso(1.0)(x)
    gradient = tape.gradient(penalty, x)
    assert gradient.dtype == x.dtype
    expected = np.stack([np.zeros((2, 2)), 2 * blocks[1] / 5])
    np.testing.assert_allclose(
        gradient.numpy().astype("float64"), expected, 8e-3
    )
    assert not gradient.numpy()[0].any()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_not_hidden(bad):
    blocks = np.zeros((2, 2, 2), "float32")
    blocks[0, 0, 0] = bad
    lasso = GroupLasso(1.0)
    np.testing.assert_equal(float(lasso(blocks)), bad)
    assert not np.isfinite(lasso.proximal(blocks)).all()


def test_sixteen_bits_do_not_overflow():
    x = tf.constant(np.full((1, 16, 16), 1000.0), "float16")
    assert float(GroupLasso(1.0)(x)) == 16 * 16 * 1000
    assert not GroupLasso(1001.0).proximal(x).numpy().any()
    assert (GroupLasso(500.0 / 16).proximal(x, 1.0).numpy() == 968.75).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_proximal_operator_is_the_block_soft_threshold(dtype):
    blocks = RNG.normal(size=(50, 3, 4)) * RNG.random((50, 1, 1))
    factor, step_size = 0.3, 1.5
    limit = factor * step_size * np.sqrt(12)
    size = norms(blocks)
    scale = np.maximum(0, 1 - limit / size)
    got = GroupLasso(factor).proximal(tf.constant(blocks, dtype), step_size)
    got = got.numpy()
    assert got.dtype == dtype
    np.testing.assert_allclose(got, blocks * scale[:, None, None], atol=1e-6)
    assert np.array_equal(got.any(axis=(1, 2)), size > limit)
    assert 0 < (size > limit).sum() < 50


def test_the_proximal_operator_solves_its_problem():
    regularizer = GroupLasso(0.2)
    w = RNG.normal(size=(3, 2, 2)) * [[[0.1]], [[1.0]], [[3.0]]]
    best = regularizer.proximal(tf.constant(w), 0.7).numpy()

    def objective(v):
        return ((v - w) ** 2).sum() / 2 + 0.7 * float(regularizer(v))

    for _ in range(200):
        other = best + RNG.normal(size=w.shape) * 10.0 ** RNG.uniform(-3, 0)
        assert objective(best) < objective(other)


def test_no_step_changes_nothing():
    x = tf.constant(RNG.normal(size=(4, 2, 2)), "float32")
    assert np.array_equal(GroupLasso(1.0).proximal(x, 0.0), x)
    assert np.array_equal(GroupLasso(0.0).proximal(x), x)
    zero = tf.zeros((4, 2, 2))
    assert np.array_equal(GroupLasso(1.0).proximal(zero, 0.0), zero)


KERNELS = [
    ((8, 12), (4, 3), False),
    ((7, 10), (4, 3), False),
    ((3, 8, 12), (4, 3), False),
    ((3, 3, 7, 10), (4, 4), False),
    ((3, 3, 7, 10), (4, 4), True),
]


@pytest.mark.parametrize(("shape", "block_size", "shared_taps"), KERNELS)
def test_kernels_are_cut_as_layouts_cut_them(shape, block_size, shared_taps):
    kernel = RNG.normal(size=shape)
    *spatial, inputs, outputs = shape
    taps = int(np.prod(spatial))
    grid = -(-inputs // block_size[0]), -(-outputs // block_size[1])
    mask = np.ones([*([] if shared_taps or not spatial else [taps]), *grid])
    layout = BlockLayout(mask, block_size, inputs, outputs)
    blocks = layout.gather(kernel)
    of_kernel = GroupLasso(0.1, block_size=block_size, shared_taps=shared_taps)
    of_blocks = GroupLasso(0.1)
    np.testing.assert_allclose(of_kernel(kernel), of_blocks(blocks), 1e-12)
    # Half of the blocks become zero.
    size = np.median(norms(blocks)) / np.sqrt(blocks[0].size) / 0.1
    got = of_kernel.proximal(tf.constant(kernel), size).numpy()
    expected = layout.to_dense(
        of_blocks.proximal(tf.constant(blocks), size).numpy(),
        tuple(spatial) or None,
    )
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert 0 < (got == 0).mean() < 1


def test_layers_train_with_the_penalty_and_are_saved(tmp_path):
    regularizer = GroupLasso(0.01)
    model = keras.Sequential(
        [
            keras.Input((4, 4, 8)),
            BlockSparseConv2D(
                8,
                2,
                block_size=4,
                sparsity=0.5,
                kernel_regularizer=regularizer,
                dtype="mixed_bfloat16",
            ),
            keras.layers.Flatten(),
            BlockSparseDense(
                8, block_size=4, sparsity=0.5, kernel_regularizer=regularizer
            ),
            keras.layers.Dense(
                2, kernel_regularizer=GroupLasso(0.01, block_size=4)
            ),
        ]
    )
    model.compile("sgd", "mse")
    losses = [float(loss) for loss in model.losses]
    expected = [
        float(regularizer(model.layers[0].blocks)),
        float(regularizer(model.layers[2].blocks)),
        float(GroupLasso(0.01, block_size=4)(model.layers[3].kernel)),
    ]
    assert losses == expected
    x = RNG.normal(size=(8, 4, 4, 8))
    history = model.fit(x, np.zeros((8, 2)), epochs=5, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    assert sum(map(float, model.losses)) < sum(losses)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert [float(loss) for loss in loaded.losses] == [
        float(loss) for loss in model.losses
    ]
    again = loaded.layers[3].kernel_regularizer
    assert again.get_config() == {
        "factor": 0.01,
        "block_size": [4, 4],
        "shared_taps": False,
    }


@pytest.mark.parametrize("factor", [-1, np.inf, np.nan, True, "0.1", [1]])
def test_wrong_factors_are_refused(factor):
    with pytest.raises(ValueError, match="factor: got"):
        GroupLasso(factor)


def test_wrong_weights_are_refused_with_advice():
    with pytest.raises(ValueError, match="give block_size to GroupLasso"):
        GroupLasso(0.1)(np.ones((4, 4)))
    with pytest.raises(ValueError, match=r"expected a kernel"):
        GroupLasso(0.1, block_size=2)(np.ones(4))
    with pytest.raises(ValueError, match="block_size: got"):
        GroupLasso(0.1, block_size=0)
