# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What the suites of random cases share: none should be slower than dense."""

import dataclasses
import random
from collections.abc import Callable, Sequence
from typing import Any

from settings import Settings
from task import Task, threads_title

# As much slower as noise may make a product that is as fast.
_ALLOWED = 1.1
_SHOWN = 10
# Of the rounds of a case; of large ones there are fewer rounds.
_SECONDS = 2.5


def block_size(
    rng: random.Random, settings: Settings, sizes: Sequence[int]
) -> int:
    """One of the settings' sizes, or of `sizes` and those between them."""
    size = rng.choice(settings.block_sizes or sizes)
    if not settings.block_sizes and rng.random() < 0.25:
        size = rng.randint(min(sizes), max(sizes))
    return size


def sparsity(rng: random.Random, settings: Settings) -> float:
    """A tenth each of the ends, where kernels have least to win."""
    drawn = min(max(rng.uniform(-0.125, 1.125), 0.0), 1.0)
    if settings.sparsities:
        drawn = rng.choice(settings.sparsities)
    return round(drawn, 3)


def plan(
    suite: str,
    cases: Sequence[Any],
    seconds: Callable[..., float],
    settings: Settings,
) -> list[Task]:
    """The same cases for each number of threads.

    Args:
      seconds: about how long a group of cases takes, as `grids.seconds`.
    """
    return [
        Task(
            suite=suite,
            title=f"{suite}, {threads_title(threads)}",
            threads=threads,
            work=[dataclasses.asdict(case) for case in cases],
            steps=len(cases),
            seconds=5
            + sum(
                seconds(
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


def measure(
    task: Task,
    cases: Sequence[Any],
    time: Callable[..., Sequence[Any]],
    progress: Callable[[], None],
) -> list[dict[str, Any]]:
    """A line for each case.

    Args:
      time: times a group of cases, as `timing.measure`.
    """
    import native
    import turns

    turns.use_threads(task.threads)
    lines = []
    with native.fma_peak(task.programs["fma_peak"], task.threads) as peak:
        for number, case in enumerate(cases):
            (measured,) = time(
                [case],
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


def summary(
    measured: Sequence[Any], dense: str, run: dict[str, Any]
) -> tuple[str, list[Any]]:
    """How many are slower than what `dense` names, and the worst of all."""
    ordered = sorted(measured, key=lambda each: each.speed_up)
    slower = sum(each.speed_up < 1 / _ALLOWED for each in ordered)
    worst = ordered[:_SHOWN]
    text = (
        f"{len(ordered)} random cases (`--seed={run['seed']}` draws them "
        f"again): {slower} take more than {_ALLOWED - 1:.0%} longer than "
        f"{dense}. The worst {len(worst)}:"
    )
    return text, worst
