# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Which layers of a model can be replaced, and why others cannot."""

from collections.abc import Callable
from typing import Any, NamedTuple

import keras

from tf_blocksparse.conversion import _inner_layers
from tf_blocksparse.conversion._config_copy import config_copy


class Found(NamedTuple):
    """A layer of a model."""

    layer: Any
    path: str  # names from the model's layers down, such as "block/dense"
    obstacle: str | None  # why the layer cannot be replaced; None if it can


def replaceable(
    model: Any, is_whole: Callable[[Any], bool] = lambda layer: False
) -> list[Found]:
    """All layers of a model that hold no others, each once, in order.

    Args:
      model: a built model, or a layer.
      is_whole: whether a layer that holds others is replaced as a whole.
        It then is a part of the list, and those that it holds are not.
    """
    found: list[Found] = []
    seen: set[int] = set()

    def visit(layer: Any, path: str, obstacle: str | None) -> None:
        if id(layer) in seen:
            return
        seen.add(id(layer))
        inner = _inner_layers.inner_layers(layer)
        if is_whole(layer) or not inner:
            if not isinstance(layer, keras.layers.InputLayer):
                found.append(Found(layer, path, obstacle))
            return
        fresh = None
        graph = _inner_layers.is_graph(layer) or isinstance(
            layer, keras.Sequential
        )
        if not graph and obstacle is None:
            fresh = config_copy(layer)
        for place, each in inner:
            below = obstacle
            if fresh is not None:
                below = _obstacle(layer, fresh, place)
            visit(each, f"{path}/{each.name}" if path else each.name, below)

    start = "" if isinstance(model, keras.Model) else model.name
    visit(model, start, None)
    return found


def _obstacle(layer: Any, fresh: Any, place: _inner_layers.Place) -> str | None:
    if isinstance(layer, keras.layers.SpectralNormalization):
        return "SpectralNormalization changes its kernel"
    if fresh.built and any(each.built for each in _parts(fresh)):
        return f"{type(layer).__name__} builds it in __init__"
    if _inner_layers.layer_at(fresh, place) is None:
        return f"{type(layer).__name__} makes it in build"
    return None


def _parts(layer: Any) -> list[Any]:
    return [each for _, each in _inner_layers.inner_layers(layer)]
