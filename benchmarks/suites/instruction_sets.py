# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The products with an older instruction set, against its own FMA peak.

TensorFlow's dense product is not held back: the speed-up is over the best that
it does on this machine.
"""

from collections.abc import Callable, Sequence
from typing import Any

import grids
import table
from case import Measured
from settings import Settings
from task import Task

from suites import products

TITLE = "Instruction sets"
METRIC = "sparse_ms"
BASELINE = "dense_ms"
_VARIABLE = "TF_BLOCKSPARSE_MAX_ISA"


def plan(settings: Settings) -> list[Task]:
    """A process for each instruction set and number of threads."""
    cases = grids.combinations(
        settings.shapes or grids.MAIN_SHAPES[:1],
        **products.chosen(settings, "products", "block_sizes", "sparsities"),
    )
    return [
        products.task(
            "instruction_sets", threads, cases, settings, {_VARIABLE: name}
        )
        for name in settings.instruction_sets
        for threads in settings.threads
    ]


def measure(task: Task, progress: Callable[[], None]) -> list[dict[str, Any]]:
    """The lines of products, each with the instruction set."""
    name = task.environment[_VARIABLE]
    return [
        {**line, "case": {**line["case"], "instruction_set": name}}
        for line in products.measure(task, progress)
    ]


def markdown(lines: Sequence[dict[str, Any]], run: dict[str, Any]) -> str:
    """A table for each instruction set."""
    found: dict[str, list[Measured]] = {}
    for line in lines:
        case = dict(line["case"])
        name = case.pop("instruction_set")
        measured = Measured.of({**line, "case": case})
        found.setdefault(name, []).append(measured)
    parts = []
    for name, measured in found.items():
        machine = {**run["machine"], "isa": f"{name} at most"}
        peaks = table.peaks(measured)
        parts += [
            table.caption(machine, peaks, run["rounds"]),
            table.products(measured),
        ]
    return "\n\n".join(parts)
