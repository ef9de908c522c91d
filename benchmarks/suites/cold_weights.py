# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Few rows over weights that no cache holds: how fast are they read?

Each call goes through many layers, as in a large model, whose weights together
are far larger than the caches. A reading loop over as many bytes tells what the
memory can do, in the same turns.
"""

import dataclasses
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import grids
import table
from case import Case
from settings import Settings
from task import Task, threads_title

TITLE = "Cold weights"
METRIC = "sparse_ms"
BASELINE = "dense_ms"

_ROWS = (1, 16)
_BLOCK_SIZES = (8, 16, 32)


def plan(settings: Settings) -> list[Task]:
    """A process for each number of threads."""
    features = settings.features
    cases = grids.combinations(
        [(rows, features, features) for rows in settings.rows or _ROWS],
        ("forward",),
        settings.block_sizes or _BLOCK_SIZES,
        (settings.sparsities or (0.9,))[:1],
        settings.dtypes or grids.MIXED_DTYPES,
    )
    groups = len(grids.groups(cases))
    # Reading it takes about 50 ms with a thread, drawing normal numbers longer.
    gigabytes = settings.megabytes / 1e3
    return [
        Task(
            suite="cold_weights",
            title=f"cold_weights, {threads_title(threads)}",
            threads=threads,
            work=[
                {**dataclasses.asdict(case), "megabytes": settings.megabytes}
                for case in cases
            ],
            steps=groups * settings.rounds,
            seconds=5
            + gigabytes * (5 * (groups + len(cases)))
            + gigabytes
            * settings.rounds
            * (2 * len(cases) + 10 * groups)
            * 0.15
            / threads,
            rounds=settings.rounds,
            seed=settings.seed,
        )
        for threads in settings.threads
    ]


def measure(task: Task, progress: Callable[[], None]) -> list[dict[str, Any]]:
    """A line for each case."""
    import native
    import turns

    turns.use_threads(task.threads)
    megabytes = task.work[0]["megabytes"]
    cases = [
        Case(**{k: v for k, v in each.items() if k != "megabytes"})
        for each in task.work
    ]
    path = task.programs["read_bandwidth"]
    lines = []
    with native.read_bandwidth(path, task.threads, megabytes) as memory:
        for group in grids.groups(cases):
            lines += _measure_group(group, megabytes, memory, task, progress)
    return lines


def _measure_group(
    cases: Sequence[Case],
    megabytes: int,
    memory: Any,
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
    inputs = timing.Inputs(first, task.seed)
    size = first.inputs * first.outputs * tf.as_dtype(first.x_dtype).size
    many = max(2, round(1e6 * megabytes / size))
    ws = [
        tf.Variable(_drawn(rng, first.x_dtype, first.inputs, first.outputs))
        for _ in range(many)
    ]
    contenders = [
        turns.through(
            [(timing.dense("forward", w), inputs(i)) for i, w in enumerate(ws)]
        )
    ]
    sizes = []
    for case in cases:
        layout = layouts.of(case, task.seed)
        size = layout.nnz * case.block_size**2
        size *= tf.as_dtype(case.blocks_dtype).size
        many = max(2, round(1e6 * megabytes / size))
        functions, kept = [], []
        for i in range(many):
            layout = layouts.of(case, task.seed + i)
            blocks = tf.Variable(
                _drawn(rng, case.blocks_dtype, *layout.blocks_shape)
            )
            kept.append((blocks, layout))
            sparse = timing.sparse("forward", blocks, layout)
            functions.append((sparse, inputs(i % 64)))
        turn = turns.through(functions)
        oracle = check.Oracle("forward", *kept[-1])
        oracle.check(turn.call()[-1], inputs((many - 1) % 64))
        contenders.append(turn)
        sizes.append(size)
    speeds: list[float] = []

    def between() -> None:
        speeds.append(memory.measure())
        progress()

    times = turns.take(contenders, task.rounds, between=between)
    dense_ms, *sparse_ms = (1e3 * statistics.median(each) for each in times)
    return [
        {
            "case": {**dataclasses.asdict(case), "megabytes": megabytes},
            "threads": task.threads,
            "dense_ms": dense_ms,
            "sparse_ms": ms,
            "blocks_bytes": size,
            "read_gb_per_s": statistics.median(speeds),
        }
        for case, ms, size in zip(cases, sparse_ms, sizes, strict=True)
    ]


def _drawn(rng: Any, dtype: str, *shape: int) -> Any:
    """Numbers that are quick to draw; there are hundreds of millions."""
    import numpy as np
    import tensorflow as tf

    return tf.cast(rng.random(shape, np.float32) - np.float32(0.5), dtype)


def markdown(lines: Sequence[dict[str, Any]], run: dict[str, Any]) -> str:
    """Speeds of reading blocks beside that of the memory."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        found.setdefault(str(line["case"]), []).append(line)
    rows = []
    for group in found.values():
        case = group[0]["case"]
        speeds = [
            line["blocks_bytes"] / line["sparse_ms"] / 1e6 for line in group
        ]
        memory = [line["read_gb_per_s"] for line in group]
        ratios = [line["dense_ms"] / line["sparse_ms"] for line in group]
        shares = [a / b for a, b in zip(speeds, memory, strict=True)]
        rows.append(
            [
                f"{case['rows']} x {case['inputs']} x {case['outputs']}",
                case["blocks_dtype"],
                str(case["block_size"]),
                f"{case['sparsity']:.0%}",
                table.slashed(".3g", [line["dense_ms"] for line in group]),
                table.slashed(".3g", [line["sparse_ms"] for line in group]),
                table.slashed(".3g", ratios),
                table.slashed(".1f", speeds),
                table.slashed(".1f", memory),
                table.slashed(".0%", shares),
            ]
        )
    threads = table.threads(dict.fromkeys(each["threads"] for each in lines))
    text = table.paragraph(
        "Each product has weights of its own, "
        f"{lines[0]['case']['megabytes']} MB together, {threads}. "
        '"Read" is how fast the blocks come, "memory" how fast a reading loop '
        "over as many bytes is."
    )
    titles = [
        "rows x inputs x outputs",
        "blocks",
        "block",
        "sparsity",
        "dense, ms",
        "sparse, ms",
        "speed-up",
        "read, GB/s",
        "memory, GB/s",
        "of memory",
    ]
    return f"{text}\n\n{table.table(titles, rows, texts=4)}"
