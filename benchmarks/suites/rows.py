# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Time over the number of rows: no row more should cost much more time.

All numbers of rows up to 66, then the ends of tiles, are timed in turns.
"""

import collections
import dataclasses
import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import grids
import table
from case import Case
from settings import Settings
from task import Task, threads_title

TITLE = "Rows"
METRIC = "sparse_ms"
BASELINE = None

_ENDS = (80, 96, 112, 128, 160, 192, 256, 320, 384, 512, 768, 1024)
_ROWS = (
    *range(1, 67),
    *(end + more for end in _ENDS for more in (-1, 0, 1)),
)
_BLOCK_SIZES = (8, 16, 32)
_PRODUCTS = ("forward", "dx")
# As the dense product takes long, it is timed at these only.
_DENSE_ROWS = (*range(1, 9), 16, 24, 32, 48, 64, 96, 128, 256, 512)
# A call of one product comes between those of a hundred others, which leave
# the caches as the layers of a model do.
_CALL_SECONDS, _FEWEST = 5e-3, 2
# Where it becomes dearer to take a row less than a tile.
_BORDER = 64


def plan(settings: Settings) -> list[Task]:
    """A process for each number of threads."""
    cases = grids.combinations(
        [
            (rows, settings.features, settings.features)
            for rows in settings.rows or _ROWS
        ],
        settings.products or _PRODUCTS,
        settings.block_sizes or _BLOCK_SIZES,
        (settings.sparsities or (0.9,))[:1],
    )
    return [
        Task(
            suite="rows",
            title=f"rows, {threads_title(threads)}",
            threads=threads,
            work=[dataclasses.asdict(case) for case in cases],
            steps=len(cases) + len(_sweeps(cases)) * settings.rounds,
            seconds=_seconds(cases, settings, threads),
            rounds=settings.rounds,
            seed=settings.seed,
        )
        for threads in settings.threads
    ]


def _sweeps(cases: Sequence[Case]) -> list[list[Case]]:
    """The cases that differ in nothing but rows."""
    found: dict[tuple[str, int], list[Case]] = {}
    for case in cases:
        found.setdefault((case.product, case.block_size), []).append(case)
    return list(found.values())


def _seconds(cases: Sequence[Case], settings: Settings, threads: int) -> float:
    per_second = 0.6e9 * threads * settings.peak_gflops
    sparse = dense = 0.0
    for case in cases:
        single = case.dense_flops / per_second
        useful = _FEWEST * single * (1 - case.sparsity)
        sparse += max(1.5 * _CALL_SECONDS, useful)
    for case in _sweeps(cases)[0]:
        if case.rows in _DENSE_ROWS:
            read = 24.0 * case.inputs * case.outputs / per_second
            dense += _FEWEST * max(read, case.dense_flops / per_second)
    products = len({case.product for case in cases})
    return 5 + 0.1 * len(cases) + settings.rounds * (sparse + products * dense)


def measure(task: Task, progress: Callable[[], None]) -> list[dict[str, Any]]:
    """A line for each number of rows, product and block size."""
    import turns

    turns.use_threads(task.threads)
    lines = []
    products: set[str] = set()
    for sweep in _sweeps([Case(**each) for each in task.work]):
        with_dense = sweep[0].product not in products
        products.add(sweep[0].product)
        lines += _measure_sweep(sweep, with_dense, task, progress)
    return lines


def _measure_sweep(
    cases: Sequence[Case],
    with_dense: bool,
    task: Task,
    progress: Callable[[], None],
) -> list[dict[str, Any]]:
    import check
    import layouts
    import numpy as np
    import tensorflow as tf
    import timing
    import turns

    first = cases[0]
    rng = np.random.default_rng(task.seed)
    layout = layouts.of(first, task.seed)
    blocks = tf.Variable(timing.normal(rng, "float32", *layout.blocks_shape))
    w = tf.Variable(timing.normal(rng, "float32", *layout.shape))
    sparse = timing.sparse(first.product, blocks, layout)
    dense = timing.dense(first.product, w)
    oracle = check.Oracle(first.product, blocks, layout)
    sparse_turns, dense_turns = [], {}
    for case in cases:
        inputs = timing.Inputs(case, task.seed)
        turn = turns.in_graph(sparse, inputs, _CALL_SECONDS, _FEWEST)
        oracle.check(turn.call()[-1], inputs(turn.count - 1))
        sparse_turns.append(turn)
        if with_dense and case.rows in _DENSE_ROWS:
            dense_turns[case.rows] = turns.in_graph(dense, inputs, 0, _FEWEST)
        progress()
    times = turns.take(
        [*sparse_turns, *dense_turns.values()], task.rounds, between=progress
    )
    ms = [1e3 * statistics.median(each) for each in times]
    dense_ms = dict(zip(dense_turns, ms[len(cases) :], strict=True))
    lines = []
    for case, sparse_ms in zip(cases, ms, strict=False):
        line = {
            "case": dataclasses.asdict(case),
            "threads": task.threads,
            "sparse_ms": sparse_ms,
        }
        if case.rows in dense_ms:
            line["dense_ms"] = dense_ms[case.rows]
        lines.append(line)
    return lines


class Step(NamedTuple):
    """From a number of rows to one more."""

    ratio: float
    rows: int
    product: str
    block_size: int
    threads: int

    def __str__(self) -> str:
        return f"{self.ratio:.2f} ({self.rows} to {self.rows + 1})"


def markdown(lines: Sequence[dict[str, Any]], run: dict[str, Any]) -> str:
    """The dearest steps from a number of rows to the next."""
    steps = collections.defaultdict(list)
    for step in _steps(lines):
        steps[step.product, step.block_size, step.threads].append(step)
    case = lines[0]["case"]
    text = table.paragraph(
        f"{case['inputs']} x {case['outputs']}, {case['sparsity']:.0%} of the "
        "blocks left out: how many times as long a row more takes at most; "
        f"medians of {run['rounds']} rounds."
    )
    titles = [
        "product",
        "block",
        "threads",
        f"below {_BORDER} rows",
        f"from {_BORDER} rows on",
    ]
    rows = [
        [
            product,
            str(block_size),
            str(threads),
            _dearest(step for step in found if step.rows < _BORDER),
            _dearest(step for step in found if step.rows >= _BORDER),
        ]
        for (product, block_size, threads), found in steps.items()
    ]
    return f"{text}\n\n{table.table(titles, rows, texts=1)}"


def _steps(lines: Sequence[dict[str, Any]]) -> Iterator[Step]:
    ms = {}
    for line in lines:
        case = line["case"]
        key = (case["product"], case["block_size"], line["threads"])
        ms[case["rows"], key] = line["sparse_ms"]
    for (rows, key), before in ms.items():
        if (rows + 1, key) in ms:
            yield Step(ms[rows + 1, key] / before, rows, *key)


def _dearest(steps: Iterator[Step]) -> str:
    return str(max(steps, default="-"))
