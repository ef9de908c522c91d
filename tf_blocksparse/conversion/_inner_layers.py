# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The layers that a layer holds, and the names of its variables."""

from collections.abc import Iterator
from typing import Any

import keras

from tf_blocksparse.layers._forget_layer import forget_layer

# How to reach something in a layer: its attribute, then indices and keys.
Place = tuple[Any, ...]

# What every layer has: Keras's own lists of the same layers among it.
_OF_EVERY_LAYER = frozenset(vars(keras.layers.Layer(name="layer")))


def is_graph(layer: Any) -> bool:
    """Whether a layer is a functional model."""
    return isinstance(layer, keras.Model) and isinstance(layer, keras.Function)


def inner_layers(layer: Any) -> list[tuple[Place, Any]]:
    """The layers in attributes of a layer, or of lists and dicts there.

    Those of a functional or sequential model have places that start with
    `layers`. A layer with two places is there twice.
    """
    found: list[tuple[Place, Any]] = []
    if is_graph(layer) or isinstance(layer, keras.Sequential):
        found += [(("layers", i), each) for i, each in enumerate(layer.layers)]
        known = {id(each) for each in layer.layers}
    else:
        known = set()
    for name, value in list(vars(layer).items()):
        # TensorFlow, too, has a list of them, for checkpoints.
        if name in _OF_EVERY_LAYER or name.startswith("_self_"):
            continue
        for place, each in _layers_in(value):
            # Sequential models hold a functional one of the same layers.
            graph = known and name.startswith("_")
            if id(each) not in known and not graph:
                found.append(((name, *place), each))
    return found


def _layers_in(value: Any) -> Iterator[tuple[Place, Any]]:
    if isinstance(value, keras.layers.Layer):
        yield (), value
    elif isinstance(value, (list, tuple)):
        for index, each in enumerate(value):
            for place, layer in _layers_in(each):
                yield (index, *place), layer
    elif isinstance(value, dict):
        for key, each in value.items():
            for place, layer in _layers_in(each):
                yield (key, *place), layer


def layer_at(layer: Any, place: Place) -> Any:
    """The layer at a place; None if there is none."""
    name, *rest = place
    value: Any = getattr(layer, name, None)
    for key in rest:
        try:
            value = value[key]
        except (IndexError, KeyError, TypeError):
            return None
    return value if isinstance(value, keras.layers.Layer) else None


def put_layers(layer: Any, layers: list[tuple[Place, Any]]) -> None:
    """Puts layers at places of a layer that is not built yet.

    They are given in the order in which the layer shall count them.
    """
    for place, _ in layers:
        forget_layer(layer, layer_at(layer, place))
    values: dict[str, Any] = {}
    for (name, *rest), each in layers:
        value = values.get(name, getattr(layer, name))
        values[name] = _with(value, rest, each)
    # Only now: what is set is counted.
    for name, value in values.items():
        setattr(layer, name, value)


def _with(value: Any, place: list[Any], layer: Any) -> Any:
    """`value` with the layer at the place; lists and dicts are copies."""
    if not place:
        return layer
    key, *rest = place
    if isinstance(value, dict):
        return {**value, key: _with(value[key], rest, layer)}
    items = list(value)
    items[key] = _with(items[key], rest, layer)
    if not isinstance(value, tuple):
        return items
    named = hasattr(value, "_fields")
    return type(value)(*items) if named else tuple(items)


def own_variables(layer: Any) -> list[Any]:
    """The variables of a layer without those of its inner layers.

    Weights in the order in which they were made, then the states of its
    generators of random numbers.
    """
    inner = {
        id(variable)
        for _, each in inner_layers(layer)
        for variable in each.variables
    }
    return [each for each in layer.variables if id(each) not in inner]


def named_variables(layer: Any) -> dict[str, Any]:
    """All variables of a layer by name; inner ones as `"query/blocks"`.

    Before the slash is the inner layer's name.
    """
    named: dict[str, Any] = {}
    for variable in own_variables(layer):
        named[_free(variable.name, named)] = variable
    seen = set()
    for _, inner in inner_layers(layer):
        if id(inner) not in seen:
            seen.add(id(inner))
            for name, variable in named_variables(inner).items():
                named[_free(f"{inner.name}/{name}", named)] = variable
    return named


def _free(name: str, taken: dict[str, Any]) -> str:
    """`name`, or the first of `name_1`, `name_2` ... that is not taken."""
    count = 0
    free = name
    while free in taken:
        count += 1
        free = f"{name}_{count}"
    return free
