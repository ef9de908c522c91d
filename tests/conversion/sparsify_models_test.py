# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""sparsify in models of all kinds, and what it leaves dense."""

import conversion_models as models
import keras
import numpy as np
import pytest

import tf_blocksparse as tfbs
from tf_blocksparse import BlockLayout, layers

L = keras.layers
RNG = np.random.default_rng(0)
ALL = {"skip_unprofitable": False}


def integers(*shape):
    return RNG.integers(-3, 4, shape).astype("float32")


def normal(*shape):
    return RNG.normal(size=shape)


def layer_model(layer, shape):
    inputs = keras.Input(shape)
    return keras.Model(inputs, layer(inputs))


def shared():
    x = inputs = keras.Input((16,))
    layer = L.Dense(16, "relu", name="layer")
    nested = keras.Sequential(
        [keras.Input((16,)), L.Dense(16, name="deep"), layer], name="nested"
    )
    return keras.Model(inputs, nested(layer(layer(x))))


def test_shared_layers_and_nested_models():
    model = models.with_integers(shared(), high=1)
    new, report = tfbs.sparsify(model, 0.5, 4, return_report=True, **ALL)
    assert [row.path for row in report.layers] == ["layer", "nested/deep"]
    nested = new.get_layer("nested")
    assert nested.get_layer("layer") is new.get_layer("layer")
    assert type(nested.get_layer("deep")) is layers.BlockSparseDense
    x = integers(3, 16)
    masked = models.mask_like(model, new)
    np.testing.assert_array_equal(
        models.outputs(new, x), models.outputs(masked, x)
    )


def test_subclassed_models_and_layers_that_hold_layers():
    model = models.Subclassed(16, name="whole")
    x = integers(3, 16)
    model(x)
    models.with_integers(model, high=1)
    new, report = tfbs.sparsify(model, 0.5, 4, return_report=True, **ALL)
    assert type(new) is models.Subclassed
    assert [row.path for row in report.layers] == [
        "block/" + layer.name
        for layer in (model.block.first, model.block.rest[0])
    ] + ["block/last", f"{model.head.name}/a", f"{model.head.name}/b"]
    assert new.block.again is new.block.first
    masked = models.mask_like(model, new)
    # LayerNormalization divides.
    np.testing.assert_allclose(
        models.outputs(new, x), models.outputs(masked, x), rtol=1e-4, atol=1e-5
    )


def test_what_cannot_be_replaced_says_why():
    inputs = keras.Input((8,))
    x = models.BuiltLate(8, name="late")(inputs)
    x = L.Dense(8, kernel_constraint="unit_norm", name="constraint")(x)
    x = L.Dense(8, name="kept")(x)
    x = Own(8, name="own")(x)
    lora = L.Dense(8, name="lora")
    x = lora(x)
    lora.enable_lora(2)
    x = L.Dense(3, name="small")(x)
    x = L.Reshape((1, 3))(x)
    x = L.LSTM(4, name="lstm")(x)
    model = keras.Model(inputs, x)
    new, report = tfbs.sparsify(model, 0.5, 4, return_report=True, **ALL)
    told = {row.path: row.reason for row in report.layers}
    assert told == {
        "late/inner": "BuiltLate makes it in build",
        "constraint": "kernel_constraint UnitNorm has an axis",
        "kept": None,
        "own": "a class of its own, made from Dense",
        "lora": "LoRA is not supported",
        "small": "8 x 3 is smaller than a block of 4 x 4",
        "lstm/lstm_cell": "no block-sparse twin of LSTMCell",
    }
    assert type(new.get_layer("kept")) is layers.BlockSparseDense
    np.testing.assert_array_equal(
        new.get_layer("own").kernel, model.get_layer("own").kernel
    )


