# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What is timed, in which order, and as much of it as the time allows."""

import dataclasses
import itertools
import time
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

from progress import Progress

from gpu.finding import CannotCheckError

# Each in the order of importance: the first ones are timed first.
ROWS = (512, 64, 4096)
PRODUCTS = ("forward", "dx", "dw")
DTYPES = ("f16", "tf32", "bf16", "f32")
BLOCK_SIZES = (32, 64, 16, 128, 8)
DENSITIES = (0.05, 0.1, 0.25, 0.5)
# The sizes of what is dense: products, and convolutions.
DENSE, DENSE_CONV = "dense", "dense_conv"

# Asks for the time of something, by words.
Ask = Callable[..., dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Curve:
    """Products that differ in their density alone.

    Attributes:
      product: of PRODUCTS.
      dtype: of DTYPES.
      rows: or images, of a convolution of 3 x 3 pixels.
      features: inputs, and outputs.
      block_size: of the weight.
      side: of the images; 0 if there are none.
    """

    product: str
    dtype: str
    rows: int
    features: int
    block_size: int
    side: int = 0

    @property
    def dense(self) -> tuple[Any, ...]:
        """What it is compared with; several curves share it."""
        return (DENSE_CONV if self.side else DENSE, *self._sizes)

    def sparse(self, density: float) -> tuple[Any, ...]:
        """What is asked for."""
        kind = "conv" if self.side else "sparse"
        return (kind, *self._sizes, self.block_size, density)

    @property
    def _sizes(self) -> tuple[Any, ...]:
        side = (self.side,) if self.side else ()
        features = (self.features, self.features)
        return (self.product, self.dtype, self.rows, *side, *features)


def curves(
    rows: Sequence[int],
    features: int,
    side: int = 0,
    products: Sequence[str] = PRODUCTS,
    dtypes: Sequence[str] = DTYPES,
    block_sizes: Sequence[int] = BLOCK_SIZES,
) -> list[Curve]:
    """All of them: for the first number of rows, or images, first."""
    return [
        Curve(product, dtype, number, features, block_size, side)
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
    densities: Sequence[float],
    ask: Ask,
    has_dense: Container[str],
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> Measured:
    """Times curve after curve until the time is up, never a part of one.

    Args:
      wanted: in the order of importance.
      densities: of each curve.
      ask: gets the words of `Curve.sparse` and `Curve.dense`.
      has_dense: what there is to be asked for, of DENSE and DENSE_CONV.
      seconds: after which no curve is begun.
      clock: tells seconds.
    """
    end = clock() + seconds
    lines: list[dict[str, Any]] = []
    dense: dict[tuple[Any, ...], dict[str, Any]] = {}
    progress = Progress("timing", max(1, len(wanted)))
    for done, curve in enumerate(wanted):
        if clock() >= end:
            return Measured(lines, list(wanted[done:]))
        try:
            if curve.dense[0] in has_dense and curve.dense not in dense:
                dense[curve.dense] = ask(*curve.dense)
            sparse = [ask(*curve.sparse(density)) for density in densities]
        except CannotCheckError as error:
            return Measured(lines, list(wanted[done:]), f"{curve}: {error}")
        beside = {
            f"dense_{name}": dense[curve.dense][name]
            for name in ("seconds", "flops", "error")
            if curve.dense in dense
        }
        for density, answer in zip(densities, sparse, strict=True):
            line = {"density": density}
            line |= dataclasses.asdict(curve) | answer | beside
            lines.append(line)
        progress()
    return Measured(lines, [])


def errors(lines: Iterable[dict[str, Any]]) -> list[str]:
    """A line for each wrong result of what was timed."""
    found = []
    for line in lines:
        rows = f"{line['rows']} rows"
        if line["side"]:
            rows = f"{line['rows']} images of {line['side']} x {line['side']}"
        case = (
            f"{line['product']} {line['dtype']} {rows}, block "
            f"{line['block_size']}, density {line['density']}"
        )
        if line["error"]:
            found.append(f"{case}, {line['kernel']}: {line['error']}")
        if line.get("dense_error"):
            found.append(f"{case}, the dense one: {line['dense_error']}")
    return found
