# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Tables of what was timed, and where sparse and dense take as long."""

from collections.abc import Iterable, Sequence
from typing import Any

import table
from pictures.sparsity import crossover

Line = dict[str, Any]


def speed_up(line: Line) -> float | None:
    """How many times as fast as dense; None without a dense time."""
    if not line.get("dense_seconds"):
        return None
    return float(line["dense_seconds"] / line["seconds"])


def rate(line: Line) -> float:
    """TFLOP/s of the blocks that exist."""
    return float(line["flops"] / line["seconds"] / 1e12)


def of_copy(line: Line, bandwidth: float) -> float:
    """Share of the copy bandwidth, operands and results moved once."""
    return float(line["bytes"] / line["seconds"] / bandwidth)


def of_dense(line: Line) -> float | None:
    """Share of the dense product's rate."""
    if not line.get("dense_seconds"):
        return None
    return rate(line) / (line["dense_flops"] / line["dense_seconds"] / 1e12)


def crossing(lines: Sequence[Line]) -> str:
    """The density at which a curve takes as long as dense.

    >>> line = {"density": 0.5, "seconds": 2.0, "dense_seconds": 1.0}
    >>> crossing([line, {**line, "density": 0.25, "seconds": 0.5}])
    '0.417'
    >>> crossing([line])
    'below 0.5'
    """
    points = sorted(
        (1 - line["density"], speed_up(line) or 0.0) for line in lines
    )
    if not points or not all(faster for _, faster in points):
        return "-"
    if points[0][1] >= 1:
        return f"above {1 - points[0][0]:.3g}"
    found = crossover(points)
    if found is None:
        return f"below {1 - points[-1][0]:.3g}"
    return f"{1 - found:.3g}"


def crossings(lines: Iterable[Line]) -> str:
    """A table: the crossover for each block size."""
    curves = _curves(lines)
    sizes = sorted({key[3] for key in curves})
    rows = []
    for head in dict.fromkeys(key[:3] for key in curves):
        cells = [crossing(curves.get((*head, size), [])) for size in sizes]
        rows.append([*map(str, head), *cells])
    titles = ["rows", "product", "type", *(f"block {size}" for size in sizes)]
    return table.table(titles, rows, texts=3)


def rates(lines: Iterable[Line], bandwidth: float) -> str:
    """A table: a row for each curve, its densities side by side."""
    curves = _curves(lines)
    densities = sorted(
        {line["density"] for each in curves.values() for line in each}
    )
    rows = []
    for (number, product, dtype, size), each in curves.items():
        found = {line["density"]: line for line in each}
        cells = [
            _cell(found[density], bandwidth) if density in found else "-"
            for density in densities
        ]
        rows.append([str(number), product, dtype, str(size), *cells])
    titles = ["rows", "product", "type", "block"]
    titles += [f"density {density:g}" for density in densities]
    return table.table(titles, rows, texts=4)


def _cell(line: Line, bandwidth: float) -> str:
    parts = [f"{rate(line):.3g}", f"{of_copy(line, bandwidth):.0%}"]
    share, faster = of_dense(line), speed_up(line)
    if share is not None and faster is not None:
        parts += [f"{share:.0%}", f"{faster:.3g}"]
    return " / ".join(parts)


def _curves(
    lines: Iterable[Line],
) -> dict[tuple[int, str, str, int], list[Line]]:
    found: dict[tuple[int, str, str, int], list[Line]] = {}
    for line in lines:
        key = (
            line["rows"],
            line["product"],
            line["dtype"],
            line["block_size"],
        )
        found.setdefault(key, []).append(line)
    return found
