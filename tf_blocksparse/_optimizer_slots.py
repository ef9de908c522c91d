# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Which variables of an optimizer belong to which of a model."""

import contextlib
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import keras


class Slot(NamedTuple):
    """A variable that an optimizer keeps beside one of a model."""

    name: str  # as the optimizer calls it, such as "momentum"
    variable: Any
    is_like_variable: bool  # has a number for each number of the model's
    initial: float  # what a new one holds: not 0 in Adagrad and Ftrl


def config_of(optimizer: Any) -> dict[str, Any]:
    """An optimizer's config, in which the learning rate is to be replaced."""
    with warnings.catch_warnings():
        # Of functions as learning rates.
        warnings.filterwarnings("ignore", ".*serialized includes a `lambda`")
        config: dict[str, Any] = optimizer.get_config()
    return config


def innermost(optimizer: Any) -> Any:
    """The optimizer that has the slots: not one that only scales losses."""
    while hasattr(optimizer, "inner_optimizer"):
        optimizer = optimizer.inner_optimizer
    return optimizer


def parts(optimizer: Any) -> list[Any]:
    """The built optimizers that have the slots: all of a `MultiOptimizer`."""
    inner = innermost(optimizer)
    return [
        each for each in getattr(inner, "optimizers", [inner]) if each.built
    ]


def trained(optimizer: Any) -> list[Any]:
    """The variables that one of `parts` was built for, in their order.

    Not always those that the model trains now: layers may have been frozen
    since, and a loop may train them by several optimizers.
    """
    # Private: no public attribute or method tells.
    return list(optimizer._trainable_variables)


def slots(optimizer: Any, variables: Sequence[Any]) -> list[list[Slot]]:
    """The slots of each variable.

    Keras's optimizers do not tell them apart, so a small twin of the optimizer
    is built and watched while it makes its own.

    Args:
      optimizer: a Keras optimizer, built for `variables`.
      variables: all that the optimizer trains, in the order of `build`, as
        `model.trainable_variables` has them.

    Returns:
      For each variable a list of `Slot`, empty for an optimizer without.

    Raises:
      ValueError: if the optimizer was built for other variables.
    """
    optimizer = innermost(optimizer)
    own = optimizer.variables
    made = _watched_build(optimizer, variables)
    found: list[list[Slot]] = [[] for _ in variables]
    for position, index, name, initial in made:
        slot = own[position] if position < len(own) else None
        variable = variables[index]
        if slot is None or variable.path.replace("/", "_") not in slot.path:
            raise ValueError(
                f"optimizer: got {optimizer.name}, which was not built for the "
                f"variable {variable.path}, expected one that trains all "
                f"{len(variables)} variables in this order; build it with "
                "optimizer.build(model.trainable_variables)"
            )
        alike = tuple(slot.shape) == tuple(variable.shape)
        found[index].append(Slot(name, slot, alike, initial))
    return found


def _watched_build(
    optimizer: Any, variables: Sequence[Any]
) -> list[tuple[int, int, str, float]]:
    """(position in the optimizer, variable, name, first value) of each slot."""
    config = config_of(optimizer)
    # A function or a schedule is no variable, and a config cannot hold it.
    is_number = isinstance(optimizer.learning_rate, keras.Variable)
    config["learning_rate"] = 0.001 if is_number else lambda: 0.001
    twin = type(optimizer).from_config(config)
    small = [_small_twin(each) for each in variables]
    places = {id(each): index for index, each in enumerate(small)}
    made: list[tuple[int, int, str, float]] = []
    add = twin.add_variable_from_reference

    def watch(reference_variable: Any, name: Any = None, **rest: Any) -> Any:
        index = places[id(reference_variable)]
        position = len(twin.variables)
        slot = add(reference_variable, name=name, **rest)
        initial = float(keras.ops.max(slot))
        made.append((position, index, name or "var", initial))
        return slot

    twin.add_variable_from_reference = watch
    twin.build(small)
    return made


def _small_twin(variable: Any) -> Any:
    """A variable of one number with the rank, dtype and path of another.

    Optimizers choose their slots by these.
    """
    *scopes, name = variable.path.split("/")
    with contextlib.ExitStack() as stack:
        for scope in scopes:
            stack.enter_context(keras.name_scope(scope))
        ones = keras.ops.ones([1] * len(variable.shape), variable.dtype)
        return keras.Variable(ones, name=name)
