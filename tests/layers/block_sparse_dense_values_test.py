# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""BlockSparseDense against Dense: values, gradients, dtypes."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse.layers import BlockSparseDense
from tf_blocksparse.layout import BlockLayout

RNG = np.random.default_rng(0)


def twin(layer, activation=None):
    """A Dense with the weights of a built BlockSparseDense."""
    dense = keras.layers.Dense(
        layer.units, activation, layer.use_bias, dtype=layer.dtype_policy
    )
    dense.build((None, layer.layout.inputs))
    kernel = layer.layout.to_dense(layer.blocks.numpy())
    bias = [layer.bias.numpy()] if layer.use_bias else []
    dense.set_weights([kernel, *bias])
    return dense


def normal(*shape):
    return RNG.normal(size=shape).astype("float32")


@pytest.mark.parametrize(
    "activation",
    [None, "relu", "gelu", "silu", "swish", "tanh", "sigmoid", "elu", "softmax",
     keras.layers.LeakyReLU(), lambda x: 2 * x],
)  # fmt: skip
@pytest.mark.parametrize("use_bias", [True, False])
def test_equals_dense(activation, use_bias):
    layer = BlockSparseDense(
        40, activation, use_bias, bias_initializer="normal", block_size=8,
        sparsity=0.6,
    )  # fmt: skip
    x = normal(5, 48)
    got = layer(x)
    np.testing.assert_allclose(
        got, twin(layer, activation)(x), rtol=1e-5, atol=1e-5
    )


