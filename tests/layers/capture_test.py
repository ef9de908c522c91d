# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Norms of dense gradients, from what block-sparse layers record."""

import conv_twins
import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import layers, ops
from tf_blocksparse.layers import BlockSparseDense, _capture

RNG = np.random.default_rng(0)


def captured(call, *inputs):
    """Norms of each layer, of the sum of the outputs' squares."""
    with tf.GradientTape() as tape, _capture.capture() as records:
        outputs = tf.nest.flatten(call(*inputs))
        loss = tf.add_n(
            [tf.reduce_sum(tf.cast(y, tf.float32) ** 2) for y in outputs]
        )
    gradients = tape.gradient(loss, [record.z for record in records])
    norms = []
    for layer in dict.fromkeys(record.layer for record in records):
        own = [i for i, each in enumerate(records) if each.layer is layer]
        norms.append(
            _capture.gradient_norms(
                [records[i] for i in own], [gradients[i] for i in own]
            )
        )
    return norms


def norms_of(whole, layout):
    """Norms of the blocks of `[..., inputs, outputs]`."""
    whole = np.asarray(whole, np.float64)
    padded = np.zeros(
        (
            *whole.shape[:-2],
            layout.grid[0] * layout.block_size[0],
            layout.grid[1] * layout.block_size[1],
        )
    )
    padded[..., : layout.inputs, : layout.outputs] = whole
    b_in, b_out = layout.block_size
    tiles = padded.reshape(
        *whole.shape[:-2], layout.grid[0], b_in, layout.grid[1], b_out
    )
    return np.sqrt((tiles**2).sum((-3, -1)))


def dense_layer(units=22, activation="relu", **arguments):
    arguments = {"block_size": 4, "sparsity": 0.6, "seed": 1, **arguments}
    layer = BlockSparseDense(units, activation, **arguments)
    layer.build((None, 18))
    layer.bias.assign(RNG.normal(size=units))
    return layer


def dense_gradient(layer, *calls, dtype="float64"):
    """Of the sum of squares for the whole weight, zeros included."""
    w = tf.constant(layer.layout.to_dense(layer.blocks.numpy()), dtype)
    bias = tf.cast(layer.bias.value, dtype)
    with tf.GradientTape() as tape:
        tape.watch(w)
        loss = tf.add_n(
            [
                tf.reduce_sum(
                    layer.activation(
                        tf.tensordot(tf.cast(x, dtype), w, 1) + bias
                    )
                    ** 2
                )
                for x in calls
            ]
        )
    return tape.gradient(loss, w)


def inputs(*rows):
    return tf.constant(RNG.normal(size=(*rows, 18)), tf.float32)


@pytest.mark.parametrize("activation", ["relu", "gelu", None, "softmax"])
@pytest.mark.parametrize("rows", [(5,), (2, 3)])
def test_dense(rows, activation):
    layer, x = dense_layer(activation=activation), inputs(*rows)
    (norms,) = captured(layer, x)
    expected = norms_of(dense_gradient(layer, x), layer.layout)
    np.testing.assert_allclose(norms, expected, 1e-4, 1e-4)


def test_calls_of_one_layer_add_up():
    """Also where the shapes of their inputs differ."""
    layer, calls = dense_layer(), [inputs(5), inputs(2, 3), inputs(1)]
    (norms,) = captured(lambda *each: [layer(x) for x in each], *calls)
    expected = norms_of(dense_gradient(layer, *calls), layer.layout)
    np.testing.assert_allclose(norms, expected, 1e-4, 1e-4)


def test_outputs_are_as_ever():
    layer, x = dense_layer(activation="gelu"), inputs(5)
    with _capture.capture() as records:
        y = layer(x)
    np.testing.assert_allclose(y, layer(x), 1e-6, 1e-6)
    assert len(records) == 1
    assert records[0].layer is layer
    assert _capture.active() is None


def test_captures_are_nested():
    layer = dense_layer()
    with _capture.capture() as outer:
        with _capture.capture() as inner:
            layer(inputs(1))
        assert len(inner) == 1
        assert not outer
        layer(inputs(1))
        assert len(outer) == len(inner) == 1


def test_fused_without_capture():
    """Nothing is paid for it: the activation stays inside of the op."""
    layer = dense_layer(activation="gelu")
    types = {
        op.type
        for op in tf.function(layer)
        .get_concrete_function(tf.TensorSpec([2, 18]))
        .graph.get_operations()
    }
    assert "Blocksparse>MatmulFused" in types
    assert not types & {"Erf", "Erfc"}


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision(policy):
    layer, x = dense_layer(dtype=policy), inputs(40)
    (norms,) = captured(layer, x)
    assert norms.dtype == tf.float32
    expected = norms_of(dense_gradient(layer, x), layer.layout)
    np.testing.assert_allclose(norms, expected, 0.05, 0.5)


