# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""BlockSparseDense beside Dense: arguments, layouts, first values, errors."""

import inspect
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse.layers import BlockSparseDense
from tf_blocksparse.layout import BlockLayout

# --- Arguments ------------------------------------------------------------


def test_takes_the_arguments_of_dense_in_its_order():
    dense = inspect.signature(keras.layers.Dense).parameters.values()
    ours = list(inspect.signature(BlockSparseDense).parameters.values())
    for i, parameter in enumerate(dense):
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        assert ours[i].name == parameter.name
        assert ours[i].kind == parameter.kind
        assert ours[i].default == parameter.default


def test_positional_call_means_the_same():
    arguments = (
        12, "tanh", True, "he_normal", "ones", "l1", "l2", "l2", "non_neg",
        "non_neg",
    )  # fmt: skip
    ours = BlockSparseDense(*arguments, block_size=4, sparsity=0.5).get_config()
    theirs = keras.layers.Dense(*arguments).get_config()
    theirs.pop("quantization_config", None)
    theirs.pop("name")
    assert {k: ours[k] for k in theirs} == theirs


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"units": 0}, "units: got int 0, expected an integer >= 1"),
        ({"units": 2.0}, "units: got float 2.0"),
        ({"units": True}, "units: got bool True"),
        ({"use_bias": 16}, "use_bias: got int 16, expected True or False"),
        ({"lora_rank": 4}, "lora_rank: got int 4, expected None"),
        ({"lora_alpha": 4}, "lora_alpha"),
        ({"quantization_config": "int8"}, "quantization_config"),
        ({"block_size": 0}, "block_size: got int 0, expected"),
        ({"block_size": (8, 257)}, "block_size"),
        ({"sparsity": 1.5}, "sparsity: got float 1.5, expected"),
        ({"seed": -1}, "seed: got int -1, expected"),
        ({"layout": np.ones((2, 2))}, "layout: got ndarray .* a BlockLayout"),
        (
            {"layout": BlockLayout.dense((8, 9), 4)},
            r"layout: got one of shape \(8, 9\), expected .* \(8, 8\)",
        ),
        (
            {"kernel_constraint": keras.constraints.MaxNorm(2)},
            "kernel_constraint: got MaxNorm with axis=0, expected one without",
        ),
        ({"kernel_constraint": "unit_norm"}, "UnitNorm"),
        ({"kernel_constraint": "min_max_norm"}, "MinMaxNorm"),
    ],
)
def test_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        BlockSparseDense(**{"units": 8, **arguments})


@pytest.mark.parametrize(
    ("arguments", "shape", "message"),
    [
        ({}, (None, None), "input_shape: got .* expected a known last"),
        (
            {"layout": BlockLayout.dense((8, 8), 4)},
            (None, 9),
            r"layout: got one of shape \(8, 8\), expected .* \(9, 8\)",
        ),
        ({"dtype": "int8_from_float32"}, (None, 8), "dtype: got int8_from"),
        ({"dtype": "int32"}, (None, 8), "dtype: got int32, expected float32"),
    ],
)
def test_refuses_to_build(arguments, shape, message):
    with pytest.raises(ValueError, match=message):
        BlockSparseDense(8, **arguments).build(shape)


def test_input_errors_are_those_of_dense():
    layer = BlockSparseDense(8, block_size=4)
    with pytest.raises(ValueError, match="expected min_ndim=2, found ndim=1"):
        layer(np.ones(8))
    layer(np.ones((2, 8)))
    with pytest.raises(ValueError, match=r"expected axis -1 .* value 8"):
        layer(np.ones((2, 9)))


# --- Layouts --------------------------------------------------------------


def test_layout_is_random_with_the_sparsity():
    layer = BlockSparseDense(128, block_size=16, sparsity=0.75)
    layer.build((None, 64))
    assert layer.layout.nnz == 8
    assert tuple(layer.blocks.shape) == (8, 16, 16)
    assert not layer.packed_layout.trainable
    assert layer.packed_layout.dtype == "int32"
    assert len(layer.trainable_weights) == 2


def test_layout_before_build_is_the_given_one():
    layout = BlockLayout.banded((32, 32), 8, bandwidth=1)
    assert BlockSparseDense(32, layout=layout).layout is layout
    with pytest.raises(AttributeError, match="build"):
        _ = BlockSparseDense(32).layout


def test_given_layout_decides_sizes():
    layout = BlockLayout.banded((30, 40), (8, 4), bandwidth=1)
    layer = BlockSparseDense(40, layout=layout)
    layer.build((None, 30))
    assert layer.layout == layout
    assert tuple(layer.block_size) == (8, 4)
    assert layer.sparsity == layout.sparsity


