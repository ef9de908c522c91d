# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What is timed, in which order, and as much of it as the time allows."""

import dataclasses
import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from progress import Progress

from gpu.finding import CannotCheckError

# Each in the order of importance: the first ones are timed first.
ROWS = (512, 64, 4096)
PRODUCTS = ("forward", "dx", "dw")
DTYPES = ("f16", "tf32", "bf16", "f32")
BLOCK_SIZES = (32, 64, 16, 128, 8)
DENSITIES = (0.05, 0.1, 0.25, 0.5)

# Asks for the time of something, by words.
Ask = Callable[..., dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Curve:
    """Products that differ in their density alone."""

    product: str
    dtype: str
    rows: int
    block_size: int

    @property
    def dense(self) -> tuple[str, str, int]:
        """What it is compared with; several curves share it."""
        return (self.product, self.dtype, self.rows)


def curves(
    rows: Sequence[int] = ROWS,
    products: Sequence[str] = PRODUCTS,
    dtypes: Sequence[str] = DTYPES,
    block_sizes: Sequence[int] = BLOCK_SIZES,
) -> list[Curve]:
    """All of them: for the first number of rows first."""
    return [
        Curve(product, dtype, number, block_size)
        for number, product, dtype, block_size in itertools.product(
            rows, products, dtypes, block_sizes
        )
    ]


@dataclasses.dataclass(frozen=True)
class Measured:
    """Lines of a table, what there was no time for, and what ended it."""

    lines: list[dict[str, Any]]
    left_out: list[Curve]
    ended: str = ""


def measure(
    wanted: Sequence[Curve],
    features: int,
    densities: Sequence[float],
    ask: Ask,
    has_dense: bool,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> Measured:
    """Times curve after curve until the time is up, never a part of one.

    Args:
      wanted: in the order of importance.
      features: inputs and outputs.
      densities: of each curve.
      ask: gets "sparse" or "dense" and the case.
      has_dense: whether there is anything dense to ask for.
      seconds: after which no curve is begun.
      clock: tells seconds.
    """
    end = clock() + seconds
    lines: list[dict[str, Any]] = []
    dense: dict[tuple[str, str, int], dict[str, Any]] = {}
    progress = Progress("timing", max(1, len(wanted)))
    for done, curve in enumerate(wanted):
        if clock() >= end:
            return Measured(lines, list(wanted[done:]))
        words = (curve.product, curve.dtype, curve.rows, features, features)
        try:
            if has_dense and curve.dense not in dense:
                dense[curve.dense] = ask("dense", *words)
            sparse = [
                ask("sparse", *words, curve.block_size, density)
                for density in densities
            ]
        except CannotCheckError as error:
            return Measured(lines, list(wanted[done:]), f"{curve}: {error}")
        beside = {
            f"dense_{name}": dense[curve.dense][name]
            for name in ("seconds", "flops", "error")
            if curve.dense in dense
        }
        for density, answer in zip(densities, sparse, strict=True):
            line = {"features": features, "density": density}
            line |= dataclasses.asdict(curve) | answer | beside
            lines.append(line)
        progress()
    return Measured(lines, [])


def errors(lines: Iterable[dict[str, Any]]) -> list[str]:
    """A line for each wrong result of what was timed."""
    found = []
    for line in lines:
        case = (
            f"{line['product']} {line['dtype']} {line['rows']} rows, block "
            f"{line['block_size']}, density {line['density']}"
        )
        if line["error"]:
            found.append(f"{case}, {line['kernel']}: {line['error']}")
        if line.get("dense_error"):
            found.append(f"{case}, the dense one: {line['dense_error']}")
    return found
