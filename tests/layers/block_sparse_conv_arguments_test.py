# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The convolution layers' arguments, layouts and first values; errors."""

import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf
from conv_twins import (
    CONV,
    FILTERS,
    KERNEL_SIZE,
    LAYERS,
    TRANSPOSE,
    Twin,
    case_name,
    gathered,
    keras_class,
    kernel,
    make,
)

from tf_blocksparse.layers import (
    BlockSparseConv1D,
    BlockSparseConv2D,
    BlockSparseConv2DTranspose,
    BlockSparseDense,
)
from tf_blocksparse.layout import BlockLayout

every_layer = pytest.mark.parametrize("kind", LAYERS, ids=case_name)
PER_TAP = BlockLayout.dense((9, 8, 8), 4)


# --- Arguments ------------------------------------------------------------


def sizes(value, rank):
    """A default of Keras's, where one number stands for as many as it has."""
    return value[0] if value == (1,) * rank else value


@every_layer
def test_takes_the_arguments_of_keras_in_their_order(kind):
    # Of __init__, since Python 3.11.2 takes the class's from Keras's __new__.
    theirs = inspect.signature(keras_class(kind).__init__).parameters.values()
    ours = list(inspect.signature(kind.__init__).parameters.values())
    for i, parameter in enumerate(theirs):
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        assert ours[i].name == parameter.name
        assert ours[i].kind == parameter.kind
        assert ours[i].default == sizes(parameter.default, kind.rank)


@every_layer
def test_positional_call_means_the_same(kind):
    arguments = [
        12, 2, 3, "SAME", "channels_first", 1, 2, "tanh", True, "he_normal",
        "ones", "l1", "l2", "l2", "non_neg", "non_neg",
    ]  # fmt: skip
    if kind in TRANSPOSE:
        del arguments[6]
        arguments.insert(5 if kind.rank == 3 else 4, 1)
    ours = kind(*arguments, block_size=1).get_config()
    theirs = keras_class(kind)(*arguments).get_config()
    theirs.pop("name")
    assert {name: ours[name] for name in theirs} == theirs


CONV_ERRORS = (
    ({"filters": 0}, "filters: got int 0, expected an integer >= 1"),
    ({"filters": 2.0}, "filters: got float 2.0"),
    ({"kernel_size": 0}, "kernel_size: got int 0, expected"),
    ({"kernel_size": (3, 3, 3)}, "kernel_size: got tuple .* as many sizes"),
    ({"kernel_size": "3"}, "kernel_size: got str '3'"),
    ({"strides": 0}, "strides: got int 0, expected"),
    ({"strides": (1, 1, 1)}, "strides: got tuple .* expected 2 integers"),
    ({"dilation_rate": 0}, "dilation_rate: got int 0"),
    ({"padding": "full"}, "padding: got .*'full'.* in 2 spatial"),
    ({"padding": "causal"}, "padding: got .*'causal'"),
    ({"padding": -1}, "padding: got"),
    ({"padding": [(1, 2, 3), 0]}, "padding: got"),
    ({"padding": None}, "padding: got .*None"),
    ({"data_format": "NHWC"}, "data_format: got str .*, expected 'channels"),
    ({"groups": 0}, "groups: got int 0, expected an integer from 1 to 8"),
    ({"groups": 9}, "groups: got int 9"),
    ({"groups": 4}, "groups: got 4 for .* a multiple of the block size 4"),
    (
        {"groups": 2, "layout": BlockLayout.dense((8, 8), 4)},
        r"layout: got the block \(0, 1\), whose inputs and outputs are of two",
    ),
    (
        {"groups": 2, "layout": PER_TAP},
        r"layout: got the block \(0, 1\)",
    ),
    ({"use_bias": 16}, "use_bias: got int 16, expected True or False"),
    ({"lora_rank": 4}, "lora_rank: got int 4, expected None"),
    ({"quantization_config": "int8"}, "quantization_config"),
    ({"block_size": 0}, "block_size: got int 0, expected"),
    ({"sparsity": 1.5}, "sparsity: got float 1.5, expected"),
    ({"seed": -1}, "seed: got int -1, expected"),
    ({"layout": np.ones((2, 2))}, "layout: got ndarray .* a BlockLayout"),
    ({"layout": "butterfly"}, "layout: got str .*BlockLayout.from_pattern"),
    (
        {"layout": BlockLayout.dense((8, 9), 4)},
        r"layout: got one of shape \(8, 9\), expected \(inputs, filters\) = "
        r"\(8, 8\)",
    ),
    (
        {"layout": BlockLayout.dense((3, 8, 8), 4)},
        "layout: got one of 3 taps, expected one of 9 taps, the product of",
    ),
    ({"kernel_constraint": "unit_norm"}, "kernel_constraint: got UnitNorm"),
)
TRANSPOSE_ERRORS = (
    *(each for each in CONV_ERRORS if "groups" not in each[0]),
    ({"output_padding": 1}, "output_padding: got 1 with strides 1, expected"),
    ({"output_padding": 2, "strides": 2}, "output_padding: got 2 with"),
    ({"output_padding": (1, 1, 1)}, "output_padding: got tuple"),
    ({"output_padding": -1}, "output_padding: got int -1"),
)


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        *((BlockSparseConv2D, *each) for each in CONV_ERRORS),
        *((BlockSparseConv2DTranspose, *each) for each in TRANSPOSE_ERRORS),
        (TRANSPOSE[0], {"padding": "causal"}, "padding: got 'causal'"),
    ],
    ids=case_name,
)
def test_refuses(kind, arguments, message):
    with pytest.raises(ValueError, match=message):
        kind(**{"filters": 8, "kernel_size": 3, "block_size": 4, **arguments})