class Namesakes(L.Layer):
    """Holds layers of one name."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.parts = [L.Dense(units, name="part") for units in (8, 16, 4)]

    def call(self, x):
        for part in self.parts:
            x = part(x)
        return x


@pytest.mark.parametrize("distribution", ["uniform", "global"])
def test_names_need_not_differ(distribution):
    model = models.with_integers(layer_model(Namesakes(name="all"), (16,)))
    new, report = tfbs.sparsify(
        model, 0.5, 4, return_report=True, distribution=distribution, **ALL
    )
    assert [row.path for row in report.layers] == ["all/part"] * 3
    for old, part in zip(
        model.get_layer("all").parts, new.get_layer("all").parts, strict=True
    ):
        scores = np.linalg.norm(
            BlockLayout.dense(part.layout.shape, 4).gather(old.kernel.numpy()),
            axis=(1, 2),
        )
        kept = np.linalg.norm(part.blocks.numpy(), axis=(1, 2))
        np.testing.assert_array_equal(
            np.sort(kept), np.sort(scores)[len(scores) - len(kept) :]
        )
        if distribution == "uniform":
            assert len(kept) == len(scores) // 2


@pytest.mark.parametrize("mode", ["int8", "int4", "float8"])
def test_quantized_layers_are_copied(mode):
    model = keras.Sequential(
        [keras.Input((16,)), L.Dense(16), L.Dense(16, name="layer")]
    )
    model.layers[0].quantize(mode)
    new, report = tfbs.sparsify(model, 0.5, 8, return_report=True, **ALL)
    assert [row.reason for row in report.layers] == [
        f"quantized to {mode}",
        None,
    ]
    # Variables that were added by quantizing are in other places.
    before, after = (
        {each.name: each.numpy() for each in layer.weights}
        for layer in (model.layers[0], new.layers[0])
    )
    assert before.keys() == after.keys()
    for name, values in before.items():
        np.testing.assert_array_equal(after[name], values)


class Own(L.Dense):
    """It could do anything."""


def test_other_layers_that_stay():
    grouped = layer_model(L.Conv1D(12, 3, groups=2, name="layer"), (5, 12))
    kernel = L.EinsumDense("abc,acd->abd", (None, 8), name="layer")
    batch = keras.Model(
        inputs := keras.Input((5, 8), batch_size=2), kernel(inputs)
    )
    quantized = L.Dense(8, name="layer")
    quantized.build((None, 8))
    quantized.quantize("int8")
    for model, reason in (
        (layer_model(quantized, (8,)), "quantized to int8"),
        (grouped, "2 groups are not of whole blocks"),
        (batch, "the kernel of abc,acd->abd is no matrix"),
        (attending(OwnAttention(2, 8)), "class of its own, made from Multi"),
    ):
        with pytest.warns(UserWarning, match="sparsify replaced no layer"):
            _, report = tfbs.sparsify(model, 0.5, 4, return_report=True, **ALL)
        assert reason in report.layers[0].reason


class OwnAttention(L.MultiHeadAttention):
    """It could do anything."""


def attending(layer):
    inputs = keras.Input((5, 16), dtype=layer.compute_dtype)
    return keras.Model(inputs, layer(inputs, inputs))


def test_flash_attention_is_kept():
    layer = L.MultiHeadAttention(2, 8, flash_attention=True)
    layer.build((None, 5, 16), (None, 5, 16))
    new = tfbs.sparsify(layer, 0.5, 8, **ALL)
    # Not in Keras's config.
    assert new._flash_attention
    assert tfbs.densify(new)._flash_attention


def test_attention_of_groups():
    layer = L.GroupQueryAttention(8, 4, 2, dtype="float64", name="gqa")
    model = attending(layer)
    new, report = tfbs.sparsify(model, 0.5, 8, return_report=True, **ALL)
    sparse = new.get_layer("gqa")
    assert type(sparse) is layers.BlockSparseGroupQueryAttention
    assert [row.shape for row in report.layers] == [
        (16, 32), (16, 16), (16, 16), (32, 16),
    ]  # fmt: skip
    x = normal(2, 5, 16)
    dense = tfbs.densify(new)
    assert type(dense.get_layer("gqa")) is L.GroupQueryAttention
    np.testing.assert_allclose(
        models.outputs(new, x), models.outputs(dense, x), rtol=1e-12, atol=1e-12
    )
    names = ("query", "key", "value", "attention_output")
    for name, each in sparse.projections().items():
        assert name in names
        was, now = (
            getattr(m.get_layer("gqa"), f"_{name}_dense".replace(
                "attention_", "")).kernel.numpy()
            for m in (model, dense)
        )  # fmt: skip
        mask = models.expanded(each.layout).reshape(was.shape)
        np.testing.assert_array_equal(now, was * mask)


def test_attention():
    layer = L.MultiHeadAttention(
        2, 8, use_gate=True, output_shape=6, dtype="float64", name="mha"
    )
    model = attending(layer)
    new, report = tfbs.sparsify(
        model, {"mha/key": None, "*": 0.5}, 8, return_report=True, **ALL
    )
    sparse = new.get_layer("mha")
    assert type(sparse) is layers.BlockSparseMultiHeadAttention
    assert {row.path: row.got for row in report.layers} == {
        "mha/query": 0.5,
        "mha/key": None,
        "mha/value": 0.5,
        "mha/gate": 0.5,
        "mha/attention_output": None,
    }
    x = normal(2, 5, 16)
    masked = models.mask_like(model, new)
    np.testing.assert_allclose(
        models.outputs(new, x),
        models.outputs(masked, x),
        rtol=1e-12,
        atol=1e-12,
    )
    assert type(sparse.output_dense) is L.EinsumDense  # 6 outputs
    again = tfbs.sparsify(new, {"mha/query": 0.75}, 8, **ALL)
    assert again.get_layer("mha").query_dense.layout.nnz == 1
    assert again.get_layer("mha").value_dense.layout == (
        sparse.value_dense.layout
    )


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16",
                                    "bfloat16", "float16"])  # fmt: skip
def test_dtypes(policy):
    model = models.mlp(dtype=policy)
    new = tfbs.sparsify(model, 0.5, 8, **ALL)
    layer = new.get_layer("first")
    assert layer.dtype_policy.name == policy
    dense = model.get_layer("first")
    gathered = layer.layout.gather(np.asarray(dense.kernel))
    np.testing.assert_array_equal(np.asarray(layer.blocks), gathered)
    assert models.outputs(new, normal(2, 32)).dtype == (
        models.outputs(model, normal(2, 32)).dtype
    )


def test_a_layer_alone():
    layer = L.Dense(24, "relu", name="alone")
    layer.build((None, 16))
    new = tfbs.sparsify(layer, 0.5, 4, **ALL)
    assert type(new) is layers.BlockSparseDense
    assert new.name == "alone"
    assert new.layout.nnz == 12
