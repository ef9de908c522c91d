# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments of schedules."""

import math
import numbers
from typing import Any

from tf_blocksparse import _arguments


def check_steps(schedule: Any, *names: str) -> None:
    """Raises unless the attributes are steps, each after the one before."""
    low, advice = 0, "count in training steps from 0"
    for name in names:
        _arguments.integer(name, getattr(schedule, name), low, None, advice)
        low = getattr(schedule, name) + 1
        advice = f"it comes after {name}"


def check_frequency(frequency: object) -> None:
    """Raises unless it is a number of steps."""
    _arguments.integer(
        "frequency", frequency, 1, None, "100 prunes at each 100th step"
    )


def check_positive(name: str, value: object, or_zero: bool = False) -> None:
    """Raises unless `value` is a finite number above 0, or 0."""
    valid = isinstance(value, numbers.Real) and not isinstance(value, bool)
    number = float(value) if valid else math.nan  # type: ignore[arg-type]
    if not (0 < number < math.inf or (or_zero and number == 0)):
        raise ValueError(
            f"{name}: got {_arguments.shown(value)}, expected a finite number "
            f"{'>=' if or_zero else '>'} 0; give a positive one"
        )