@pytest.mark.parametrize(
    ("arguments", "shape", "message"),
    [
        ({}, (None, 9, 9, None), "input_shape: got .* known number of channel"),
        ({}, (None, 9, 8), r"input_shape: got .*, expected 4 dimensions"),
        (
            {},
            (None, 9, 2, 8),
            r"expected inputs of which the outputs are not empty.* \[7, 0\]",
        ),
        (
            {"layout": BlockLayout.dense((8, 8), 4)},
            (None, 9, 9, 9),
            r"layout: got one of shape \(8, 8\), expected .* \(9, 8\)",
        ),
        ({"groups": 2}, (None, 9, 9, 9), "groups: got 2 for 9 inputs"),
        ({"groups": 2}, (None, 9, 9, 12), "groups: got 2 for 12 inputs"),
        ({"dtype": "int8_from_float32"}, (1, 9, 9, 8), "dtype: got int8_from"),
        ({"dtype": "int32"}, (1, 9, 9, 8), "dtype: got int32, expected float"),
        (
            {"data_format": "channels_first"},
            (None, None, 9, 9),
            "known number of channels in channels_first",
        ),
    ],
    ids=case_name,
)
def test_refuses_to_build(arguments, shape, message):
    layer = BlockSparseConv2D(8, 3, **{"block_size": 4, **arguments})
    with pytest.raises(ValueError, match=message):
        layer.build(shape)


@every_layer
def test_refuses_other_inputs(kind):
    layer, x = make(kind)
    rank = kind.rank + 2
    with pytest.raises(ValueError, match=f"expected ndim={rank}, found ndim="):
        layer(x[0])
    with pytest.raises(ValueError, match=r"expected axis -1 .* value 22"):
        layer(x[..., 1:])
    fresh = kind(8, 1)
    with pytest.raises(ValueError, match=f"expected ndim={rank}, found ndim="):
        fresh(x[0])


def test_dense_layers_refuse_layouts_with_taps():
    with pytest.raises(ValueError, match=r"got one of 9 taps, .* of a matrix"):
        BlockSparseDense(8, layout=PER_TAP)


