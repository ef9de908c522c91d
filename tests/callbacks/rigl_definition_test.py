# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""RigL moves the blocks that its definition says, found by plain loops."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, layers
from tf_blocksparse.callbacks import RigL
from tf_blocksparse.callbacks._choice import regrown

RNG = np.random.default_rng(0)
ALL = np.ones((1, 1), bool)


def places(layout):
    """(output, input, tap) of each block, in their order."""
    mask = layout.mask if layout.mask.ndim == 3 else layout.mask[None]
    return sorted((k, c, t) for t, c, k in np.argwhere(mask))


def expected_places(layout, weights, scores, count, inside=ALL):
    """The definition, one block after the other."""
    scores = scores if scores.ndim == 3 else scores[None]
    inside = np.broadcast_to(inside, layout.grid)
    left = places(layout)
    weight = dict(zip(left, weights, strict=True))
    for _ in range(count):
        # Of equal ones the last is dropped: the first ones stay.
        left.remove(min(reversed(left), key=lambda place: weight[place]))
    taps, rows, columns = scores.shape
    for _ in range(count):
        empty = [
            (k, c, t)
            for k in range(columns)
            for c in range(rows)
            for t in range(taps)
            if (k, c, t) not in left and inside[c, k]
        ]
        # Those that grew are not in the way of what is compared.
        left.append(max(empty, key=lambda place: scores[place[::-1]]))
    return sorted(left)


def test_by_hand():
    layout = BlockLayout([[1, 1, 0], [0, 1, 0]], 4)
    scores = np.array([[0.0, 9.0, 1.0], [3.0, 0.0, 2.0]])
    # The one block of output 0, the two of output 1.
    new = regrown(layout, np.array([5.0, 1.0, 7.0]), scores, 1, ALL)
    assert new == layout  # the block just dropped is the best place
    scores[0, 1] = 0.0
    new = regrown(layout, np.array([5.0, 1.0, 7.0]), scores, 1, ALL)
    assert new.mask.astype(int).tolist() == [[1, 0, 0], [1, 1, 0]]
    new = regrown(layout, np.array([5.0, 1.0, 7.0]), scores, 3, ALL)
    assert new.mask.astype(int).tolist() == [[0, 0, 1], [1, 0, 1]]


