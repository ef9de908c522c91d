# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What `inspect` finds: numbers, names, text."""

import re

import keras
import numpy as np
import pytest

from tf_blocksparse import BlockLayout, inspection, layers
from tf_blocksparse.inspection import Inspection

# Of 20 x 10 in blocks of 8: the last blocks hold 4 inputs, or 2 outputs.
MASK = [[1, 0], [0, 0], [1, 1]]


def layout():
    return BlockLayout(MASK, 8, inputs=20, outputs=10)


def dense(**arguments):
    layer = layers.BlockSparseDense(10, layout=layout(), **arguments)
    layer.build((None, 20))
    return layer


class Holder(keras.layers.Layer):
    """A layer with a block-sparse one in a list, and one that is dense."""

    def __init__(self):
        super().__init__(name="holder")
        self.inner = [layers.BlockSparseDense(10, layout=layout(), name="held")]
        self.last = keras.layers.Dense(20, use_bias=False)

    def call(self, inputs):
        return self.last(self.inner[0](inputs))


class Halves(keras.layers.Layer):
    """A gate of real numbers, one of them 0, which has a weight."""

    def build(self, shape):
        initial = np.array([0.5, 0.0, -2.0], np.float32)
        self.gains = self.add_weight(
            shape=(shape[0],), initializer=lambda *_, **__: initial
        )

    def call(self, blocks):
        return keras.ops.convert_to_tensor(self.gains)


def test_a_layout():
    (seen,) = Inspection.of(layout()).layers
    assert (seen.name, seen.kind) == ("layout", "BlockLayout")
    assert seen.density == 0.5
    assert seen.output_counts.tolist() == [2, 1]
    assert (seen.empty_inputs, seen.empty_outputs) == (8, 0)
    assert seen.parameters == 3 * 64
    assert seen.dense_parameters == 200
    assert seen.bytes == 3 * 64 * 4 + layout().packed.nbytes
    assert seen.gate is None
    assert seen.norms is None
    assert seen.closed == 0


def test_features_of_an_empty_last_block():
    seen = Inspection.of(BlockLayout([[1, 0], [0, 0]], 8, 10, 11)).layers[0]
    assert (seen.empty_inputs, seen.empty_outputs) == (2, 3)


def test_a_layout_per_tap():
    mask = np.zeros((4, 2, 2), bool)
    mask[1, 0, 0] = mask[3, 0, 0] = mask[2, 1, 0] = True
    (seen,) = Inspection.of(BlockLayout(mask, 4)).layers
    assert seen.taps == 4
    assert seen.output_counts.tolist() == [3, 0]
    assert (seen.empty_inputs, seen.empty_outputs) == (0, 4)
    assert seen.dense_parameters == 4 * 8 * 8
    # Blocks are ordered by output, input and tap.
    placed = seen.places(np.array([5, 6, 7]))
    assert placed.shape == (2, 2, 4)
    assert (placed[0, 0, 1], placed[0, 0, 3], placed[1, 0, 2]) == (5, 6, 7)
    assert np.count_nonzero(placed) == 3


def test_a_layer_with_a_mask():
    layer = dense(gate="mask")
    layer.gate_mask.assign([True, False, True])
    (seen,) = Inspection.of(layer).layers
    assert seen.open.tolist() == [True, False, True]
    assert seen.closed == 1
    # The closed block is (2, 0): the third row still has (2, 1).
    assert seen.output_counts.tolist() == [1, 1]
    assert seen.density == 0.5
    assert seen.parameters == 3 * 64 + 10
    assert seen.dense_parameters == 20 * 10 + 10
    packed = layout().packed.nbytes
    assert seen.bytes == 4 * (3 * 64 + 10) + 3 + packed
    assert seen.norms[1] == 0


