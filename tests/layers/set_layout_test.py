# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`set_layout`: as many blocks at other places."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout
from tf_blocksparse.layers import BlockSparseConv2D, BlockSparseDense

RNG = np.random.default_rng(0)


def random_layout(seed, shape=(30, 21), sparsity=0.5):
    return BlockLayout.random(shape, 4, sparsity=sparsity, seed=seed)


def dense(**arguments):
    arguments = {"layout": random_layout(0), **arguments}
    layer = BlockSparseDense(21, **arguments)
    layer.build((None, 30))
    return layer


def conv(layout):
    layer = BlockSparseConv2D(21, (3, 2), layout=layout)
    layer.build((None, 5, 5, 30))
    return layer


KERNEL = (3, 2, 30, 21)
CASES = {
    "dense": (dense, (30, 21)),
    "shared": (lambda: conv(random_layout(0)), (30, 21)),
    "per_tap": (lambda: conv(random_layout(0, KERNEL)), KERNEL),
}


@pytest.mark.parametrize("case", CASES)
def test_blocks_stay_at_their_places(case):
    make, shape = CASES[case]
    layer = make()
    old, new = layer.layout, random_layout(1, shape)
    kernel_size = None if case == "dense" else (3, 2)
    before = layer.blocks.numpy()
    source = layer.set_layout(new)
    blocks = layer.blocks.numpy()
    assert layer.layout == new
    np.testing.assert_array_equal(blocks[source < 0], 0)
    np.testing.assert_array_equal(
        blocks[source >= 0], before[source[source >= 0]]
    )
    both = BlockLayout(old.mask & new.mask, 4, 30, 21)
    assert (source >= 0).sum() == both.nnz < new.nnz
    whole = old.to_dense(before, kernel_size)
    kept = both.to_dense(both.gather(whole), kernel_size)
    np.testing.assert_array_equal(new.to_dense(blocks, kernel_size), kept)


def test_the_same_layout_changes_nothing():
    layer = dense()
    before = layer.get_weights()
    assert layer.set_layout(layer.layout).tolist() == list(range(24))
    assert all(map(np.array_equal, before, layer.get_weights()))


def test_without_blocks():
    layer = dense(layout=random_layout(0, sparsity=1.0))
    assert layer.set_layout(random_layout(1, sparsity=1.0)).size == 0


def test_gates_move_with_their_blocks():
    layer = dense(gate="mask")
    closed = np.arange(24) % 3 > 0
    layer.gate_mask.assign(closed)
    source = layer.set_layout(random_layout(1))
    expected = np.where(source < 0, True, closed[source])
    np.testing.assert_array_equal(layer.gate_mask.numpy(), expected)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_dtypes(dtype):
    layer = dense(dtype=dtype)
    before = layer.blocks.numpy()
    source = layer.set_layout(random_layout(1))
    blocks = layer.blocks.numpy()
    assert blocks.dtype == before.dtype
    np.testing.assert_array_equal(
        blocks[source >= 0], before[source[source >= 0]]
    )


def test_nothing_is_traced_anew_and_the_file_has_it(tmp_path):
    layer = dense()
    model = keras.Sequential([layer])
    traces = []

    @tf.function
    def call(x):
        traces.append(1)
        return model(x)

    x = tf.constant(RNG.normal(size=(5, 30)), tf.float32)
    call(x)
    layer.set_layout(random_layout(1))
    layer.blocks.assign(RNG.normal(size=layer.blocks.shape))
    whole = layer.layout.to_dense(layer.blocks.numpy())
    np.testing.assert_allclose(call(x), x @ whole, 1e-4, 1e-4)
    assert len(traces) == 1
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.layers[0].layout == random_layout(1)
    np.testing.assert_array_equal(loaded(x), model(x))


@keras.saving.register_keras_serializable("set_layout_test")
class Gate(keras.layers.Layer):
    def build(self, shape):
        self.gate = self.add_weight(shape=(shape[0],), initializer="ones")

    def call(self, blocks):
        return self.gate


@pytest.mark.parametrize(
    ("arguments", "layout", "message"),
    [
        ({}, "random", "layout: got str"),
        ({}, random_layout(0, (30, 20)), "layout: got one of shape"),
        ({}, random_layout(0, (34, 21)), "layout: got one of shape"),
        ({}, random_layout(0, sparsity=0.6), "nnz 19, expected 24"),
        ({}, random_layout(0, KERNEL), "layout: got one of 6 taps"),
        ({}, BlockLayout.random((30, 21), 8, sparsity=0.5), "block_size"),
        ({"gate": Gate()}, random_layout(1), "weights belong to the blocks"),
    ],
)
def test_refuses_and_changes_nothing(arguments, layout, message):
    layer = dense(**arguments)
    before = layer.get_weights()
    with pytest.raises(ValueError, match=message):
        layer.set_layout(layout)
    assert all(map(np.array_equal, before, layer.get_weights()))
    assert layer.layout == random_layout(0)


def test_refuses_taps_of_the_other_kind():
    shared, per_tap = random_layout(0), random_layout(0, KERNEL)
    with pytest.raises(ValueError, match="taps 6, expected None"):
        conv(shared).set_layout(per_tap)
    with pytest.raises(ValueError, match="taps None, expected 6"):
        conv(per_tap).set_layout(shared)


def test_refuses_blocks_between_groups():
    layer = BlockSparseConv2D(16, 3, groups=2, block_size=4, sparsity=0.5)
    layer.build((None, 5, 5, 16))
    with pytest.raises(ValueError, match="of two of the 2 groups"):
        layer.set_layout(BlockLayout.banded((16, 16), 4, bandwidth=1))


def test_refuses_before_build_and_in_functions():
    with pytest.raises(ValueError, match="got set_layout before `build`"):
        BlockSparseDense(21).set_layout(random_layout(0))
    layer = dense()
    with pytest.raises(RuntimeError, match="got a read of `layout`"):
        tf.function(lambda: layer.set_layout(random_layout(1)))()
