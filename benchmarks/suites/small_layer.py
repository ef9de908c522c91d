# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""A small layer with one row, where an op's own costs are all there is."""

from collections.abc import Callable, Sequence
from typing import Any

import grids
import table
from case import Case, Measured
from settings import Settings
from task import Task

from suites import products

TITLE = "Small layer"
METRIC = "sparse_ms"
BASELINE = "dense_ms"

_SHAPE = (1, 256, 256)
_BLOCK_SIZES = (8, 16, 32)
_SPARSITIES = (0.0, 0.5, 0.9)


def plan(settings: Settings) -> list[Task]:
    """A process for each number of threads."""
    cases = grids.combinations(
        [_SHAPE],
        ("forward",),
        settings.block_sizes or _BLOCK_SIZES,
        settings.sparsities or _SPARSITIES,
    )
    return [
        products.task("small_layer", threads, cases, settings)
        for threads in settings.threads
    ]


def measure(task: Task, progress: Callable[[], None]) -> list[dict[str, Any]]:
    """The lines of products."""
    return products.measure(task, progress)


def markdown(lines: Sequence[dict[str, Any]], run: dict[str, Any]) -> str:
    """A table of microseconds."""
    cases: dict[Case, list[Measured]] = {}
    for line in lines:
        each = Measured.of(line)
        cases.setdefault(each.case, []).append(each)
    rows = []
    for case, found in cases.items():
        more = [1e3 * (each.sparse_ms - each.dense_ms) for each in found]
        rows.append(
            [
                str(case.block_size),
                f"{case.sparsity:.0%}",
                table.slashed(".1f", [1e3 * each.dense_ms for each in found]),
                table.slashed(".1f", [1e3 * each.sparse_ms for each in found]),
                table.slashed("+.1f", more),
            ]
        )
    threads = table.threads(dict.fromkeys(line["threads"] for line in lines))
    text = table.paragraph(
        f"A product of {' x '.join(map(str, _SHAPE))} in a graph, {threads}; "
        f"medians of {run['rounds']} rounds."
    )
    titles = ["block", "sparsity", "dense, us", "sparse, us", "more, us"]
    return f"{text}\n\n{table.table(titles, rows, texts=0)}"
