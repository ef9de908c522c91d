# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Training after sparsify and densify; saving and loading."""

import inspect
import pathlib
import subprocess
import sys

import conversion_models as models
import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_blocksparse as tfbs
from tf_blocksparse.conversion._rebuild import rebuild
from tf_blocksparse.layers._block_sparse_layer import BlockSparseLayer

L = keras.layers
ROOT = pathlib.Path(__file__).resolve().parents[2]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(16, 6, 6, 8))
Y = RNG.normal(size=(16, 3))
ALL = {"skip_unprofitable": False}
# Those that look at a whole weight at once do something else with blocks.
OF_WHOLE_WEIGHTS = ("Adafactor", "Lamb", "Muon")
OPTIMIZERS = sorted(
    name
    for name, each in vars(keras.optimizers).items()
    if inspect.isclass(each)
    and issubclass(each, keras.optimizers.Optimizer)
    and name not in ("Optimizer", "LossScaleOptimizer", "MultiOptimizer")
)


def trained(optimizer, dtype="float64", **arguments):
    """A model of float64, so that rounding is no matter."""
    options = {"dtype": dtype}
    x = inputs = keras.Input((6, 6, 8), dtype=dtype)
    x = L.Conv2D(16, 3, activation="relu", name="conv", **options)(x)
    x = L.Conv2DTranspose(8, 2, name="up", **options)(x)
    x = L.Flatten(dtype=dtype)(x)
    x = L.Dense(16, "tanh", name="hidden", **options)(x)
    model = keras.Model(inputs, L.Dense(3, name="logits", **options)(x))
    model.compile(
        optimizer, **{"loss": "mse", "run_eagerly": True, **arguments}
    )
    for _ in range(2):
        for half in (slice(0, 8), slice(8, 16)):
            # A call of `fit` takes as long as many of these.
            model.train_on_batch(X[half], Y[half])
    return model


def gathered(sparse, dense):
    """The blocks of a dense layer, where the sparse one has some."""
    whole = dense.kernel.numpy()
    if "Transpose" in type(dense).__name__:
        whole = whole.swapaxes(-1, -2)
    return sparse.layout.gather(whole)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_equals_that_of_the_masked_model(name):
    optimizer = getattr(keras.optimizers, name)(learning_rate=0.01)
    # Keras's Muon computes in float32 only.
    model = trained(optimizer, "float32" if name == "Muon" else "float64")
    new = tfbs.sparsify(model, 0.5, 4, **ALL)
    masked = models.mask_like(rebuild(model, lambda layer: None), new)
    assert int(new.optimizer.iterations) == 4
    for each in (new, masked):
        each.train_on_batch(X, Y)
    if name in OF_WHOLE_WEIGHTS:
        return
    count = 0
    for layer in new.layers:
        if isinstance(layer, BlockSparseLayer):
            want = gathered(layer, masked.get_layer(layer.name))
            # Some optimizers compute in the rate's float32.
            np.testing.assert_allclose(
                layer.blocks.numpy(), want, rtol=1e-6, atol=1e-9
            )
            count += 1
    assert count == 3
    np.testing.assert_allclose(
        new.get_layer("logits").kernel,
        masked.get_layer("logits").kernel,
        rtol=1e-6,
        atol=1e-9,
    )


