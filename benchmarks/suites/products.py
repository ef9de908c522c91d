# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Every product against `tf.matmul`, and against the FMA peak.

Cases of one size, product and sparsity are timed in turns: dense, sparse,
sparse, ..., peak.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import grids
import table
from case import Case, Measured
from settings import Settings
from task import Task, threads_title

TITLE = "Products"
METRIC = "sparse_ms"
BASELINE = "dense_ms"


def plan(settings: Settings) -> list[Task]:
    """A process for each number of threads."""
    if settings.asks_for_products():
        cases = grids.combinations(
            settings.shapes or grids.MAIN_SHAPES[:1],
            **chosen(
                settings, "products", "block_sizes", "sparsities", "dtypes"
            ),
        )
    else:
        cases = grids.default()
    return [
        task("products", threads, cases, settings)
        for threads in settings.threads
    ]


def chosen(settings: Settings, *names: str) -> dict[str, Any]:
    """Those of the settings that a flag has set."""
    values = {name: getattr(settings, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def task(
    suite: str,
    threads: int,
    cases: Sequence[Case],
    settings: Settings,
    environment: dict[str, str] | None = None,
) -> Task:
    """A task that measures cases; for suites of which products are a part."""
    groups = grids.groups(cases)
    gflops = threads * settings.peak_gflops
    return Task(
        suite=suite,
        title=", ".join(
            [suite, *(environment or {}).values(), threads_title(threads)]
        ),
        threads=threads,
        work=[dataclasses.asdict(case) for case in cases],
        steps=len(groups) * settings.rounds,
        seconds=5
        + sum(grids.seconds(each, settings.rounds, gflops) for each in groups),
        rounds=settings.rounds,
        seed=settings.seed,
        environment=environment or {},
    )


def measure(task: Task, progress: Callable[[], None]) -> list[dict[str, Any]]:
    """A line for each case, in the order of the cases."""
    import native
    import timing
    import turns

    turns.use_threads(task.threads)
    cases = [Case(**each) for each in task.work]
    found: dict[Case, Measured] = {}
    with native.fma_peak(task.programs["fma_peak"], task.threads) as peak:
        for group in grids.groups(cases):
            for each in timing.measure(
                group, task.threads, task.rounds, task.seed, peak, progress
            ):
                found[each.case] = each
    return [dataclasses.asdict(found[case]) for case in cases]


def markdown(lines: Sequence[dict[str, Any]], run: dict[str, Any]) -> str:
    """The table of the README, and one of 16-bit types beside float32."""
    measured = [Measured.of(line) for line in lines]
    parts = [
        table.caption(run["machine"], table.peaks(measured), run["rounds"]),
        table.products(measured),
    ]
    halves = _beside_float32(measured)
    if halves:
        parts += [
            table.paragraph(
                "Sparse products of 16-bit types beside float32 of the same "
                "shape: how many times as long they take."
            ),
            halves,
        ]
    return "\n\n".join(parts)


def _beside_float32(measured: Sequence[Measured]) -> str:
    known = {(each.case, each.threads): each for each in measured}
    rows: dict[Case, dict[str, list[float]]] = {}
    for each in measured:
        single = dataclasses.replace(
            each.case, x_dtype="float32", blocks_dtype="float32"
        )
        other = known.get((single, each.threads))
        if other and single != each.case:
            dtypes = f"{each.case.x_dtype}:{each.case.blocks_dtype}"
            ratio = each.sparse_ms / other.sparse_ms
            row = rows.setdefault(single, {})
            row.setdefault(dtypes, []).append(ratio)
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    if not columns:
        return ""
    return table.table(
        [
            "rows x inputs x outputs",
            "product",
            "block",
            "sparsity",
            *(" x ".join(dict.fromkeys(c.split(":"))) for c in columns),
        ],
        [
            [
                table.size(case),
                case.product,
                str(case.block_size),
                f"{case.sparsity:.0%}",
                *(table.slashed(".2f", row.get(c, [])) for c in columns),
            ]
            for case, row in rows.items()
        ],
        texts=4,
    )
