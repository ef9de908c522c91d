# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Convolutions against TensorFlow's dense ones, and what is promised of them.

The shapes are in text files. Cases of one size, product and sparsity are timed
in turns: dense, sparse, sparse, ..., a copy if the kernel has one tap, peak.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import conv_shapes
import table
from conv_case import ConvCase, ConvMeasured
from settings import Settings
from task import Task, threads_title

TITLE = "Convolutions"
METRIC = "sparse_ms"
BASELINE = "dense_ms"

_TITLES = (
    "batch x pixels x inputs to outputs",
    "product",
    "block",
    "sparsity",
    "dense, ms",
    "sparse, ms",
    "speed-up",
    "scaled",
    "floor",
    "of floor",
    "GFLOP/s",
    "of peak",
    "of roofline",
)


def plan(settings: Settings) -> list[Task]:
    """A process for each number of threads."""
    paths = settings.conv_shapes or (conv_shapes.DEFAULT,)
    rows = conv_shapes.chosen(
        [row for path in paths for row in conv_shapes.read(path)],
        settings.products,
        settings.conv_cases,
        settings.conv_taps,
    )
    groups = conv_shapes.groups([row.case for row in rows])
    return [
        Task(
            suite="convolutions",
            title=f"convolutions, {threads_title(threads)}",
            threads=threads,
            work=[dataclasses.asdict(row) for row in rows],
            steps=len(groups) * settings.rounds,
            seconds=5
            + sum(
                conv_shapes.seconds(
                    group, settings.rounds, threads * settings.peak_gflops
                )
                for group in groups
            ),
            rounds=settings.rounds,
            seed=settings.seed,
        )
        for threads in settings.threads
    ]


def measure(task: Task, progress: Callable[[], None]) -> list[dict[str, Any]]:
    """A line for each case, in the order of the files."""
    import conv_timing
    import native
    import turns

    turns.use_threads(task.threads)
    told = {
        ConvCase(**each["case"]): {
            "section": each["section"],
            "floor": each["floor"],
        }
        for each in task.work
    }
    found: dict[ConvCase, ConvMeasured] = {}
    with native.fma_peak(task.programs["fma_peak"], task.threads) as peak:
        for group in conv_shapes.groups(list(told)):
            for each in conv_timing.measure(
                group, task.threads, task.rounds, task.seed, peak, progress
            ):
                found[each.case] = each
    return [
        {**dataclasses.asdict(found[case]), **words}
        for case, words in told.items()
    ]


def markdown(lines: Sequence[dict[str, Any]], run: dict[str, Any]) -> str:
    """A table for each section, then the floors that were missed."""
    measured = [ConvMeasured.of(line) for line in lines]
    parts = [
        table.caption(run["machine"], table.peaks(measured), run["rounds"]),
        table.paragraph(
            '"Scaled" is the speed-up times the density that the grid of '
            "blocks allows over the one asked for; a floor is one of it, or a "
            "share of the roofline max(FLOPs / FMA peak, bytes / copy rate). "
            "FLOPs count products with the padding's zeros."
        ),
    ]
    sections: dict[str, list[ConvMeasured]] = {}
    for each in measured:
        sections.setdefault(each.section, []).append(each)
    for section, here in sections.items():
        parts += [f"### {section}", _table(here)]
    return "\n\n".join([*parts, _verdict(measured)])


def size(case: ConvCase) -> str:
    """The cell that tells a case's sizes."""
    return case.label + ", per tap" * case.per_tap


def _table(measured: Sequence[ConvMeasured]) -> str:
    cases: dict[ConvCase, list[ConvMeasured]] = {}
    for each in measured:
        cases.setdefault(each.case, []).append(each)
    rows = [_cells(*item) for item in cases.items()]
    columns = [
        index
        for index, title in enumerate(_TITLES)
        if title != "of roofline" or any(row[index] != "-" for row in rows)
    ]
    return table.table(
        [_TITLES[index] for index in columns],
        [[row[index] for index in columns] for row in rows],
        texts=4,
    )


def _cells(case: ConvCase, lines: Sequence[ConvMeasured]) -> list[str]:
    return [
        size(case),
        case.product,
        str(case.block_size),
        f"{1 - lines[0].density:.1%}",
        table.slashed(".3g", [each.dense_ms for each in lines]),
        table.slashed(".3g", [each.sparse_ms for each in lines]),
        table.slashed(".3g", [each.speed_up for each in lines]),
        table.slashed(".3g", [each.scaled for each in lines]),
        lines[0].floor,
        _shares([each.of_floor for each in lines]),
        table.slashed(".3g", [each.gflops for each in lines]),
        table.slashed(".0%", [each.of_peak for each in lines]),
        _shares([each.of_roofline for each in lines]),
    ]


def _shares(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return table.slashed(".0%", known) if known else "-"


def _verdict(measured: Sequence[ConvMeasured]) -> str:
    promised = [
        (each.of_floor, each) for each in measured if each.of_floor is not None
    ]
    if not promised:
        return "Nothing is promised of these."
    missed = sorted(
        [pair for pair in promised if pair[0] < 1], key=lambda pair: pair[0]
    )
    text = f"{len(promised) - len(missed)} of {len(promised)} floors are met."
    if not missed:
        return text
    titles = [*_TITLES[:4], "threads", "floor", "reached", "of floor"]
    rows = [
        [
            size(each.case),
            each.case.product,
            str(each.case.block_size),
            f"{1 - each.density:.1%}",
            str(each.threads),
            each.floor,
            f"{each.of_roofline:.0%}"
            if each.floor.endswith("%")
            else f"{each.scaled:.3g}",
            f"{share:.0%}",
        ]
        for share, each in missed
    ]
    return f"{text} Those missed:\n\n{table.table(titles, rows, texts=2)}"
