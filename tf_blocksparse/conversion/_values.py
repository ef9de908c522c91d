# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The values of a new model's variables, and where they come from."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import keras
import numpy as np

from tf_blocksparse.conversion._inner_layers import (
    inner_layers,
    named_variables,
    own_variables,
)

_ArrayMap = Callable[[Any], Any]


@dataclass(frozen=True)
class Replacement:
    """A new layer for an old one; see `_rebuild`."""

    layer: Any
    values: Mapping[str, Any] = field(default_factory=dict)
    slot_maps: Mapping[str, tuple[str, _ArrayMap]] = field(default_factory=dict)


class Source(NamedTuple):
    """Where the value of a new variable comes from."""

    new: Any
    old: Any
    change: _ArrayMap | None  # None: nothing was changed


def copy_values(
    model: Any,
    new_of: Callable[[Any], Any],
    replacement_of: Callable[[Any], Replacement | None],
) -> list[Source]:
    """Gives all new layers their values and `trainable`.

    Raises:
      ValueError: if a variable of the old model has no counterpart.
    """
    sources: list[Source] = []
    seen: set[int] = set()  # ids of layers
    told: dict[int, str] = {}  # names of layers, by the ids of variables

    def visit(old: Any) -> None:
        if id(old) in seen:
            return
        seen.add(id(old))
        new, replacement = new_of(old), replacement_of(old)
        # From the outside in, since it changes all layers inside.
        if new.trainable != old.trainable:
            new.trainable = old.trainable
        if replacement is not None:
            sources.extend(_fill(old, new, replacement))
            told.update((id(each), old.name) for each in old.variables)
            return
        for each in own_variables(old):
            if id(each) in told:
                raise ValueError(
                    f"layer {old.name}: got the variable {each.path}, which "
                    f"layer {told[id(each)]} has, too, expected each in one "
                    "layer; share a layer instead of a variable"
                )
            told[id(each)] = old.name
        sources.extend(_copy(old, new))
        for _, each in inner_layers(old):
            visit(each)

    visit(model)
    missing = [each.path for each in model.variables if id(each) not in told]
    if missing:
        raise ValueError(
            f"model {model.name}: got the variables {missing}, to which no "
            "attribute of a layer leads, expected all in layers of the model; "
            "make their layers attributes"
        )
    for source in sources:
        if source.new.trainable != source.old.trainable:
            source.new.trainable = source.old.trainable
    return sources


def _fill(old: Any, new: Any, replacement: Replacement) -> list[Source]:
    """The values of a layer that replaces another one."""
    before, after = named_variables(old), named_variables(new)
    unknown = {*replacement.values, *replacement.slot_maps} - set(after)
    if unknown:
        raise ValueError(
            f"layer {old.name}: got values for {sorted(unknown)}, expected "
            f"names of {sorted(after)}; take those of named_variables"
        )
    sources = []
    for name, variable in after.items():
        same = before.get(name)
        if name in replacement.values:
            variable.assign(replacement.values[name])
        elif same is not None and same.shape == variable.shape:
            variable.assign(same.value)
            if name not in replacement.slot_maps:
                sources.append(Source(variable, same, None))
        if name in replacement.slot_maps:
            origin, change = replacement.slot_maps[name]
            sources.append(Source(variable, before[origin], change))
    return sources


def _copy(old: Any, new: Any) -> list[Source]:
    """The values of a layer that is a copy of another one."""
    before, after = own_variables(old), own_variables(new)
    if _names(before) != _names(after) and _same_names(before, after):
        # What was made later, as by quantizing, comes first in a new layer.
        by_name = {each.name: each for each in after}
        after = [by_name[each.name] for each in before]
    if [each.shape for each in before] != [each.shape for each in after]:
        raise ValueError(
            f"layer {old.name}: got {_listed(after)} after it was made from "
            f"the config of the old {type(old).__name__}, expected "
            f"{_listed(before)}; complete its get_config"
        )
    _copy_what_is_no_variable(old, new)
    for source, target in zip(before, after, strict=True):
        target.assign(source.value)
    return [
        Source(target, source, None)
        for source, target in zip(before, after, strict=True)
    ]


def _names(variables: list[Any]) -> list[str]:
    return [each.name for each in variables]


def _same_names(before: list[Any], after: list[Any]) -> bool:
    """Whether both lists have the same names, each once."""
    names = set(_names(before))
    return names == set(_names(after)) and len(names) == len(before)


def _copy_what_is_no_variable(old: Any, new: Any) -> None:
    """What a layer computes from its file: vocabularies, adapted means."""
    if (
        type(old).load_own_variables
        is not keras.layers.Layer.load_own_variables
    ):
        store: dict[str, Any] = {}
        old.save_own_variables(store)
        new.load_own_variables(
            {
                name: np.asarray(keras.ops.convert_to_tensor(value))
                for name, value in store.items()
            }
        )
    if hasattr(old, "save_assets") and hasattr(new, "load_assets"):
        with tempfile.TemporaryDirectory() as folder:
            old.save_assets(folder)
            new.load_assets(folder)


def _listed(variables: list[Any]) -> str:
    return str([f"{each.name} {tuple(each.shape)}" for each in variables])
