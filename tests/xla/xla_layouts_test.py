# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Layouts that are wrong, inside of compiled functions."""

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, LayoutTensor, ops

LAYOUT = BlockLayout.random((40, 24), 8, sparsity=0.5, seed=0)
X = tf.ones([5, 40])
DY = tf.ones([5, 24])
IMAGES = tf.ones([2, 4, 4, 40])
OUT_IMAGES = tf.ones([2, 4, 4, 24])
BLOCKS = tf.ones(LAYOUT.blocks_shape)
KERNELS = tf.ones([LAYOUT.nnz, 9, 8, 8])


def resolved(packed):
    return LayoutTensor(packed, LAYOUT.shape, LAYOUT.block_size)


FUNCTIONS = {
    "matmul": lambda p: ops.matmul(X, BLOCKS, resolved(p)),
    "transposed": lambda p: ops.matmul(DY, BLOCKS, resolved(p), transpose=True),
    "fused": lambda p: ops.matmul(X, BLOCKS, resolved(p), activation="relu"),
    "sampled": lambda p: ops.sampled_matmul(X, DY, resolved(p)),
    "conv": lambda p: ops.conv(IMAGES, KERNELS, resolved(p), 3, padding="same"),
    "conv_sampled": lambda p: ops.conv_sampled(
        IMAGES, OUT_IMAGES, resolved(p), 3, padding="same"
    ),
}
# Every number of the packed layout in turn, far out and just beyond.
HOSTILE = [-(2**31), -1, 2**20, 2**31 - 1]


def hostile_layouts():
    for place in range(0, len(LAYOUT.packed), 3):
        packed = np.array(LAYOUT.packed)
        packed[place] = HOSTILE[place % len(HOSTILE)]
        yield tf.constant(packed)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_our_kernels_raise_what_they_raise_outside(name):
    function = FUNCTIONS[name]
    compiled = tf.function(function, jit_compile=True)
    refused = 0
    for packed in hostile_layouts():
        try:
            expected = function(packed)
        except tf.errors.InvalidArgumentError as error:
            refused += 1
            # Between where it was raised and which function or op it was.
            text = error.message.split("}} ")[-1].split(" [Op:")[0]
            with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                compiled(packed)
            assert caught.value.message.startswith(text)
        else:  # a view that this op does not read
            np.testing.assert_array_equal(compiled(packed), expected)
    assert refused >= 4
    # And then all goes on.
    packed = tf.constant(LAYOUT.packed)
    np.testing.assert_array_equal(compiled(packed), function(packed))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_dense_products_stay_in_their_memory(name, monkeypatch):
    monkeypatch.setenv("TF_BLOCKSPARSE_XLA_DENSE", "1")
    function = FUNCTIONS[name]
    compiled = tf.function(function, jit_compile=True)
    packed = tf.constant(LAYOUT.packed)
    expected = function(packed)
    for hostile in hostile_layouts():
        # No more than all of the blocks, which are ones, at any place.
        assert np.max(compiled(hostile)) <= 9 * LAYOUT.nnz * 64 * 8
    np.testing.assert_array_equal(compiled(packed), expected)
