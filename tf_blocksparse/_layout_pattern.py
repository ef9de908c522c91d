# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Layouts by a maker of masks: its name and its arguments, as JSON has them."""

import inspect
import numbers
from collections.abc import Callable, Mapping
from typing import Any

from tf_blocksparse import _arguments, patterns

# The functions of `patterns` that make one mask of a grid.
MAKERS = (
    "balanced_random",
    "banded",
    "barabasi_albert",
    "block_diagonal",
    "butterfly",
    "locally_connected",
    "pixelated_butterfly",
    "strided",
    "watts_strogatz",
    "watts_strogatz_2d",
)


def maker(pattern: object) -> tuple[str, Callable[..., patterns.Mask]]:
    """The name and the function that `pattern` is one of."""
    for name in MAKERS:
        function = getattr(patterns, name)
        # By identity: a function of that name elsewhere may be another one.
        if pattern is function or (
            isinstance(pattern, str) and pattern == name
        ):
            return name, function
    raise ValueError(
        f"pattern: got {_arguments.shown(pattern)}, expected a function of "
        f"`patterns` that makes one mask of a grid, or its name, one of "
        f"{', '.join(MAKERS)}; for a mask of your own, use BlockLayout(mask, "
        "block_size)"
    )


def arguments(
    name: str, function: Callable[..., Any], given: object
) -> dict[str, Any]:
    """All arguments but the grid, by name, defaults included."""
    signature = inspect.signature(function)
    known = list(signature.parameters)[1:]
    values = dict(given) if isinstance(given, Mapping) else None
    try:
        if values is None:
            raise TypeError("no names and values")
        # The first one is the grid.
        bound = signature.bind(None, **values)
    except TypeError as error:
        raise ValueError(
            f"arguments: got {_arguments.shown(given)} ({error}), expected "
            f"those of patterns.{name} without its grid, {', '.join(known)}; "
            "pass them by name"
        ) from error
    bound.apply_defaults()
    return {key: bound.arguments[key] for key in known}


def plain_dict(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that a maker has taken, as JSON has them."""
    return {name: _plain(value) for name, value in arguments.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    return value.tolist() if hasattr(value, "tolist") else value
