# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Rebuilt models: the same but for what is replaced."""

import conversion_models as models
import keras
import numpy as np
import pytest

import tf_blocksparse as tfbs
from tf_blocksparse.conversion._config_copy import config_copy
from tf_blocksparse.conversion._rebuild import (
    Replacement,
    named_variables,
    rebuild,
    replaceable,
)

L = keras.layers
RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.normal(size=shape).astype("float32")


def nothing(layer):
    return None


def doubled(layer):
    """Dense layers with twice the kernel."""
    if type(layer) is not L.Dense:
        return None
    new = config_copy(layer)
    return Replacement(
        new,
        {"kernel": 2 * layer.kernel.numpy()},
        {"kernel": ("kernel", lambda array: 2 * array)},
    )


def functional():
    """Shared layers, a nested model called twice, operations, a lambda."""
    x = inputs = keras.Input((8,), name="x")
    shared = L.Dense(8, activation=lambda y: y * 2, name="shared")
    x = shared(shared(x)) + 1.0
    x = L.BatchNormalization(name="norm")(L.Dropout(0.1)(x))
    nested = keras.Sequential(
        [keras.Input((8,)), L.Dense(8), L.Lambda(lambda y: y - 3)],
        name="nested",
    )
    x = nested(nested(x))
    y = models.Block(8, name="block")(x)
    z = models.BuiltLate(4, name="late")(y)
    return keras.Model(inputs, {"y": y, "z": z}, name="whole")


def recurrent():
    x = inputs = keras.Input((5, 8))
    x = L.TimeDistributed(L.Dense(6), name="each")(x)
    x = L.MultiHeadAttention(2, 3, dropout=0.1, seed=1, name="mha")(x, x)
    return keras.Model(inputs, L.Bidirectional(L.GRU(4), name="both")(x))


def subclassed():
    model = models.Subclassed(8, name="sub")
    model(normal(2, 8))
    return model


MODELS = {
    "sequential": (lambda: models.mlp(8, 8), (8,)),
    "functional": (functional, (8,)),
    "recurrent": (recurrent, (5, 8)),
    "subclassed": (subclassed, (8,)),
}
EVERY = pytest.mark.parametrize("name", MODELS)


def equal(a, b):
    keras.tree.map_structure(np.testing.assert_array_equal, a, b)


