# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""BlockSparseEinsumDense against EinsumDense with a masked kernel."""

import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import testing
from tf_blocksparse.layers import BlockSparseEinsumDense
from tf_blocksparse.layout import BlockLayout

RNG = np.random.default_rng(0)
# Equation, shape of x, output_shape, bias_axes.
CASES = [
    ("ab,bc->ac", (3, 24), 20, "c"),
    ("abc,cd->abd", (2, 5, 24), (None, 20), "d"),
    ("abc,cd->abd", (2, 5, 24), (5, 20), "bd"),
    ("abc,cd->abd", (2, 5, 24), (5, 20), "b"),
    ("abc,cd->adb", (2, 5, 24), (20, 5), "d"),
    ("abc,dc->abd", (2, 5, 24), (None, 20), "d"),
    ("abc,cde->abde", (2, 5, 24), (None, 4, 6), "de"),
    ("abc,cde->abde", (2, 5, 24), (None, 4, 6), "e"),
    ("abc,cde->abed", (2, 5, 24), (None, 6, 4), "de"),
    ("abc,ced->abde", (2, 5, 24), (None, 4, 6), "de"),
    ("abcd,cde->abe", (2, 5, 4, 6), (None, 22), "e"),
    ("abcd,dce->abe", (2, 5, 4, 6), (None, 22), None),
    ("acb,dce->aebd", (2, 8, 6), (10, 6, 5), "ed"),
    ("...x,xy->...y", (2, 3, 5, 24), 20, "y"),
    ("...xy,xyz->...z", (2, 3, 4, 6), 20, "z"),
    ("ab...,bc->ac...", (2, 24, 5, 3), 20, "c"),
    ("abc,cd->ad", (2, 5, 24), 20, "d"),
]
EVERY = pytest.mark.parametrize(
    ("equation", "shape", "output_shape", "bias_axes"),
    CASES,
    ids=lambda value: str(value),
)


def make(equation, output_shape, bias_axes, **arguments):
    return BlockSparseEinsumDense(
        equation,
        output_shape,
        bias_axes=bias_axes,
        **{
            "bias_initializer": "normal",
            "block_size": (4, 5),
            "sparsity": 0.4,
            **arguments,
        },
    )


def twin(layer, shape, **arguments):
    """An EinsumDense with the weights of a built block-sparse one."""
    dense = keras.layers.EinsumDense(
        layer.equation,
        layer.partial_output_shape,
        bias_axes=layer.bias_axes,
        **{
            "activation": layer.activation,
            "dtype": layer.dtype_policy,
            **arguments,
        },
    )
    dense.build(shape)
    matrix = layer.layout.to_dense(layer.blocks.numpy())
    bias = [] if layer.bias is None else [layer.bias.numpy()]
    dense.set_weights([layer.matrix_kernel(matrix), *bias])
    return dense


def results(layer, weights, x, dy):
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x)
        loss = tf.reduce_sum(y * tf.cast(dy, y.dtype))
    values = [weight.value for weight in weights]
    return y.numpy(), *(g.numpy() for g in tape.gradient(loss, [x, *values]))


@EVERY
def test_equals_einsum_dense_on_integers(
    equation, shape, output_shape, bias_axes
):
    layer = make(equation, output_shape, bias_axes)
    layer.build(shape)
    for weight in layer.trainable_weights:
        weight.assign(RNG.integers(-3, 4, weight.shape))
    dense = twin(layer, shape)
    x = RNG.integers(-3, 4, shape).astype("float32")
    y_shape = dense(x).shape
    # Not Keras's own: it gives elided axes in the wrong order.
    known = layer.compute_output_shape(shape)
    given = output_shape if isinstance(output_shape, tuple) else (output_shape,)
    assert len(known) == len(y_shape)
    assert all(k in (None, y) for k, y in zip(known, y_shape, strict=True))
    assert known.count(None) == given.count(None)
    dy = RNG.integers(-3, 4, y_shape).astype("float32")
    y, dx, dblocks, *dbias = results(layer, layer.trainable_weights, x, dy)
    want, dx_want, dkernel, *dbias_want = results(
        dense, dense.trainable_weights, x, dy
    )
    np.testing.assert_array_equal(y, want)
    np.testing.assert_array_equal(dx, dx_want)
    gathered = layer.layout.gather(layer.kernel_matrix(dkernel))
    np.testing.assert_array_equal(dblocks, gathered)
    for got, expected in zip(dbias, dbias_want, strict=True):
        np.testing.assert_array_equal(got, expected)


@EVERY
@pytest.mark.parametrize("activation", ["relu", "softmax", "sigmoid", "gelu"])
def test_activations_see_the_output(
    equation, shape, output_shape, bias_axes, activation
):
    layer = make(equation, output_shape, bias_axes, activation=activation)
    x = RNG.normal(size=shape).astype("float32")
    y = layer(x).numpy()
    exact = twin(layer, shape, dtype="float64")(x.astype("float64")).numpy()
    # The sums are of at most 24 numbers below 4 each times kernels below 1,
    # and no activation is steeper than 1.13 or rounds by more than 8 ulp.
    allowed = 1.2 * testing.tolerance("float32", 24 * 5, 24 * 5 * 4.0, exact)
    np.testing.assert_array_less(np.abs(y - exact), allowed + 8 * 2.0**-24)


@EVERY
def test_kernel_and_matrix_are_each_others_reverse(
    equation, shape, output_shape, bias_axes
):
    layer = make(equation, output_shape, bias_axes)
    layer.build(shape)
    dense = twin(layer, shape)
    kernel = RNG.normal(size=dense.kernel.shape)
    matrix = layer.kernel_matrix(kernel)
    assert matrix.shape == layer.layout.shape
    np.testing.assert_array_equal(layer.matrix_kernel(matrix), kernel)


