# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The slots of Keras's optimizers, found by watching a twin."""

import keras
import numpy as np
import pytest

from tf_blocksparse import _optimizer_slots

OPTIMIZERS = {
    "sgd": (keras.optimizers.SGD(), []),
    "momentum": (keras.optimizers.SGD(momentum=0.9), [("momentum", 0.0)]),
    "adam": (
        keras.optimizers.Adam(),
        [("momentum", 0.0), ("velocity", 0.0)],
    ),
    "adagrad": (
        keras.optimizers.Adagrad(initial_accumulator_value=0.25),
        [("accumulator", 0.25)],
    ),
    "ftrl": (
        keras.optimizers.Ftrl(initial_accumulator_value=0.5),
        [("accumulator", 0.5), ("linear", 0.0)],
    ),
    "average": (keras.optimizers.SGD(use_ema=True), [("average", 0.0)]),
    "accumulation": (
        keras.optimizers.SGD(gradient_accumulation_steps=2),
        [("gradient_accumulator", 0.0)],
    ),
    "scaled": (
        keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(momentum=0.5)),
        [("momentum", 0.0)],
    ),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_slots_are_found_with_their_first_values(name):
    optimizer, expected = OPTIMIZERS[name]
    variables = [
        keras.Variable(np.ones((3, 2, 2), "float32"), name=name)
        for name in ("a", "b")
    ]
    optimizer.build(variables)
    found = _optimizer_slots.slots(optimizer, variables)
    for variable, slots in zip(variables, found, strict=True):
        assert [(slot.name, slot.initial) for slot in slots] == expected
        for slot in slots:
            assert slot.is_like_variable
            assert np.all(np.asarray(slot.variable) == slot.initial)
            assert slot.variable.path.split("/")[-1].startswith(variable.name)


def test_an_optimizer_of_other_variables_is_refused():
    one, two = (keras.Variable(np.ones(3), name=name) for name in "ab")
    optimizer = keras.optimizers.Adam()
    optimizer.build([one])
    with pytest.raises(ValueError, match="not built for the variable b"):
        _optimizer_slots.slots(optimizer, [two])