def test_ties_go_by_the_order_of_blocks():
    layout = BlockLayout([[1, 0, 0], [1, 0, 1]], 4)
    new = regrown(layout, np.ones(3), np.zeros((2, 3)), 1, ALL)
    # The last is dropped; (0, 1) is the first of the empty places.
    assert new.mask.astype(int).tolist() == [[1, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize("taps", [None, 3])
@pytest.mark.parametrize("levels", [2, 1000])
@pytest.mark.parametrize("groups", [1, 2])
def test_random_cases(taps, levels, groups):
    """With few levels there are many ties."""
    inside = np.kron(np.eye(groups), np.ones((6 // groups, 4 // groups))) > 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        shape = (6, 4) if taps is None else (taps, 6, 4)
        layout = BlockLayout((rng.random(shape) < 0.5) & inside, 4)
        weights = rng.integers(0, levels, layout.nnz).astype(float)
        scores = rng.integers(0, levels, shape).astype(float)
        count = int(rng.integers(0, layout.nnz + 1))
        new = regrown(layout, weights, scores, count, inside)
        expected = expected_places(layout, weights, scores, count, inside)
        assert places(new) == expected
        assert new.nnz == layout.nnz


# --- Whole models -------------------------------------------------------


def dense(**arguments):
    return layers.BlockSparseDense(
        18, "tanh", block_size=4, sparsity=0.6, seed=1, **arguments
    )


def conv(**arguments):
    arguments = {"sparsity": 0.6, "seed": 1, "padding": "same", **arguments}
    return layers.BlockSparseConv1D(
        16, 3, activation="tanh", block_size=4, **arguments
    )


def conv_transpose():
    return layers.BlockSparseConv1DTranspose(
        12, 3, strides=2, block_size=4, sparsity=0.5, seed=2
    )


PER_TAP = BlockLayout.random((3, 16, 16), 4, sparsity=0.6, seed=3)
MODELS = {
    "dense": ((22,), lambda: [dense(), dense()]),
    "rows": ((5, 22), lambda: [dense()]),
    "conv": ((9, 13), lambda: [conv(), conv(layout=PER_TAP)]),
    "groups": (
        (9, 16),
        lambda: [conv(groups=2, sparsity=0.5), conv(groups=2, sparsity=0.25)],
    ),
    "strides": ((9, 13), lambda: [conv(strides=2), conv_transpose()]),
    "channels_first": (
        (13, 9),
        lambda: [conv(data_format="channels_first", strides=2)],
    ),
}


def twin_of(layer, kernel):
    """The dense layer as a function of the whole kernel."""
    bias = layer.bias.value
    if isinstance(layer, layers.BlockSparseDense):
        return lambda x: layer.activation(tf.tensordot(x, kernel, 1) + bias)
    if isinstance(layer, layers.BlockSparseConv1DTranspose):

        def convolve(x):
            shape = [x.shape[0], (x.shape[1] - 1) * 2 + 3, layer.filters]
            w = tf.transpose(kernel, [0, 2, 1])
            return tf.nn.conv1d_transpose(x, w, shape, 2, "VALID") + bias

        return convolve

    def convolve(x):
        first = layer.data_format == "channels_first"
        x = tf.transpose(x, [0, 2, 1]) if first else x
        strides = layer.strides[0]
        y = tf.nn.conv1d(x, kernel, strides, "SAME") + bias
        return layer.activation(tf.transpose(y, [0, 2, 1]) if first else y)

    return convolve


def whole_kernel(layer):
    size = getattr(layer, "kernel_size", None)
    return tf.constant(layer.layout.to_dense(layer.blocks.numpy(), size))


def block_norms(layer, gradient):
    """By a loop over blocks, in the shape of the mask."""
    layout = layer.layout
    b_in, b_out = layout.block_size
    kernel = gradient.reshape(-1, *layout.shape)
    norms = np.zeros((len(kernel), *layout.grid))
    for t, c, k in np.ndindex(norms.shape):
        tile = kernel[t, c * b_in :, k * b_out :][:b_in, :b_out]
        norms[t, c, k] = math.sqrt((tile**2).sum())
    return norms if layout.taps else np.sqrt((norms**2).sum(0))


@pytest.mark.parametrize("name", MODELS)
def test_choice_equals_the_definition(name):
    """The gradient is that of a dense model with the masked weights."""
    shape, make = MODELS[name]
    keras.utils.set_random_seed(1)
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("float64")
    try:
        model = keras.Sequential([keras.Input(shape, dtype="float64"), *make()])
    finally:
        keras.config.set_dtype_policy(before)
    sparse = list(model.layers)
    x = tf.constant(RNG.normal(size=(7, *shape)))
    y = tf.constant(RNG.normal(size=model(x).shape))
    kernels = [whole_kernel(layer) for layer in sparse]
    with tf.GradientTape() as tape:
        tape.watch(kernels)
        outputs = x
        for layer, kernel in zip(sparse, kernels, strict=True):
            outputs = twin_of(layer, kernel)(outputs)
        loss = tf.reduce_mean((outputs - y) ** 2)
    np.testing.assert_allclose(outputs, model(x), 1e-9, 1e-9)
    gradients = tape.gradient(loss, kernels)

    expected = []
    for layer, gradient in zip(sparse, gradients, strict=True):
        layout, blocks = layer.layout, layer.blocks.numpy()
        inside = np.broadcast_to(1, layout.grid)
        if layer._groups > 1:
            each = [size // layer._groups for size in layout.grid]
            inside = np.kron(np.eye(layer._groups), np.ones(each))
        # Without what initializers leave beyond the edge.
        blocks = layout.gather(whole_kernel(layer))
        weights = np.sqrt((blocks**2).sum(tuple(range(1, blocks.ndim))))
        # Step 4 of 20, a fraction of 0.5.
        share = 0.25 * (1 + math.cos(math.pi * 4 / 20))
        count = round(share * layout.nnz)
        assert 0 < count < layout.nnz
        expected.append(
            expected_places(
                layout,
                weights,
                block_norms(layer, gradient.numpy()),
                count,
                inside > 0,
            )
        )

    optimizer = keras.optimizers.SGD()
    optimizer.build(model.trainable_variables)
    optimizer.iterations.assign(3)
    rigl = RigL(fraction=0.5, frequency=4, end_step=20)
    rigl.start(model, optimizer, loss=lambda y, z: tf.reduce_mean((z - y) ** 2))
    layouts = [layer.layout for layer in sparse]
    rigl.step(x, y)
    assert [layer.layout for layer in sparse] == layouts
    optimizer.iterations.assign(4)
    rigl.step(x, y)
    assert [places(layer.layout) for layer in sparse] == expected
    assert [layer.layout for layer in sparse] != layouts
