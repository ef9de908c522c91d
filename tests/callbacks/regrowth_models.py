# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The small model of the tests of RigL and SET, and its data."""

import keras
import numpy as np
import pytest

from tf_blocksparse import layers
from tf_blocksparse.callbacks import SET, RigL

RNG = np.random.default_rng(0)
X = RNG.normal(size=(96, 24)).astype("float32")
Y = np.tanh(X @ RNG.normal(size=(24, 3))).astype("float32")


def make(optimizer="sgd", run_eagerly=True, **arguments):
    # Few steps take less time than making a graph; some tests do.
    keras.utils.set_random_seed(1)
    options = {"block_size": 4, "sparsity": 0.6, "seed": 5}
    model = keras.Sequential(
        [
            keras.Input((24,)),
            layers.BlockSparseDense(32, "relu", **options),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.2),
            layers.BlockSparseDense(16, "relu", **options),
            keras.layers.Dense(3),
        ]
    )
    model.compile(
        optimizer,
        "mse",
        metrics=["mae"],
        run_eagerly=run_eagerly,
        **arguments,
    )
    return model


def sparse(model):
    return [each for each in model.layers if hasattr(each, "layout")]


def layouts(model):
    return [layer.layout for layer in sparse(model)]


def fit(model, *callbacks, **options):
    options = {"batch_size": 8, "verbose": 0, "shuffle": False, **options}
    return model.fit(X, Y, callbacks=list(callbacks), **options)


def rigl(**options):
    options = {"frequency": 5, "end_step": 30, **options}
    return RigL((X, Y), batch_size=16, **options)


def evolution(**options):
    return SET(**{"frequency": 5, "end_step": 30, **options})


BOTH = pytest.mark.parametrize("regrowth", [rigl, evolution])