def test_warns_of_too_few_blocks():
    layer = BlockSparseConv2D(64, 3, name="small")
    with pytest.warns(UserWarning, match="layer small: 1 of 4 x 2 blocks"):
        layer.build((None, 9, 9, 100))


# --- Layouts --------------------------------------------------------------


@every_layer
def test_layouts_of_both_kinds(kind):
    taps = int(np.prod(KERNEL_SIZE[kind.rank]))
    layer, _ = make(kind, sparsity=0.5, seed=3)
    assert layer.layout.taps is None
    assert layer.layout == BlockLayout.random(
        (22, FILTERS), 4, sparsity=0.5, seed=3
    )
    assert tuple(layer.blocks.shape) == (15, taps, 4, 4)
    layer, _ = make(kind, per_tap=True)
    assert layer.layout.taps == taps
    assert tuple(layer.blocks.shape) == layer.layout.blocks_shape
    assert layer.sparsity == layer.layout.sparsity


@pytest.mark.parametrize("per_tap", [False, True])
def test_layout_can_change_without_a_retrace(per_tap):
    layer, x = make(BlockSparseConv2D, per_tap=per_tap)
    call = tf.function(layer)
    call(x)
    before = layer.layout
    taps = [] if before.taps is None else [before.taps]
    other = BlockLayout.random(
        (*taps, *before.shape), 4, sparsity=before.sparsity, seed=99
    )
    assert other != before
    layer.packed_layout.assign(other.packed)
    assert layer.layout == other
    np.testing.assert_allclose(call(x), Twin(layer)(x), 1e-4, 1e-4)
    assert call.experimental_get_tracing_count() == 1


def test_seed_fixes_the_layout():
    def layout():
        layer, _ = make(BlockSparseConv1D, inputs=64)
        return layer.layout

    keras.utils.set_random_seed(5)
    first, second = layout(), layout()
    keras.utils.set_random_seed(5)
    assert [layout(), layout()] == [first, second]
    assert first != second


# --- Initial values -------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name", "fan"),
    [
        (CONV[1], "glorot_uniform", 9 * (256 + 512) / 2),
        (CONV[1], "he_normal", 9 * 256 / 2),
        (TRANSPOSE[1], "glorot_uniform", 9 * (256 + 512) / 2),
        # As Keras has it: its kernels are [..., filters, inputs] here.
        (TRANSPOSE[1], "he_normal", 9 * 512 / 2),
    ],
    ids=case_name,
)
@pytest.mark.parametrize("sparsity", [0.0, 0.75])
@pytest.mark.parametrize("per_tap", [False, True])
def test_variance_follows_the_remaining_fans(
    kind, name, fan, sparsity, per_tap
):
    taps = (9,) if per_tap else ()
    layout = BlockLayout.random(
        (*taps, 256, 512), 32, sparsity=sparsity, seed=0
    )
    layer = kind(512, 3, kernel_initializer=name, layout=layout)
    layer.build((None, 5, 5, 256))
    blocks = layer.blocks.numpy()
    expected = 1 / (fan * (1 - sparsity))
    assert np.isclose(blocks.var(), expected, rtol=0.03)
    if sparsity == 0:
        theirs = keras_class(kind)(512, 3, kernel_initializer=name)
        theirs.build((None, 5, 5, 256))
        variance = theirs.get_weights()[0].var()
        assert np.isclose(blocks.var(), variance, rtol=0.03)


@every_layer
@pytest.mark.parametrize("per_tap", [False, True])
def test_padding_of_blocks_is_zero_at_first(kind, per_tap):
    layer, _ = make(kind, per_tap=per_tap, kernel_initializer="ones")
    blocks = layer.blocks.numpy()
    whole = kernel(layer)
    assert set(np.unique(blocks)) == {0, 1}
    assert blocks.sum() == whole.sum() > 0
    np.testing.assert_array_equal(blocks, gathered(layer, whole))
