# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Random cases: no layer should be slower sparse than dense.

Sizes, sparsities, products and layouts are drawn anew for each run, so that no
kernel is fast on a list of cases only.
"""

import dataclasses
import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import grids
import table
from case import LAYOUTS, PRODUCTS, Case, Measured
from settings import Settings
from task import Task, threads_title

TITLE = "Never slower"
METRIC = "sparse_ms"
BASELINE = "dense_ms"

_FEWEST_FEATURES = 1024
_MOST_ROWS = 4096
_SIZES = (8, 16, 32, 64, 128)
# As much slower as noise may make a product that is as fast.
_ALLOWED = 1.1
_SHOWN = 10
# Of the rounds of a case; of large products there are fewer rounds.
_SECONDS = 2.5


def plan(settings: Settings) -> list[Task]:
    """The same cases for each number of threads."""
    cases = draw(settings)
    return [
        Task(
            suite="never_slower",
            title=f"never_slower, {threads_title(threads)}",
            threads=threads,
            work=[dataclasses.asdict(case) for case in cases],
            steps=len(cases),
            seconds=5
            + sum(
                grids.seconds(
                    [case],
                    settings.rounds,
                    threads * settings.peak_gflops,
                    _SECONDS,
                )
                for case in cases
            ),
            rounds=settings.rounds,
            seed=settings.seed,
        )
        for threads in settings.threads
    ]


def draw(settings: Settings) -> list[Case]:
    """Random cases, the same for the same seed."""
    rng = random.Random(settings.seed)
    block_sizes = settings.block_sizes
    most = max(settings.features, 16)
    found = []
    for _ in range(settings.cases):
        size = rng.choice(block_sizes or _SIZES)
        if not block_sizes and rng.random() < 0.25:
            size = rng.randint(min(_SIZES), max(_SIZES))

        def side(size: int = size) -> int:
            number = rng.randint(min(_FEWEST_FEATURES, most // 2), most)
            whole = max(number // size, 1) * size
            return whole if rng.random() < 0.5 else number

        inputs, outputs = side(), side()
        # A tenth each of the ends, where kernels have least to win.
        sparsity = min(max(rng.uniform(-0.125, 1.125), 0.0), 1.0)
        if settings.sparsities:
            sparsity = rng.choice(settings.sparsities)
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
                sparsity=round(sparsity, 3),
                layout=rng.choice(LAYOUTS),
            )
        )
        found[-1].check()
    return found


def measure(task: Task, progress: Callable[[], None]) -> list[dict[str, Any]]:
    """A line for each case."""
    import native
    import timing
    import turns

    turns.use_threads(task.threads)
    lines = []
    with native.fma_peak(task.programs["fma_peak"], task.threads) as peak:
        for number, each in enumerate(task.work):
            (measured,) = timing.measure(
                [Case(**each)],
                task.threads,
                task.rounds,
                task.seed + number,
                peak,
                lambda: None,
                _SECONDS,
            )
            lines.append(dataclasses.asdict(measured))
            progress()
    return lines


def markdown(lines: Sequence[dict[str, Any]], run: dict[str, Any]) -> str:
    """How many are slower, and the worst of them."""
    measured = sorted(
        (Measured.of(line) for line in lines), key=lambda each: each.speed_up
    )
    slower = sum(each.speed_up < 1 / _ALLOWED for each in measured)
    worst = measured[:_SHOWN]
    text = (
        f"{len(measured)} random cases (`--seed={run['seed']}` draws them "
        f"again): {slower} take more than {_ALLOWED - 1:.0%} longer than "
        f"`tf.matmul`. The worst {len(worst)}:"
    )
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