def test_takes_the_arguments_of_einsum_dense_in_its_order():
    theirs = inspect.signature(keras.layers.EinsumDense).parameters.values()
    ours = list(inspect.signature(BlockSparseEinsumDense).parameters.values())
    for i, parameter in enumerate(theirs):
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        assert ours[i].name == parameter.name
        assert ours[i].default == parameter.default


def test_config_is_that_of_einsum_dense_and_more():
    arguments = (
        "abc,cd->abd", (None, 12), "tanh", "d", "he_normal", "ones", "l1",
        "l2", "non_neg", "non_neg",
    )  # fmt: skip
    layer = BlockSparseEinsumDense(
        *arguments, block_size=4, activity_regularizer="l2"
    )
    ours = layer.get_config()
    theirs = keras.layers.EinsumDense(
        *arguments, activity_regularizer="l2"
    ).get_config()
    for name in ("name", "quantization_config", "gptq_unpacked_column_size"):
        theirs.pop(name, None)
    assert {k: ours[k] for k in theirs} == theirs
    assert BlockSparseEinsumDense.from_config(ours).get_config() == ours


@pytest.mark.parametrize(
    ("equation", "output_shape", "bias_axes", "message"),
    [
        ("abc,acd->abd", (None, 8), None, "x, the kernel and y have the axis"),
        ("abc,cd", 8, None, "equation: got 'abc,cd', expected one such as"),
        ("aab,bc->ac", 8, None, "has an axis twice in 'aab'"),
        ("abc,xd->abd", (None, 8), None, "no axis that only one"),
        ("abc,cd->abe", (None, 8), None, "no axis that only one"),
        ("abc,c->ab", 8, None, "expected a kernel with axes of x and axes"),
        ("abc,cd->abd", (None, None), None, "output_shape: got .* axis d"),
        ("abc,ca->ab", 8, None, "the kernel and y have|no axis|first axis"),
        ("abc,cd->abd", (None, 8), "x", "bias_axes: got str 'x', expected"),
        ("abc,cd->abd", (None, 8), 3, "bias_axes: got int 3, expected"),
        ("ab,bc->ac", None, None, "size for the axis c"),
        ("ab,bc->ac", 8.0, None, "output_shape: got float 8.0, expected an"),
        ("ab,bc->ac", True, None, "output_shape: got bool True"),
        ("ab,bc->ac", (3, 4, 5), None, "expected 1 sizes for ab,bc->ac"),
    ],
)
def test_refuses(equation, output_shape, bias_axes, message):
    with pytest.raises(ValueError, match=message):
        make(equation, output_shape, bias_axes)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((2, 5, None), "input_shape: got .* known sizes for the axes c"),
        ((2, None, 24), "bias_axes: got 'bd', expected axes of"),
        ((2, 6, 24), "the axis b of abc,cd->abd the size 5, expected 6"),
        ((2, 24), "expected the axes 'abc' of abc,cd->abd; reshape"),
        ((2, 3, 5, 24), "expected the axes 'abc'"),
    ],
)
def test_refuses_to_build(shape, message):
    output = 5 if shape[1] == 6 else None
    with pytest.raises(ValueError, match=message):
        make("abc,cd->abd", (output, 20), "bd").build(shape)


def test_sizes_that_come_with_the_data():
    layer = make("abc,cde->abde", (None, 4, 6), "de")
    inputs = keras.Input((None, 24))
    model = keras.Model(inputs, layer(inputs))
    assert model.output.shape == (None, None, 4, 6)
    for rows, length in ((3, 7), (1, 2)):
        assert model.predict(np.ones((rows, length, 24)), verbose=0).shape == (
            rows,
            length,
            4,
            6,
        )


def test_a_given_layout_is_used():
    layout = BlockLayout.random((24, 24), 8, sparsity=0.5, seed=1)
    layer = make("abc,cde->abde", (None, 4, 6), None, layout=layout)
    layer.build((None, 5, 24))
    assert layer.layout == layout
    with pytest.raises(ValueError, match=r"layout: got one of shape"):
        make("abc,cd->abd", (None, 20), None, layout=layout)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision(policy):
    layer = make("abc,cde->abde", (None, 4, 6), "de", dtype=policy)
    shape = (2, 5, 24)
    x = RNG.normal(size=shape)
    y = layer(x)
    assert y.dtype == layer.compute_dtype
    assert layer.blocks.dtype == "float32"
    exact = np.asarray(twin(layer, shape, dtype="float64")(x))
    theirs = np.asarray(twin(layer, shape)(x), "float64")
    error = np.abs(np.asarray(y, "float64") - exact).max()
    assert error <= 2 * np.abs(theirs - exact).max() + 2.0**-10


def test_gates_close_blocks():
    layer = make("abc,cd->abd", (None, 20), "d", gate="mask")
    x = np.ones((2, 5, 24), "float32")
    layer.build(x.shape)
    layer.gate_mask.assign(np.zeros(layer.layout.nnz, bool))
    np.testing.assert_array_equal(
        layer(x), np.broadcast_to(layer.bias, (2, 5, 20))
    )


def test_saving(tmp_path):
    inputs = keras.Input((5, 24))
    layer = make("abc,cde->abde", (None, 4, 6), "de", activation="tanh")
    model = keras.Model(inputs, layer(inputs))
    x = RNG.normal(size=(2, 5, 24)).astype("float32")
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(model(x), loaded(x))
