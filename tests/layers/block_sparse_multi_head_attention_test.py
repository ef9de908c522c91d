# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""BlockSparseMultiHeadAttention against Keras's with masked projections."""

import inspect
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest

from tf_blocksparse import BlockLayout
from tf_blocksparse.layers import (
    BlockSparseEinsumDense,
    BlockSparseGroupQueryAttention,
    BlockSparseMultiHeadAttention,
)

RNG = np.random.default_rng(0)
ROOT = pathlib.Path(__file__).resolve().parents[2]
SPARSE = {"block_size": 8, "sparsity": 0.5, "layout_seed": 3}
OURS = ("block_size", "sparsity", "layouts", "layout_seed", "gate")
# Arguments, shapes of query and value.
CASES = [
    ({}, (2, 5, 16), (2, 7, 24)),
    ({"use_bias": False, "value_dim": 6, "output_shape": 40}, (2, 5, 16), None),
    ({"use_gate": True}, (2, 5, 16), None),
    ({"sliding_window": 2}, (2, 5, 16), None),
    ({"attention_axes": 1, "output_shape": (4, 6)}, (2, 3, 4, 16), None),
]


def twin(layer, query, value):
    """Keras's layer with the weights of a built block-sparse one."""
    config = layer.get_config()
    for name in OURS:
        del config[name]
    dense = keras.layers.MultiHeadAttention.from_config(config)
    dense.build(query.shape, value.shape)
    ours = layer.projections()
    theirs = {
        "query": dense.query_dense,
        "key": dense.key_dense,
        "value": dense.value_dense,
        "attention_output": dense.output_dense,
    }
    if "gate" in ours:
        theirs["gate"] = dense._gate_dense
    assert set(ours) == set(theirs)
    for name, sparse in ours.items():
        matrix = sparse.layout.to_dense(sparse.blocks.numpy())
        weights = [sparse.matrix_kernel(matrix)]
        if sparse.bias is not None:
            weights.append(sparse.bias.numpy())
        theirs[name].set_weights(weights)
    return dense


# Keras 3.12, the last one for Python 3.10, has fewer.
KNOWN = inspect.signature(keras.layers.MultiHeadAttention.__init__).parameters


@pytest.mark.parametrize(
    ("arguments", "query", "value"),
    [case for case in CASES if case[0].keys() <= KNOWN.keys()],
)
def test_equals_keras(arguments, query, value):
    layer = BlockSparseMultiHeadAttention(
        2,
        8,
        bias_initializer="normal",
        dtype="float64",
        **SPARSE,
        **arguments,
    )
    query = RNG.normal(size=query)
    value = query if value is None else RNG.normal(size=value)
    y = layer(query, value)
    dense = twin(layer, query, value)
    # Tens of sums in float64, of a few tens of numbers of about 1 each.
    tolerance = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(y, dense(query, value), **tolerance)
    if value is query and query.ndim == 3:
        for causal in ({"use_causal_mask": True},
                       {"attention_mask": np.tri(5)[None]}):  # fmt: skip
            np.testing.assert_allclose(
                layer(query, value, **causal),
                dense(query, value, **causal),
                **tolerance,
            )


def test_groups_of_queries_equal_keras():
    layer = BlockSparseGroupQueryAttention(
        8, 4, 2, bias_initializer="normal", dtype="float64", **SPARSE
    )
    query, value = RNG.normal(size=(2, 5, 16)), RNG.normal(size=(2, 7, 16))
    y = layer(query, value)
    config = layer.get_config()
    for name in OURS:
        del config[name]
    dense = keras.layers.GroupQueryAttention.from_config(config)
    dense.build(query.shape, value.shape)
    for sparse, each in zip(
        layer.projections().values(),
        (dense._query_dense, dense._key_dense, dense._value_dense,
         dense._output_dense),
        strict=True,
    ):  # fmt: skip
        assert type(sparse) is BlockSparseEinsumDense
        matrix = sparse.layout.to_dense(sparse.blocks.numpy())
        each.set_weights([sparse.matrix_kernel(matrix), sparse.bias.numpy()])
    np.testing.assert_allclose(y, dense(query, value), rtol=1e-12, atol=1e-12)
    again = BlockSparseGroupQueryAttention.from_config(layer.get_config())
    assert again.get_config() == layer.get_config()


def test_projections_are_block_sparse():
    layer = BlockSparseMultiHeadAttention(
        2, 8, layouts={"key": "dense"}, **{**SPARSE, "block_size": 4}
    )
    with pytest.raises(ValueError, match="`projections` before `build`"):
        layer.projections()
    x = RNG.normal(size=(2, 5, 16))
    layer(x, x)
    # The public properties are those that `build` has replaced.
    for each in (layer.query_dense, layer.value_dense, layer.output_dense):
        assert type(each) is BlockSparseEinsumDense
        assert each.layout.sparsity == 0.5
    assert type(layer.key_dense) is keras.layers.EinsumDense
    names = [weight.path for weight in layer.weights]
    assert len([name for name in names if name.endswith("blocks")]) == 3
    assert len([name for name in names if name.endswith("kernel")]) == 1
    layouts = {each.layout for each in (layer.query_dense, layer.value_dense)}
    assert len(layouts) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layouts": {"keys": "dense"}}, "got one for 'keys', expected names"),
        ({"layouts": {"key": 3}}, "layouts: got int 3 for key, expected"),
        ({"gate": keras.layers.Identity()}, "expected None or 'mask'"),
        ({"sparsity": 2}, "sparsity: got int 2"),
        ({"block_size": 0}, "block_size: got int 0"),
        ({"layouts": ["dense"]}, "layouts: got list .'dense'., expected a dic"),
        ({"layout_seed": "x"}, "layout_seed: got str 'x'"),
    ],
)
def test_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        BlockSparseMultiHeadAttention(2, 8, **arguments)


PROGRAM = """
import sys
import keras, numpy as np
import tf_blocksparse
model = keras.models.load_model(sys.argv[1] + "/model.keras")
x = np.load(sys.argv[1] + "/x.npy")
np.testing.assert_array_equal(model(x), np.load(sys.argv[1] + "/y.npy"))
"""


def test_trains_and_loads_in_a_new_process(tmp_path):
    layouts = {"query": BlockLayout.random((16, 16), 8, sparsity=0.25, seed=1)}
    known = {}
    if "use_gate" in KNOWN:
        known["use_gate"] = True
        layouts["gate"] = "dense"
    layer = BlockSparseMultiHeadAttention(
        2, 8, dropout=0.1, layouts=layouts, gate="mask", **known, **SPARSE
    )
    inputs = keras.Input((5, 16))
    model = keras.Model(inputs, layer(inputs, inputs))
    model.compile("adam", "mse")
    x = RNG.normal(size=(4, 5, 16)).astype("float32")
    before = layer.query_dense.blocks.numpy()
    model.fit(x, x, verbose=0)
    assert (layer.query_dense.blocks.numpy() != before).all()
    layer.value_dense.gate_mask.assign([True] + [False] * 1)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", model(x))
    model.save(tmp_path / "model.keras")
    subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        check=True,
        cwd=ROOT,
        timeout=300,
    )