def test_dense_again_is_the_masked_model():
    model = trained(keras.optimizers.Adam(name="adam"))
    new = tfbs.sparsify(model, 0.5, 4, gate="mask", **ALL)
    layer = new.get_layer("hidden")
    layer.gate_mask.assign(np.arange(layer.layout.nnz) % 3 > 0)
    dense = tfbs.densify(new)
    assert [type(each) for each in dense.layers] == [
        type(each) for each in model.layers
    ]
    np.testing.assert_allclose(dense(X), new(X), rtol=1e-12, atol=1e-12)
    for a, b in zip(new.layers, dense.layers, strict=True):
        if isinstance(a, BlockSparseLayer):
            outside = models.kernel_mask(b, a) == 0
            assert not b.kernel.numpy()[outside].any()
    assert dense.compiled
    slots = {v.path: v.numpy() for v in dense.optimizer.variables}
    momentum = slots["adam/hidden_kernel_momentum"]
    outside = models.kernel_mask(dense.get_layer("hidden"), layer) == 0
    assert momentum.any()
    assert not momentum[outside].any()
    # All blocks of all layers there and back: nothing is lost.
    back = tfbs.densify(tfbs.sparsify(model, 0.0, 4, **ALL))
    for a, b in zip(model.weights, back.weights, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    for a, b in zip(
        model.optimizer.variables, back.optimizer.variables, strict=True
    ):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_dense_again_with_groups_einsum_and_attention():
    x = inputs = keras.Input((6, 16), dtype="float64")
    options = {"dtype": "float64"}
    x = L.Conv1D(16, 3, groups=2, name="groups", **options)(x)
    x = L.EinsumDense("abc,dc->abd", (None, 16), name="e", **options)(x)
    x = L.MultiHeadAttention(2, 8, name="mha", **options)(x, x)
    model = keras.Model(inputs, x)
    x = RNG.normal(size=(3, 6, 16))
    back = tfbs.densify(tfbs.sparsify(model, 0.0, 4, **ALL))
    assert [type(each) for each in back.layers] == [
        type(each) for each in model.layers
    ]
    np.testing.assert_array_equal(back(x), model(x))
    half = tfbs.sparsify(model, 0.5, 4, **ALL)
    np.testing.assert_allclose(
        tfbs.densify(half)(x), half(x), rtol=1e-12, atol=1e-12
    )


def test_a_layer_as_gate_multiplies():
    layer = tfbs.layers.BlockSparseDense(
        8, block_size=4, sparsity=0.0, gate=tfbs.layers.ConcreteGate()
    )
    model = keras.Sequential([keras.Input((8,)), layer])
    x = RNG.normal(size=(3, 8)).astype("float32")
    np.testing.assert_allclose(
        tfbs.densify(model)(x), model(x), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize(
    "layer",
    [
        tfbs.layers.BlockSparseConv1D(
            8, 3, padding=padding, block_size=4, sparsity=0.5
        )
        for padding in (1, "same_symmetric")
    ],
)
def test_what_keras_has_not_cannot_be_dense(layer):
    layer.build((None, 9, 8))
    with pytest.raises(ValueError, match=r"got padding=.*Keras has no other"):
        tfbs.densify(layer)


def test_what_has_an_initializer_of_blocks_becomes_dense():
    layer = tfbs.layers.BlockSparseDense(
        8, kernel_initializer=tfbs.initializers.BlockIdentity(), block_size=4,
        sparsity=0.0,
    )  # fmt: skip
    layer.build((None, 8))
    np.testing.assert_array_equal(tfbs.densify(layer).kernel, np.eye(8))


@pytest.mark.filterwarnings("ignore:.*tf.lite.Interpreter is deprecated")
def test_a_dense_model_converts_to_litert():
    if not hasattr(tf, "lite"):
        pytest.skip("no tf.lite")
    model = tfbs.sparsify(models.mlp(), 0.5, 8, **ALL)
    dense = tfbs.densify(model)
    converted = tf.lite.TFLiteConverter.from_keras_model(dense).convert()
    interpreter = tf.lite.Interpreter(model_content=converted)
    interpreter.allocate_tensors()
    x = RNG.normal(size=(1, 32)).astype("float32")
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    y = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    np.testing.assert_allclose(y, model(x), rtol=1e-4, atol=1e-5)


PROGRAM = """
import sys
import keras, numpy as np
import tf_blocksparse
folder = sys.argv[1]
model = keras.models.load_model(folder + "/model.keras")
x, y = np.load(folder + "/x.npy"), np.load(folder + "/y.npy")
np.testing.assert_array_equal(model(x), np.load(folder + "/before.npy"))
model.fit(x, y, verbose=0, shuffle=False)
np.testing.assert_allclose(model(x), np.load(folder + "/after.npy"), 1e-9, 1e-9)
"""


def test_saved_and_loaded_in_a_new_process(tmp_path):
    model = trained("adam", run_eagerly=False)
    new = tfbs.sparsify(model, 0.5, 4, **ALL)
    new.save(tmp_path / "model.keras")
    for name, array in (("x", X), ("y", Y), ("before", new(X))):
        np.save(tmp_path / f"{name}.npy", array)
    new.fit(X, Y, verbose=0, shuffle=False)
    np.save(tmp_path / "after.npy", new(X))
    subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        check=True,
        cwd=ROOT,
        timeout=300,
    )


def test_exports_layers_whose_inner_ones_were_replaced(tmp_path):
    x = inputs = keras.Input((5, 16))
    x = L.MultiHeadAttention(2, 8, name="mha")(x, x)
    model = keras.Model(inputs, models.Block(16)(x))
    new = tfbs.sparsify(model, 0.5, 4, **ALL)
    new.export(tmp_path / "exported", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "exported")
    x = RNG.normal(size=(2, 5, 16)).astype("float32")
    np.testing.assert_array_equal(loaded.serve(x), new(x))


def test_layers_that_were_frozen_keep_their_slots():
    model = trained("adam")
    model.get_layer("hidden").trainable = False
    new = tfbs.sparsify(model, 0.5, 4, **ALL)
    masked = models.mask_like(rebuild(model, lambda layer: None), new)
    for each in (new, masked):
        each.get_layer("hidden").trainable = True
        each.train_on_batch(X, Y)
    want = gathered(new.get_layer("hidden"), masked.get_layer("hidden"))
    np.testing.assert_allclose(
        new.get_layer("hidden").blocks.numpy(), want, rtol=1e-6, atol=1e-9
    )


def test_weights_of_a_subclassed_model_are_loaded(tmp_path):
    # Its class makes dense layers, so it is made sparse before they are.
    model, other = models.Subclassed(16), models.Subclassed(16)
    x = RNG.normal(size=(3, 16)).astype("float32")
    for each in (model, other):
        each(x)
    sparse = tfbs.sparsify(model, 0.5, 4, **ALL)
    path = tmp_path / "it.weights.h5"
    sparse.save_weights(path)
    again = tfbs.sparsify(other, 0.5, 4, **ALL)
    again.load_weights(path)
    np.testing.assert_array_equal(again(x), sparse(x))
