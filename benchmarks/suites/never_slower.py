# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Random cases: no layer should be slower sparse than dense.

Sizes, sparsities, products and layouts are drawn anew for each run, so that no
kernel is fast on a list of cases only.
"""

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import grids
import random_cases
import table
from case import LAYOUTS, PRODUCTS, Case, Measured
from settings import Settings
from task import Task

TITLE = "Never slower"
METRIC = "sparse_ms"
BASELINE = "dense_ms"

_FEWEST_FEATURES = 1024
_MOST_ROWS = 4096
_SIZES = (8, 16, 32, 64, 128)


def plan(settings: Settings) -> list[Task]:
    """The same cases for each number of threads."""
    return random_cases.plan(
        "never_slower", draw(settings), grids.seconds, settings
    )


def draw(settings: Settings) -> list[Case]:
    """Random cases, the same for the same seed."""
    rng = random.Random(settings.seed)
    most = max(settings.features, 16)
    found = []
    for _ in range(settings.cases):
        size = random_cases.block_size(rng, settings, _SIZES)

        def side(size: int = size) -> int:
            number = rng.randint(min(_FEWEST_FEATURES, most // 2), most)
            whole = max(number // size, 1) * size
            return whole if rng.random() < 0.5 else number

        inputs, outputs = side(), side()
        sparsity = random_cases.sparsity(rng, settings)
        rows = round(math.exp(rng.uniform(0, math.log(_MOST_ROWS))))
        if settings.rows:
            rows = rng.choice(settings.rows)
        found.append(
            Case(
                rows=rows,
                inputs=inputs,
                outputs=outputs,
                product=rng.choice(settings.products or PRODUCTS),
                block_size=size,
                sparsity=sparsity,
                layout=rng.choice(LAYOUTS),
            )
        )
        found[-1].check()
    return found


def measure(task: Task, progress: Callable[[], None]) -> list[dict[str, Any]]:
    """A line for each case."""
    import timing

    cases = [Case(**each) for each in task.work]
    return random_cases.measure(task, cases, timing.measure, progress)


def markdown(lines: Sequence[dict[str, Any]], run: dict[str, Any]) -> str:
    """How many are slower, and the worst of them."""
    measured = [Measured.of(line) for line in lines]
    text, worst = random_cases.summary(measured, "`tf.matmul`", run)
    titles = [
        "rows x inputs x outputs",
        "product",
        "layout",
        "block",
        "sparsity",
        "threads",
        "dense, ms",
        "sparse, ms",
        "speed-up",
    ]
    rows = [
        [
            table.size(each.case),
            each.case.product,
            each.case.layout.replace("_", "-"),
            str(each.case.block_size),
            # Groups of a diagonal are whole: not quite the drawn sparsity.
            f"{1 - each.useful_flops / each.case.dense_flops:.1%}",
            str(each.threads),
            f"{each.dense_ms:.3g}",
            f"{each.sparse_ms:.3g}",
            f"{each.speed_up:.2f}",
        ]
        for each in worst
    ]
    return f"{table.paragraph(text)}\n\n{table.table(titles, rows, texts=3)}"