def test_gate_scales_the_forward_pass_only():
    layer, x = dense_layer(gate="mask"), inputs(5)
    mask = np.arange(layer.layout.nnz) % 3 > 0
    layer.gate_mask.assign(mask)
    (norms,) = captured(layer, x)
    layer.blocks.assign(layer.blocks.numpy() * mask[:, None, None])
    expected = norms_of(dense_gradient(layer, x), layer.layout)
    np.testing.assert_allclose(norms, expected, 1e-4, 1e-4)


def test_in_a_function_of_a_model():
    shared = dense_layer(18)
    model = keras.Sequential([shared, dense_layer(), keras.layers.Dense(3)])
    x = inputs(6)
    expected = captured(model, x)
    traces = []

    @tf.function(input_signature=[tf.TensorSpec([None, 18])])
    def norms(x):
        traces.append(1)
        return captured(model, x)

    for _ in range(2):
        for one, two in zip(norms(x), expected, strict=True):
            np.testing.assert_allclose(one, two, 1e-4, 1e-4)
    assert len(traces) == 1


@pytest.mark.parametrize("options", [{}, {"transpose": True}])
@pytest.mark.parametrize("axis", [-1, 0])
def test_other_products(options, axis):
    """Layers may go through `ops.matmul` in any way."""

    class Product(BlockSparseDense):
        def call(self, inputs):
            return self._product(
                ops.matmul, inputs, feature_axis=axis, **options
            )

    layer = Product(22, use_bias=False, block_size=4, sparsity=0.5)
    layer.build((None, 18))
    shape = [5, 22 if options else 18]
    x = tf.constant(RNG.normal(size=shape), tf.float32)
    x = tf.transpose(x) if axis == 0 else x
    w = tf.constant(layer.layout.to_dense(layer.blocks.numpy()))
    with tf.GradientTape() as tape:
        tape.watch(w)
        rows = tf.transpose(x) if axis == 0 else x
        loss = tf.reduce_sum(tf.matmul(rows, w, transpose_b=bool(options)) ** 2)
    layer.input_spec = None
    (norms,) = captured(layer, x)
    expected = norms_of(tape.gradient(loss, w), layer.layout)
    np.testing.assert_allclose(norms, expected, 1e-4, 1e-4)


CONV_CASES = [
    (kind, arguments)
    for kind, arguments in conv_twins.cases()
    # Keras's kernel of groups has no places between them.
    if (kind.rank < 3 or "strides" in arguments) and "groups" not in arguments
]


@pytest.mark.parametrize(
    ("kind", "arguments"), CONV_CASES[::2], ids=conv_twins.case_name
)
def test_convolutions(kind, arguments):
    """Beside the gradient of Keras's layer, for the whole kernel."""
    layer, x = conv_twins.make(kind, **{**arguments, "dtype": "float64"})
    twin = conv_twins.Twin(layer, keras.activations.relu)
    layer.activation = keras.activations.relu
    # Two calls, of different sizes where a twin exists for both.
    (norms,) = captured(lambda x: [layer(x), layer(x[:1])], x)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(twin(x) ** 2) + tf.reduce_sum(twin(x[:1]) ** 2)
    whole = tape.gradient(loss, twin.keras.kernel.value).numpy()
    for axis, gap in enumerate(twin.gaps):
        whole = np.take(whole, range(0, whole.shape[axis], gap), axis)
    if twin.transposed:
        whole = whole.swapaxes(-1, -2)
    layout = layer.layout
    expected = norms_of(whole, layout).reshape(-1, *layout.grid)
    if layout.taps is None:
        expected = np.sqrt((expected**2).sum(0))
    np.testing.assert_allclose(norms, expected, 1e-4, 1e-4)


def test_convolutions_of_several_sizes_add_up():
    layer = layers.BlockSparseConv1D(8, 3, block_size=4, sparsity=0.5)
    x = [
        tf.constant(RNG.normal(size=(2, size, 8)), tf.float32)
        for size in (5, 9)
    ]
    layer.build((None, None, 8))
    (norms,) = captured(lambda *each: [layer(one) for one in each], *x)
    kernel = tf.constant(conv_twins.kernel(layer))
    with tf.GradientTape() as tape:
        tape.watch(kernel)
        loss = tf.add_n(
            [
                tf.reduce_sum(tf.nn.conv1d(one, kernel, 1, "VALID") ** 2)
                for one in x
            ]
        )
    expected = norms_of(tape.gradient(loss, kernel), layer.layout)
    expected = np.sqrt((expected**2).sum(0))
    np.testing.assert_allclose(norms, expected, 1e-4, 1e-4)