def test_seed_fixes_the_layout():
    def layout(seed):
        layer = BlockSparseDense(64, block_size=4, seed=seed)
        layer.build((None, 64))
        return layer.layout

    assert layout(3) == layout(3)
    assert layout(3) == BlockLayout.random((64, 64), 4, sparsity=0.9, seed=3)
    assert layout(3) != layout(4)
    keras.utils.set_random_seed(5)
    first, second = layout(None), layout(None)
    keras.utils.set_random_seed(5)
    assert [layout(None), layout(None)] == [first, second]
    assert first != second


@pytest.mark.parametrize(
    "arguments", [{"seed": 1}, {"layout": BlockLayout.dense((8, 8), 4)}]
)
def test_draws_no_seed_where_it_needs_none(arguments):
    keras.utils.set_random_seed(5)
    expected = keras.initializers.GlorotUniform().seed
    keras.utils.set_random_seed(5)
    BlockSparseDense(8, kernel_initializer="zeros", **arguments)
    assert keras.initializers.GlorotUniform().seed == expected


# --- Initial values -------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "fan"),
    [
        ("glorot_uniform", (512 + 1024) / 2),
        ("glorot_normal", (512 + 1024) / 2),
        ("he_uniform", 512 / 2),
        ("lecun_normal", 512),
        (keras.initializers.VarianceScaling(2.0, "fan_out"), 1024 / 2),
    ],
)
@pytest.mark.parametrize("sparsity", [0.0, 0.875])
def test_variance_follows_the_remaining_fans(name, fan, sparsity):
    layer = BlockSparseDense(
        1024, kernel_initializer=name, block_size=32, sparsity=sparsity
    )
    layer.build((None, 512))
    expected = 1 / (fan * (1 - sparsity))
    blocks = layer.blocks.numpy()
    assert np.isclose(blocks.var(), expected, rtol=0.03)
    assert abs(blocks.mean()) < 0.02 * expected**0.5


def test_dense_layout_is_initialized_as_dense():
    seeded = keras.initializers.GlorotUniform(seed=1)
    layer = BlockSparseDense(24, kernel_initializer=seeded, sparsity=0.0)
    dense = keras.layers.Dense(24, kernel_initializer=seeded)
    layer.build((None, 40))
    dense.build((None, 40))
    limit = np.sqrt(6 / 64)
    for values in (layer.blocks.numpy(), dense.kernel.numpy()):
        assert 0.95 * limit < np.abs(values).max() <= limit


class Ramp(keras.initializers.VarianceScaling):
    """A child of VarianceScaling with a rule of its own."""

    def __call__(self, shape, dtype=None):
        assert len(shape) == 3
        return keras.ops.ones(shape, dtype)


@pytest.mark.parametrize(
    "initializer", ["ones", keras.initializers.Constant(2.0), Ramp()]
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_padding_is_zero_at_first(initializer, dtype):
    layer = BlockSparseDense(
        21,
        kernel_initializer=initializer,
        block_size=(8, 16),
        sparsity=0.0,
        dtype=dtype,
    )
    layer.build((None, 19))
    blocks = keras.ops.cast(layer.blocks, "float32").numpy()
    assert layer.blocks.dtype == dtype
    assert np.count_nonzero(blocks) == 19 * 21
    assert len(np.unique(blocks)) == 2


def test_layout_in_a_graph_says_where_to_read_it():
    layer = BlockSparseDense(16, block_size=8, sparsity=0.5, name="sparse")
    layer.build((None, 16))
    with pytest.raises(
        RuntimeError,
        match=r"layer sparse: got a read of `layout` .*packed_layout",
    ) as error:
        tf.function(lambda: layer.layout.nnz)()
    assert not isinstance(error.value, NotImplementedError)
    assert tf.function(lambda: tf.size(layer.packed_layout))() == 6 + 3 * 2


@pytest.mark.parametrize(
    ("arguments", "warns"),
    [
        ({"units": 64}, True),
        ({"units": 64, "block_size": 8, "sparsity": 0.75}, False),
        ({"units": 64, "sparsity": 1.0}, False),
        (
            {
                "units": 64,
                "layout": BlockLayout.random(
                    (100, 64), 32, sparsity=0.9, seed=0
                ),
            },
            False,
        ),
    ],
)
def test_warns_of_too_few_blocks(arguments, warns):
    layer = BlockSparseDense(**arguments, name="small")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        layer.build((None, 100))
    texts = [str(w.message) for w in caught if "blocks leave" in str(w.message)]
    assert len(texts) == warns
    for text in texts:
        assert text.startswith("layer small: 1 of 4 x 2 blocks leave inputs")
        assert "use a smaller block_size or sparsity" in text
