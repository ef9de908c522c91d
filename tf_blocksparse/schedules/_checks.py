# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments of schedules."""

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
    advice = "give a positive one"
    _arguments.real(name, value, advice, low=0, or_low=or_zero)