@EVERY
def test_a_model_without_changes_is_the_same(name):
    make, shape = MODELS[name]
    model, x = make(), normal(16, *shape)
    before = [v.numpy() for v in model.variables]
    nodes = len(getattr(model, "operations", []))
    y = keras.tree.map_structure(lambda t: normal(*t.shape), model(x))
    # Eagerly: tracing takes longer than these few steps.
    model.compile("adam", "mse", run_eagerly=True)
    model.train_on_batch(x, y)
    new = rebuild(model, nothing)
    assert type(new) is type(model)
    assert new.name == model.name
    assert len(getattr(model, "operations", [])) == nodes
    equal(model(x), new(x))
    assert not {id(v) for v in model.variables} & {id(v) for v in new.variables}
    # Dropout, too, goes on where it was.
    losses = [[m.train_on_batch(x, y) for _ in range(2)] for m in (model, new)]
    assert losses[0] == losses[1]
    for a, b in zip(model.variables, new.variables, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    changed = [
        not np.array_equal(a, v.numpy())
        for a, v in zip(before, model.variables, strict=True)
    ]
    assert any(changed)


@EVERY
def test_layers_are_replaced_wherever_they_are(name):
    make, shape = MODELS[name]
    model, x = make(), normal(4, *shape)
    before = [v.numpy() for v in model.variables]
    late = {id(f.layer) for f in replaceable(model) if f.obstacle}
    new = rebuild(
        model, lambda layer: None if id(layer) in late else doubled(layer)
    )
    for a, v in zip(before, model.variables, strict=True):
        np.testing.assert_array_equal(a, v.numpy())
    old, layers = models.flat(model), models.flat(new)
    assert list(layers) == list(old)
    count = 0
    for path, layer in old.items():
        factor = 2 if type(layer) is L.Dense and id(layer) not in late else 1
        count += factor == 2
        for a, b in zip(layer.weights, layers[path].weights, strict=True):
            if factor == 1 or a.name == "bias":
                continue
            np.testing.assert_array_equal(factor * a.numpy(), b.numpy())
    assert count
    assert len(new.variables) == len(model.variables)
    # The same can be done by hand.
    for path, layer in old.items():
        if type(layer) is L.Dense and id(layer) not in late:
            layers[path].kernel.assign(layer.kernel)
    equal(model(x), new(x))


def test_what_cannot_be_replaced_is_told():
    found = {each.path: each.obstacle for each in replaceable(functional())}
    assert found.pop("late/inner") == "BuiltLate makes it in build"
    assert set(found) >= {
        "shared",
        "nested/dense",
        "block/first",
        "block/last",
    } - {path for path in found if "dense" in path} - {
        "nested/dense",
        "block/first",
    }
    assert not any(found.values())
    with pytest.raises(ValueError, match="makes inner in build, expected"):
        rebuild(functional(), doubled)


def test_trainable_is_kept_for_layers_and_weights():
    model = functional()
    model.get_layer("norm").trainable = False
    model.get_layer("block").rest[0].trainable = False
    model.get_layer("shared").bias.trainable = False
    model.get_layer("nested").trainable = False
    for convert in (
        nothing,
        lambda layer: doubled(layer) if layer.name == "shared" else None,
    ):
        new = rebuild(model, convert)
        for a, b in zip(model.weights, new.weights, strict=True):
            assert a.trainable == b.trainable, a.path
        for path, layer in models.flat(model).items():
            assert layer.trainable == models.flat(new)[path].trainable


def test_dtype_policies_are_kept():
    model = models.mlp(dtype="mixed_bfloat16")
    new = rebuild(model, nothing)
    assert {each.dtype_policy.name for each in new.layers} == {"mixed_bfloat16"}
    assert new.layers[0].kernel.dtype == "float32"


def test_vocabularies_and_adapted_numbers_are_kept():
    norm = L.Normalization()
    norm.adapt(np.array([[1.0, 2.0], [3.0, 5.0]]))
    model = keras.Sequential([keras.Input((2,)), norm])
    x = normal(3, 2)
    equal(model(x), rebuild(model, nothing)(x))
    lookup = L.IntegerLookup(num_oov_indices=1)
    lookup.adapt(np.array([5, 7, 7, 9]))
    inputs = keras.Input((1,), dtype="int64")
    model = keras.Model(inputs, lookup(inputs))
    x = np.array([[5], [9], [1]])
    equal(model(x), rebuild(model, nothing)(x))


def test_functions_of_a_lambda_are_kept():
    layer = L.Lambda(
        lambda x, by: x[:, ::by],
        output_shape=lambda shape: (shape[0], shape[1] // 2),
        arguments={"by": 2},
    )
    model = keras.Sequential([keras.Input((4,)), layer])
    new = rebuild(model, nothing)
    assert new.layers[0].compute_output_shape((7, 8)) == (7, 4)
    x = normal(3, 4)
    equal(model(x), new(x))


def test_structures_of_inputs_and_outputs_are_kept():
    a = keras.Input((4,), name="a", dtype="float64")
    b = keras.Input((4,), name="b", batch_size=3)
    model = keras.Model({"a": a, "b": b}, [L.Dense(2)(L.Add()([a, b])), a])
    new = rebuild(model, doubled)
    assert keras.tree.map_structure(
        lambda t: (t.shape, t.dtype, t.name), new.input
    ) == keras.tree.map_structure(
        lambda t: (t.shape, t.dtype, t.name), model.input
    )
    assert len(new.output) == 2


class Own(keras.Model):
    """A functional model with a step of its own."""

    def train_step(self, data):
        return {"steps": 7.0}


class OwnSequential(keras.Sequential):
    pass


def test_classes_are_kept():
    inputs = keras.Input((4,))
    model = Own(inputs, L.Dense(2)(inputs))
    model.compile("sgd", "mse")
    new = rebuild(model, doubled)
    assert type(new) is Own
    history = new.fit(normal(4, 4), normal(4, 2), verbose=0).history
    assert history == {"steps": [7.0]}
    model = OwnSequential([keras.Input((4,)), L.Dense(2)])
    assert type(rebuild(model, nothing)) is OwnSequential


def test_a_layer_is_rebuilt_alone():
    layer = L.Dense(4, name="alone")
    layer.build((None, 8))
    new = rebuild(layer, doubled)
    np.testing.assert_array_equal(new.kernel, 2 * layer.kernel.numpy())
    assert new.name == "alone"
    block = models.Block(8, name="block")
    block(normal(2, 8))
    new = rebuild(block, doubled)
    paths = [v.path for v in block.trainable_variables]
    assert [v.path for v in new.trainable_variables] == paths


class Sum(L.Layer):
    """Two inputs, and no `build`."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.first = L.Dense(4, name="first")
        self.second = L.Dense(4, name="second")

    def call(self, x, y):
        return self.first(x) + self.second(y)


class Numbers(keras.Model):
    """Its call fails with anything but whole numbers that are known."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.hidden = L.Dense(4, name="hidden")

    def call(self, x):
        if "int" not in str(x.dtype) or isinstance(x, keras.KerasTensor):
            raise RuntimeError("no number")
        return self.hidden(keras.ops.cast(x, "float32"))


def test_layers_are_built_by_calls_of_all_kinds():
    layer, x = Sum(name="sum"), normal(2, 3)
    layer(x, y=x)
    new = rebuild(layer, doubled)
    for inner in (layer.first, layer.second):
        inner.kernel.assign(2 * inner.kernel)
    equal(layer(x, x), new(x, x))
    model, x = Numbers(name="numbers"), np.array([[1, 2]])
    model(x)
    new = rebuild(model, doubled)
    model.hidden.kernel.assign(2 * model.hidden.kernel)
    equal(model(x), new(x))


def test_a_wrapper_that_needs_the_kernel_keeps_it():
    model = keras.Sequential(
        [
            keras.Input((5, 8)),
            L.TimeDistributed(L.Dense(4)),
            L.SpectralNormalization(L.Dense(4)),
        ]
    )
    assert [each.obstacle for each in replaceable(model)] == [
        None,
        "SpectralNormalization changes its kernel",
    ]


def test_names_of_variables_tell_the_inner_layer():
    layer = L.MultiHeadAttention(2, 3)
    layer(normal(1, 2, 4), normal(1, 2, 4))
    assert set(named_variables(layer)) >= {"query/kernel", "query/bias"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: keras.Sequential([L.Dense(2)]),
            "which is not built, expected weights",
        ),
        (
            lambda: called(models.NoConfig(L.Dense(4))),
            r"got a NoConfig that its config does not make anew \(not desc.*one"
            r" by one, as in self.dense = tf_blocksparse.sparsify",
        ),
        (lambda: called(Tied()), r"tied, too|which layer .* has, too"),
    ],
)
def test_refuses(make, message):
    with pytest.raises(ValueError, match=message):
        rebuild(make(), doubled)


def called(model):
    model(normal(2, 4))
    return model


class TiedLayer(L.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.other = None

    def call(self, x):
        return x * self.other


class Tied(keras.Model):
    """One variable in two layers."""

    def __init__(self, name="tied"):
        super().__init__(name=name)
        self.first = L.Dense(4)
        self.second = TiedLayer()

    def call(self, x):
        x = self.first(x)
        if self.second.other is None:
            self.second.other = self.first.bias
        return self.second(x)

    def get_config(self):
        return {"name": self.name}


@pytest.mark.parametrize("convert", [tfbs.sparsify, tfbs.densify, tfbs.compact])
def test_what_is_no_model_is_refused(convert):
    with pytest.raises(
        ValueError, match=r"model: got str 'model\.keras'.*load"
    ):
        convert("model.keras")