def test_norms_are_those_of_the_weight():
    layer = dense()
    layer.blocks.assign(np.ones(layer.blocks.shape))
    (seen,) = Inspection.of(layer).layers
    # Of 8 x 8, 4 x 8 and 4 x 2 numbers: the rest juts out.
    np.testing.assert_allclose(seen.norms**2, [64, 32, 8], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16"])
def test_other_dtypes(dtype):
    layer = dense(dtype=dtype)
    layer.blocks.assign(2 * np.ones(layer.blocks.shape))
    (seen,) = Inspection.of(layer).layers
    assert seen.norms.dtype == np.float32
    np.testing.assert_allclose(seen.norms[0], 16)
    size = 8 if dtype == "float64" else 2
    assert seen.bytes == size * (3 * 64 + 10) + layout().packed.nbytes


def test_a_gate_of_numbers():
    layer = dense(gate=Halves())
    layer.blocks.assign(np.ones(layer.blocks.shape))
    (seen,) = Inspection.of(layer).layers
    assert seen.gate.tolist() == [0.5, 0.0, -2.0]
    assert seen.closed == 1
    np.testing.assert_allclose(seen.norms, [4, 0, 2 * 8**0.5], rtol=1e-6)
    assert seen.parameters == 3 * 64 + 10 + 3


@pytest.mark.parametrize("per_tap", [False, True])
def test_convolutions(per_tap):
    given = BlockLayout.random(
        (3, 3, 16, 8) if per_tap else (16, 8), 8, sparsity=0.5, seed=1
    )
    layer = layers.BlockSparseConv2D(8, 3, layout=given)
    layer.build((None, 9, 9, 16))
    layer.blocks.assign(np.ones(layer.blocks.shape))
    seen_all = Inspection.of(layer)
    (seen,) = seen_all.layers
    assert seen.taps == 9
    assert seen.dense_parameters == 9 * 16 * 8 + 8
    assert seen.parameters == 9 * 64 + 8
    np.testing.assert_allclose(seen.norms, 8 if per_tap else 24, rtol=1e-6)
    assert re.search(r"16 x 8 .*\n.* 9 taps .*\n.* in 8 x 8\n", str(seen_all))


def test_groups_have_fewer_places():
    layer = layers.BlockSparseConv1D(
        16, 3, groups=2, block_size=8, sparsity=0.25
    )
    layer.build((None, 9, 32))
    twin = keras.layers.Conv1D(16, 3, groups=2)
    twin.build((None, 9, 32))
    (seen,) = Inspection.of(layer).layers
    assert seen.block_places == 4 * 2 / 2
    assert seen.density == 0.75
    assert seen.dense_parameters == twin.count_params()
    assert "3 of 4" in str(Inspection.of(layer))


def nested():
    """Layers of a model, of a model in it, of a layer in it; one used twice."""
    inner = keras.Sequential([keras.Input((20,)), dense()], name="inner")
    inner.layers[0].name = "first"
    twice = Holder()
    inputs = keras.Input((20,))
    outputs = inner(twice(twice(inputs)))
    return keras.Model(inputs, keras.layers.Dense(5)(outputs), name="outer")


def test_nested_models_and_layers():
    model = nested()
    seen = Inspection.of(model)
    names = [layer.name for layer in seen.layers]
    assert names == ["holder/held", "inner/first"]
    assert seen.others == 2  # Dense of the holder and that of the model
    assert seen.other_parameters == 10 * 20 + 10 * 5 + 5
    assert seen.parameters == 2 * (3 * 64 + 10) + 255
    assert seen.dense_parameters == 2 * 210 + 255
    assert seen.parameters == sum(
        np.prod(weight.shape) for weight in model.trainable_weights
    )


def test_attention_and_what_wraps_layers():
    """Layers that hold others; a gate is a part of its layer."""
    small = {"block_size": 16, "sparsity": 0.5}
    attention = layers.BlockSparseMultiHeadAttention(
        4, 16, name="attention_of_the_encoder", **small
    )
    gated = layers.BlockSparseDense(
        32, gate=layers.ConcreteGate(), name="gated", **small
    )
    inputs = keras.Input((12, 64))
    outputs = keras.layers.TimeDistributed(gated, name="each")(
        attention(inputs, inputs)
    )
    model = keras.Model(inputs, outputs)
    seen = Inspection.of(model)
    (*projections, last) = [layer.name for layer in seen.layers]
    assert len(projections) == 4
    assert "attention_of_the_encoder/query" in projections
    assert last == "each/gated"
    assert seen.layers[-1].closed == 0
    assert seen.others == 0
    assert seen.parameters == sum(
        np.prod(weight.shape) for weight in model.trainable_weights
    )
    # Long names don't make the table wide.
    lines = str(seen).splitlines()
    assert lines[2] in projections
    assert lines[3].startswith("(BlockSparseEinsumDense)  ")
    assert max(map(len, lines)) <= 85


def test_bytes_are_those_of_the_file(tmp_path):
    model = keras.Sequential(
        [
            keras.Input((512,)),
            layers.BlockSparseDense(512, block_size=16, gate="mask"),
            keras.layers.Dense(512),
        ]
    )
    model.save_weights(tmp_path / "model.weights.h5")
    size = (tmp_path / "model.weights.h5").stat().st_size
    assert abs(size - Inspection.of(model).bytes) < 0.05 * size


def test_a_subclassed_model():
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.hidden = layers.BlockSparseDense(
                10, layout=layout(), name="hidden"
            )
            self.scale = self.add_weight(shape=(10,), name="scale")

        def call(self, inputs):
            return self.hidden(inputs) * self.scale

    model = Own()
    with pytest.raises(ValueError, match="not built"):
        inspection.inspect(model)
    model(np.ones((1, 20), np.float32))
    seen = Inspection.of(model)
    assert [layer.name for layer in seen.layers] == ["hidden"]
    # The model itself holds the weight.
    assert (seen.others, seen.other_parameters) == (1, 10)


def test_it_is_a_snapshot():
    layer = dense(gate="mask")
    seen = Inspection.of(layer)
    layer.gate_mask.assign([False, False, False])
    assert seen.layers[0].closed == 0


def test_prints_and_returns(capsys):
    seen = inspection.inspect(nested())
    assert capsys.readouterr().out == f"{seen}\n"
    share = f"{seen.layers[0].bytes / seen.bytes:.1%}"
    rest = f"{seen.other_bytes / seen.bytes:.1%}"
    kind = "(BlockSparseDense) in 8 x 8 50.0% 96.2% of dense 0 out"
    lines = [" ".join(line.split()) for line in str(seen).splitlines()]
    assert lines[2:9] == [
        f"holder/held 20 x 10 3 of 6 202 {share} 8 in",
        kind,
        f"inner/first 20 x 10 3 of 6 202 {share} 8 in",
        kind,
        f"2 others 255 {rest}",
        "total 659 100.0%",
        "97.6% of dense",
    ]
    assert "675 parameters if it were dense" in str(seen)
    assert "2 block-sparse, 659 of 675 parameters" in repr(seen)


def test_print_fn_takes_the_text():
    texts = []
    seen = inspection.inspect(layout(), print_fn=texts.append)
    assert texts == [str(seen)]
    assert "blocks of an output: 1 to 2, 1.5 on average" in texts[0]


def test_closed_blocks_are_told():
    layer = dense(gate="mask")
    layer.gate_mask.assign([True, False, True])
    assert " 1 closed" in str(Inspection.of(layer))


def test_a_model_that_is_all_dense():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    seen = Inspection.of(model)
    assert seen.layers == ()
    assert "no layer is block-sparse" in str(seen)
    assert seen.parameters == seen.dense_parameters == 8


def test_no_blocks_and_no_weights():
    empty = BlockLayout(np.zeros((2, 2), bool), 8)
    layer = layers.BlockSparseDense(16, layout=empty, gate="mask")
    layer.build((None, 16))
    (seen,) = Inspection.of(layer).layers
    assert (seen.empty_inputs, seen.empty_outputs) == (16, 16)
    assert "0 of 4" in str(Inspection.of(layer))
    bare = keras.Sequential([keras.Input((3,)), keras.layers.ReLU()])
    assert "0 parameters" in str(Inspection.of(bare))


def test_what_it_refuses():
    with pytest.raises(ValueError, match="got int 3, expected a Keras model"):
        inspection.inspect(3)
    with pytest.raises(ValueError, match="not built"):
        inspection.inspect(layers.BlockSparseDense(8))
    model = keras.Sequential([layers.BlockSparseDense(8)])
    with pytest.raises(ValueError, match="not built"):
        inspection.inspect(model)
