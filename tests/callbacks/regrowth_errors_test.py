# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What RigL and SET refuse, and what they warn of."""

import keras
import pytest
from regrowth_models import BOTH, X, Y, evolution, fit, make, rigl, sparse

from tf_blocksparse import layers
from tf_blocksparse.callbacks import RigL


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fraction": 1.5}, "fraction: got float 1.5"),
        ({"frequency": 0}, "frequency: got int 0"),
        ({"end_step": 0}, "end_step: got int 0"),
        ({"seed": -1}, "seed: got int -1"),
        ({"data": 3}, "data: got int 3"),
        ({"data": (X, Y[:5])}, "data: got a tuple of 2"),
        ({"data": (X, Y, Y, Y)}, "data: got a tuple of 4"),
        ({"data": (X.tolist(), Y)}, "data: got a tuple that holds float"),
        ({"data": (X, Y), "batch_size": 0}, "batch_size: got int 0"),
    ],
)
def test_refuses_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        RigL(**{"end_step": 9, **arguments})


def test_refuses_models():
    dense = keras.Sequential([keras.Input((3,)), keras.layers.Dense(3)])
    with pytest.raises(ValueError, match="optimizer: got None"):
        evolution().start(dense)
    dense.compile("adam", "mse")
    with pytest.raises(ValueError, match="without a trainable block-sparse"):
        evolution().start(dense)
    with pytest.raises(ValueError, match="call start"):
        evolution().step()
    with pytest.raises(ValueError, match="data: got None"):
        fit(make(), RigL(end_step=9))
    with pytest.raises(ValueError, match="data: got None and no x"):
        RigL(end_step=9).step()
    model = make()
    with pytest.raises(ValueError, match="layers: got str 'other'"):
        evolution(layers="other").start(model)
    sparse(model)[0].trainable = False
    with pytest.raises(ValueError, match="is not trainable"):
        evolution(layers=sparse(model)).start(model)
    gated = keras.Sequential(
        [
            keras.Input((8,)),
            layers.BlockSparseDense(8, block_size=4, gate="mask"),
        ]
    )
    gated.compile("adam", "mse")
    with pytest.raises(ValueError, match="one with a gate"):
        evolution().start(gated)


def test_refuses_layers_that_the_model_does_not_call():
    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.used, self.unused = (
                layers.BlockSparseDense(3, block_size=4, sparsity=0.5, seed=0)
                for _ in range(2)
            )
            self.unused.build((None, 24))

        def call(self, x):
            return self.used(x)

    model = Model()
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="got no pass through it"):
        fit(model, rigl())


@BOTH
def test_an_end_that_is_over_is_told(regrowth):
    model = make()
    model.optimizer.iterations.assign(12)
    with pytest.warns(UserWarning, match="end_step is 9, .* done 12 steps"):
        fit(model, regrowth(end_step=9))


@BOTH
def test_an_end_that_was_reached_is_not_told(regrowth, recwarn):
    model = make()
    callback = regrowth(end_step=3, frequency=1)
    fit(model, callback)
    fit(model, callback)
    assert not [w for w in recwarn if "no block will move" in str(w.message)]
