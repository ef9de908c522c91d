# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What was found: in words, and in tables of what was timed."""

from collections.abc import Iterable, Sequence
from typing import Any

import table
from pictures.sparsity import crossover

Line = dict[str, Any]


def told(found: dict[str, Any]) -> str:
    """All of it, in Markdown."""
    gpu, checked, ops = found["gpu"], found["correctness"], found["ops"]
    bandwidth = found["bandwidth"]
    copies = f"copies at {bandwidth / 1e9:.0f} GB/s; " if bandwidth else ""
    parts = [
        f"## {gpu['name']}",
        f"Compute capability {gpu['capability'] / 10:.1f}, "
        f"{gpu['multiprocessors']:.0f} multiprocessors; driver for CUDA "
        f"{_version(gpu['driver'])}, toolkit {_version(gpu['runtime'])}; "
        f"revision {found['machine']['revision']}; {copies}"
        f"seed {found['seed']}; {found['seconds']:.0f} seconds.",
        f"{checked['kernels']} kernels on {checked['cases']} cases, "
        f"{len(checked['failures'])} of them wrong.",
    ]
    if checked["left_out"]:
        parts.append(
            f"No time was left for {checked['left_out']} more cases; --minutes "
            "gives more."
        )
    if "skipped" in ops:
        parts.append(f"No ops were run: {ops['skipped']}.")
    else:
        parts.append(
            f"{ops['results']} results of ops, {len(ops['failures'])} wrong."
        )
    for suite, dense in (("gpu", "dense"), ("gpu_conv", "dense_conv")):
        lines = found["suites"][suite]["lines"]
        if lines:
            parts += _times(found, lines, found[dense], found[f"no_{dense}"])
    if found["left_out"]:
        parts.append(
            f"No time was left for {len(found['left_out'])} more rows of these "
            "tables, which the JSON file names; --minutes gives more."
        )
    parts += [f"WRONG: {failure}" for failure in found["failures"]]
    # Tables have lines of their own.
    return "\n\n".join(
        part if part.startswith(("|", "WRONG")) else table.paragraph(part)
        for part in parts
    )


def _times(
    found: dict[str, Any], lines: list[Line], dense: str, no_dense: str
) -> list[str]:
    features, side = lines[0]["features"], lines[0]["side"]
    what = f"Products, weights of {features} x {features}"
    if side:
        what = (
            f"Convolutions of 3 x 3 pixels, images of {side} x {side} pixels, "
            f"{features} channels in and out; rows are images"
        )
    compared = ""
    parts = [f"{what}."]
    if no_dense:
        parts.append(f"There is no dense one beside: {no_dense}.")
    else:
        parts.append(
            f"Density at which sparse and dense ({dense}) take as long:"
        )
        parts.append(crossings(lines))
        compared = " / share of the dense rate / times as fast as dense"
    parts.append(f"TFLOP/s / share of the copy bandwidth{compared}:")
    parts.append(rates(lines, found["bandwidth"]))
    return parts


def _version(number: float) -> str:
    return f"{number // 1000:.0f}.{number % 1000 // 10:.0f}"


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