def test_gelu_of_another_kind_is_not_fused():
    def gelu(x):
        return keras.activations.gelu(x, approximate=True)

    layer = BlockSparseDense(8, gelu, block_size=8, sparsity=0.0)
    x = 3 * normal(64, 8)
    got = layer(x).numpy()
    np.testing.assert_allclose(got, twin(layer, gelu)(x), rtol=1e-5, atol=1e-6)
    assert not np.allclose(got, twin(layer, "gelu")(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("block_size", [1, 3, 8, 32, (4, 16), (16, 5), 100])
@pytest.mark.parametrize("sizes", [(48, 64), (37, 29), (1, 5), (7, 1)])
def test_equals_dense_at_any_size(block_size, sizes):
    layer = BlockSparseDense(sizes[1], block_size=block_size, sparsity=0.7)
    x = normal(6, sizes[0])
    got = layer(x)
    np.testing.assert_allclose(got, twin(layer)(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "shape", [(3, 16), (2, 3, 16), (2, 3, 4, 16), (2, 1, 3, 2, 16), (0, 16)]
)
def test_equals_dense_at_any_rank(shape):
    layer = BlockSparseDense(24, "relu", block_size=8, sparsity=0.5)
    x = normal(*shape)
    got = layer(x)
    assert tuple(got.shape) == (*shape[:-1], 24)
    assert layer.compute_output_shape(shape) == (*shape[:-1], 24)
    np.testing.assert_allclose(got, twin(layer, "relu")(x), 1e-5, 1e-5)


@pytest.mark.parametrize("dtype", ["int32", "float64", "float16", "bool"])
def test_casts_inputs_as_dense_does(dtype):
    layer = BlockSparseDense(16, block_size=8, sparsity=0.5)
    x = (3 * normal(4, 16)).astype(dtype)
    got = layer(x)
    assert got.dtype == "float32"
    np.testing.assert_allclose(got, twin(layer)(x), 1e-5, 1e-5)


@pytest.mark.parametrize(
    ("policy", "tolerance"),
    [
        ("float64", 1e-12),
        ("float32", 1e-5),
        ("bfloat16", 3e-2),
        ("float16", 4e-3),
        ("mixed_bfloat16", 3e-2),
        ("mixed_float16", 4e-3),
    ],
)
def test_policies(policy, tolerance):
    layer = BlockSparseDense(
        24, "relu", dtype=policy, block_size=8, sparsity=0.5
    )
    policy = keras.dtype_policies.get(policy)
    x = normal(7, 32)
    got = layer(x)
    assert layer.blocks.dtype == policy.variable_dtype
    assert layer.bias.dtype == policy.variable_dtype
    assert layer.packed_layout.dtype == "int32"
    assert keras.backend.standardize_dtype(got.dtype) == policy.compute_dtype
    kernel = layer.layout.to_dense(layer.blocks.numpy()).astype("float64")
    expected = np.maximum(x.astype("float64") @ kernel, 0)
    np.testing.assert_allclose(
        keras.ops.cast(got, "float64"), expected, tolerance, tolerance
    )


@pytest.mark.parametrize("autocast", [True, False])
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64", "int32"])
def test_result_has_the_dtype_of_dense(autocast, policy, dtype):
    settings = {"dtype": policy, "autocast": autocast}
    x = tf.ones((2, 8), dtype)
    got = BlockSparseDense(8, block_size=8, sparsity=0.0, **settings)(x)
    assert got.dtype == keras.layers.Dense(8, **settings)(x).dtype


def test_sparse_tensor():
    layer = BlockSparseDense(24, block_size=8, sparsity=0.5)
    x = np.maximum(normal(4, 16), 0)
    got = layer(tf.sparse.from_dense(x))
    np.testing.assert_allclose(got, twin(layer)(x), 1e-5, 1e-5)


def test_no_block_and_every_block():
    for sparsity, nnz in ((1.0, 0), (0.0, 4)):
        layer = BlockSparseDense(
            16, bias_initializer="ones", block_size=8, sparsity=sparsity
        )
        x = normal(3, 16)
        got = layer(x)
        assert layer.layout.nnz == nnz
        np.testing.assert_allclose(got, twin(layer)(x), 1e-5, 1e-5)


def test_layout_can_change_without_a_retrace():
    layer = BlockSparseDense(32, block_size=8, sparsity=0.5)
    x = tf.constant(normal(3, 32))
    layer.build(x.shape)
    call = tf.function(layer)
    call(x)
    other = BlockLayout.random((32, 32), 8, sparsity=0.5, seed=99)
    assert layer.layout != other
    layer.packed_layout.assign(other.packed)
    assert layer.layout == other
    np.testing.assert_allclose(call(x), twin(layer)(x), 1e-5, 1e-5)
    assert call.experimental_get_tracing_count() == 1


def test_symbolic_call():
    layer = BlockSparseDense(24, block_size=8, dtype="mixed_float16")
    spec = layer(keras.Input((None, 16)))
    assert spec.shape == (None, None, 24)
    assert spec.dtype == "float16"
    spec = layer.compute_output_spec(keras.KerasTensor((2, 16)))
    assert spec.shape == (2, 24)


def test_masking():
    inputs = keras.Input((5,), dtype="int32")
    x = keras.layers.Embedding(9, 16, mask_zero=True)(inputs)
    x = BlockSparseDense(8, block_size=8, sparsity=0.0)(x)
    means = keras.layers.GlobalAveragePooling1D()(x)
    y, mean = keras.Model(inputs, [x, means])(np.array([[1, 2, 0, 0, 0]]))
    np.testing.assert_allclose(mean[0], np.mean(y[0, :2], 0), 1e-5, 1e-6)


def test_regularizer_sees_the_blocks():
    layer = BlockSparseDense(
        16, kernel_regularizer=keras.regularizers.L2(0.5), block_size=8,
        sparsity=0.5,
    )  # fmt: skip
    layer.build((None, 16))
    expected = 0.5 * np.sum(layer.blocks.numpy() ** 2)
    np.testing.assert_allclose(layer.losses[0], expected, rtol=1e-5)


def test_gradients_equal_those_of_dense():
    layer = BlockSparseDense(21, "gelu", block_size=8, sparsity=0.5)
    x = tf.constant(normal(5, 19))
    layer(x)
    dense = twin(layer, "gelu")
    dy = tf.constant(normal(5, 21))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        ours, theirs = layer(x), dense(x)
    weights = [layer.blocks.value, layer.bias.value]
    dx, dblocks, dbias = tape.gradient(ours, [x, *weights], dy)
    weights = [dense.kernel.value, dense.bias.value]
    dx_, dkernel, dbias_ = tape.gradient(theirs, [x, *weights], dy)
    expected = layer.layout.gather(dkernel.numpy())
    np.testing.assert_allclose(dx, dx_, 1e-4, 1e-5)
    np.testing.assert_allclose(dblocks, expected, 1e-4, 1e-5)
    np.testing.assert_allclose(dbias, dbias_, 1e-4, 1e-5)


def crossentropy(layer, loss, x, target, compiled):
    """The loss of a layer's output and its gradient for x."""

    def compute(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = loss(target, layer(x))
        return value, tape.gradient(value, x)

    return (tf.function(compute) if compiled else compute)(x)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("activation", "loss"),
    [
        ("sigmoid", keras.losses.binary_crossentropy),
        (keras.activations.sigmoid, keras.losses.binary_crossentropy),
        (tf.sigmoid, keras.losses.binary_crossentropy),
        ("softmax", keras.losses.categorical_crossentropy),
        (tf.nn.softmax, keras.losses.categorical_crossentropy),
    ],
)
def test_crossentropy_sees_the_logits(activation, loss, compiled):
    """A probability rounded to 0 or 1 has no derivative, a logit has one."""
    layer = BlockSparseDense(
        2, activation, kernel_initializer="ones", block_size=1,
        layout=BlockLayout([[1, 0], [0, 1]], 1),
    )  # fmt: skip
    # Each wrong, by 30: with target 1 at -30 and target 0 at 30.
    x = tf.constant([[-30.0, 30.0], [30.0, -30.0]])
    target = tf.constant([[1.0, 0.0], [0.0, 1.0]])
    layer(x)
    value, gradient = crossentropy(layer, loss, x, target, compiled)
    dense = twin(layer, activation)
    expected = crossentropy(dense, loss, x, target, compiled)
    np.testing.assert_allclose(value, expected[0], rtol=1e-6)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-6)
    # In eager mode TensorFlow's own functions leave no logits: same in Dense.
    if compiled or activation not in (tf.sigmoid, tf.nn.softmax):
        each = 60 if loss is keras.losses.categorical_crossentropy else 30
        np.testing.assert_allclose(value, [each, each], rtol=1e-6)
        slope = each / 60
        np.testing.assert_allclose(
            gradient, [[-slope, slope], [slope, -slope]], rtol=1e-6
        )
