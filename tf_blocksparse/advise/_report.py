# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What was measured, as text and as JSON."""

import dataclasses
import statistics
from collections.abc import Sequence
from typing import Any

from tf_blocksparse.advise import _search
from tf_blocksparse.advise._search import PRODUCTS, TOLD, Crossover, Point

# A bracket that is wider is shown instead of the number inside of it.
_SHOWN_AS_ONE = 0.05


def from_where(found: Crossover) -> str:
    """A crossover as a cell of the table."""
    percent = 100 * found.sparsity
    if found.kind == "always":
        return "always"
    if found.kind == "never":
        return f"never (to {percent:.3g} %)"
    if found.kind == "below" or found.between is None:
        return f"{percent:.3g} % or less"
    low, high = found.between
    if high - low > _SHOWN_AS_ONE:
        return f"{100 * low:.3g} to {100 * high:.3g} %"
    return f"{percent:.0f} %"


def nearest(points: Sequence[Point], sparsity: float = TOLD) -> Point:
    """The point whose sparsity is nearest."""
    return min(points, key=lambda point: abs(point.sparsity - sparsity))


def block_sizes(points: Sequence[Point]) -> list[int]:
    """Those that were measured, ascending."""
    return sorted({point.block_size for point in points})


def table(points: Sequence[Point]) -> str:
    """A line for each block size, and what follows from them."""
    rows = [["block size", *["faster from", "at 90 %"] * 2]]
    for size in block_sizes(points):
        row = [str(size)]
        for product in PRODUCTS:
            own = _search.of(points, size, product)
            point = nearest(own)
            cell = f"{point.speed_up:.2f}x"
            # Few blocks have few sparsities.
            if abs(point.sparsity - TOLD) > 0.005:
                cell += f" ({100 * point.sparsity:.0f} %)"
            row += [from_where(_search.crossover(own)), cell]
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    pairs = [widths[1] + 2 + widths[2], widths[3] + 2 + widths[4]]
    lines = [
        " " * widths[0]
        + "".join(
            f"  {product:^{width}}"
            for product, width in zip(PRODUCTS, pairs, strict=True)
        ).rstrip()
    ]
    for cells in rows:
        padded = map(str.rjust, cells, widths)
        lines.append("  ".join(padded))
    lines.insert(2, "-" * len(lines[1]))
    return "\n".join([*lines, "", _dense(points), *_best(points)])


def _dense(points: Sequence[Point]) -> str:
    medians = [
        statistics.median(p.dense_ms for p in points if p.product == product)
        for product in PRODUCTS
    ]
    return "dense: forward {:.3g} ms, training {:.3g} ms".format(*medians)


def _best(points: Sequence[Point]) -> list[str]:
    lines = []
    for product in PRODUCTS:
        best = max(
            (
                nearest(_search.of(points, size, product))
                for size in block_sizes(points)
            ),
            key=lambda point: point.speed_up,
        )
        lines.append(
            f"{product}: blocks of {best.block_size} are the fastest at "
            f"{100 * best.sparsity:.0f} %, with {best.sparse_ms:.3g} ms "
            f"({best.speed_up:.2f}x dense)"
        )
    return lines


def as_json(
    points: Sequence[Point], problem: Any, machine: dict[str, Any]
) -> dict[str, Any]:
    """All of it as what JSON can hold."""
    return {
        "machine": machine,
        "problem": dataclasses.asdict(problem),
        "crossovers": [
            {
                "block_size": size,
                "product": product,
                **dataclasses.asdict(
                    _search.crossover(_search.of(points, size, product))
                ),
            }
            for size in block_sizes(points)
            for product in PRODUCTS
        ],
        "points": [
            {**dataclasses.asdict(point), "speed_up": point.speed_up}
            for point in points
        ],
    }
