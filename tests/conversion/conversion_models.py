# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Models and layers that the tests of conversion take apart, and an oracle."""

import keras
import numpy as np

from tf_blocksparse.layers._block_sparse_layer import BlockSparseLayer

L = keras.layers


class Block(L.Layer):
    """Layers in attributes, a list and a dict; one in two attributes."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.first = L.Dense(units)
        self.rest = [L.Dense(units, "relu"), L.LayerNormalization()]
        self.named = {"last": L.Dense(units, name="last")}
        self.again = self.first
        self.dropout = L.Dropout(0.1)

    def call(self, x):
        x = self.again(self.first(x))
        for layer in self.rest:
            x = layer(x)
        return self.dropout(self.named["last"](x))

    def get_config(self):
        return {**super().get_config(), "units": self.units}


class BuiltLate(L.Layer):
    """Makes its inner layer in `build`."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def build(self, shape):
        self.inner = L.Dense(self.units, name="inner")
        self.inner.build(shape)
        self.scale = self.add_weight(shape=(self.units,), name="scale")

    def call(self, x):
        return self.inner(x) * self.scale

    def get_config(self):
        return {**super().get_config(), "units": self.units}


class Subclassed(keras.Model):
    """A model with layers, a layer of layers, and a model."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.block = Block(units, name="block")
        self.head = keras.Sequential(
            [L.Dense(units, "relu", name="a"), L.Dense(units, name="b")]
        )

    def call(self, x):
        return self.head(self.block(x))

    def get_config(self):
        return {"units": self.units, "name": self.name}


class NoConfig(keras.Model):
    """A model whose config does not make it."""

    def __init__(self, layer):
        super().__init__()
        self.units = layer.units
        self.hidden = layer

    def call(self, x):
        return self.hidden(x)

    def get_config(self):
        raise NotImplementedError("not described")


def mlp(units=64, inputs=32, **arguments):
    """Two hidden layers, and one that is smaller than any block."""
    return keras.Sequential(
        [
            keras.Input((inputs,)),
            L.Dense(units, "relu", name="first", **arguments),
            L.Dense(units, "relu", name="second", **arguments),
            L.Dense(3, name="logits", **arguments),
        ]
    )


def with_integers(model, seed=0, high=2):
    """Gives all weights small whole numbers, so that sums are exact."""
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        if "float" in weight.dtype:
            weight.assign(rng.integers(-high, high + 1, weight.shape))
    return model


def expanded(layout):
    """The layout's mask for each single weight: `[(taps,) inputs, outputs]`."""
    b_in, b_out = layout.block_size
    mask = np.repeat(np.repeat(layout.mask, b_in, -2), b_out, -1)
    return mask[..., : layout.inputs, : layout.outputs]


def kernel_mask(dense, sparse):
    """1 where the kernel of a Keras layer has a block of the sparse one."""
    mask = expanded(sparse.layout)
    if isinstance(dense, L.EinsumDense):
        # Axes of inputs come first in the equations of these tests.
        return mask.reshape(dense.kernel.shape)
    spatial = getattr(dense, "kernel_size", ())
    if sparse.layout.taps is None:
        mask = np.broadcast_to(mask, (*spatial, *mask.shape))
    else:
        mask = mask.reshape(*spatial, *mask.shape[1:])
    if "Transpose" in type(dense).__name__:
        return mask.swapaxes(-1, -2)
    groups = getattr(dense, "groups", 1)
    i, o = (size // groups for size in sparse.layout.shape)
    parts = [
        mask[..., g * i : (g + 1) * i, g * o : (g + 1) * o]
        for g in range(groups)
    ]
    return np.concatenate(parts, axis=-1)


def flat(model):
    """All layers in a model, by path."""
    found = {}

    def visit(layer, path):
        for inner in layer._flatten_layers(False, False):
            name = f"{path}{inner.name}"
            if name not in found:
                found[name] = inner
                if not isinstance(inner, BlockSparseLayer):
                    visit(inner, f"{name}/")

    visit(model, "")
    return found


def mask_like(model, sparse):
    """Sets to 0 in `model` what has no block in the model made from it."""
    layers = flat(model)
    count = 0
    for path, layer in flat(sparse).items():
        if isinstance(layer, BlockSparseLayer):
            kernel = layers[path].kernel
            kernel.assign(kernel.numpy() * kernel_mask(layers[path], layer))
            count += 1
    assert count
    return model


def outputs(model, x):
    return np.asarray(model(x, training=False))
