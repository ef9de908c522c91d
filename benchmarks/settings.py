# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What the flags ask for, checked before anything is measured."""

import dataclasses
import math
import platform
import re
import sys
from collections.abc import Sequence
from typing import TypeVar

from case import DTYPES, PRODUCTS

# Whether all taps of a convolution have one layout, or each its own.
TAPS = ("shared", "per_tap")

# The one below the best of this processor's family.
LOWER_INSTRUCTION_SET = "avx2" if platform.machine() == "x86_64" else "portable"

_Value = TypeVar("_Value")


@dataclasses.dataclass(frozen=True)
class Settings:
    """What to measure; None where each suite has values of its own.

    Attributes:
      peak_gflops: of one thread, from which durations are estimated.
      conv_shapes: files of convolutions.
      conv_cases: words of those to measure.
      conv_taps: of `TAPS`.
    """

    suites: tuple[str, ...]
    threads: tuple[int, ...]
    rounds: int
    seed: int
    shapes: tuple[tuple[int, int, int], ...] | None = None
    products: tuple[str, ...] | None = None
    block_sizes: tuple[int, ...] | None = None
    sparsities: tuple[float, ...] | None = None
    dtypes: tuple[str, ...] | None = None
    rows: tuple[int, ...] | None = None
    features: int = 4096
    batch: int = 128
    cases: int = 40
    megabytes: int = 512
    instruction_sets: tuple[str, ...] = (LOWER_INSTRUCTION_SET,)
    other_python: str = sys.executable
    peak_gflops: float = 100.0
    conv_shapes: tuple[str, ...] | None = None
    conv_cases: tuple[str, ...] | None = None
    conv_taps: tuple[str, ...] = ("shared",)

    def asks_for_products(self) -> bool:
        """Whether a flag names cases of its own for the suite of products."""
        return any(
            value is not None
            for value in (
                self.shapes,
                self.products,
                self.block_sizes,
                self.sparsities,
                self.dtypes,
            )
        )


def integers(
    flag: str,
    words: Sequence[str] | None,
    least: int,
    most: int | None = None,
) -> tuple[int, ...] | None:
    """The numbers of a flag; None if it is not set.

    Raises:
      ValueError: if one is no integer from `least` to `most`.
    """
    if words is None:
        return None
    text = f"integers from {least}" + (f" to {most}" if most else "")
    for word in words:
        number = int(word) if re.fullmatch(r"\d{1,9}", word) else -1
        if number < least or (most is not None and number > most):
            raise ValueError(_wrong(flag, word, text))
    return _some(flag, [int(word) for word in words], text)


def fractions(
    flag: str, words: Sequence[str] | None
) -> tuple[float, ...] | None:
    """The numbers from 0 to 1 of a flag; None if it is not set.

    Raises:
      ValueError: if one is no such number.
    """
    if words is None:
        return None
    text = "numbers from 0 to 1, as in 0.5,0.9"
    numbers = []
    for word in words:
        try:
            number = float(word)
        except ValueError:
            number = math.nan
        if not 0 <= number <= 1:
            raise ValueError(_wrong(flag, word, text))
        numbers.append(number)
    return _some(flag, numbers, text)


def names(
    flag: str, words: Sequence[str] | None, known: Sequence[str]
) -> tuple[str, ...] | None:
    """The names of a flag; None if it is not set.

    Raises:
      ValueError: if one is not known.
    """
    if words is None:
        return None
    text = ", ".join(known)
    for word in words:
        if word not in known:
            raise ValueError(_wrong(flag, word, text))
    return _some(flag, words, text)


def shapes(
    flag: str, words: Sequence[str] | None
) -> tuple[tuple[int, int, int], ...] | None:
    """The sizes ROWSxINPUTSxOUTPUTS of a flag; None if it is not set.

    Raises:
      ValueError: if one is not of this form.
    """
    if words is None:
        return None
    text = "sizes as in 64x4096x4096"
    found = []
    for word in words:
        match = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)x([1-9]\d*)", word)
        if match is None:
            raise ValueError(_wrong(flag, word, text))
        rows, inputs, outputs = map(int, match.groups())
        found.append((rows, inputs, outputs))
    return _some(flag, found, text)


def dtypes(flag: str, words: Sequence[str] | None) -> tuple[str, ...] | None:
    """The types of a flag, of x and blocks; None if it is not set.

    Raises:
      ValueError: if TensorFlow or the ops do not have one.
    """
    known = [*DTYPES, "float32:bfloat16", "float32:float16"]
    return names(flag, words, known)


def products(flag: str, words: Sequence[str] | None) -> tuple[str, ...] | None:
    """The products of a flag; None if it is not set.

    Raises:
      ValueError: if one is not known.
    """
    return names(flag, words, PRODUCTS)


def _some(
    flag: str, values: Sequence[_Value], expected: str
) -> tuple[_Value, ...]:
    if not values:
        raise ValueError(_wrong(flag, "nothing", expected))
    return tuple(dict.fromkeys(values))


def _wrong(flag: str, word: str, expected: str) -> str:
    return (
        f"--{flag}: got {word}, expected {expected}; --help tells what each "
        "flag means"
    )
