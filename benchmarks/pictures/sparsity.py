# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Speed-up over sparsity, and where it begins."""

import collections
import dataclasses
import itertools
from typing import Any

from case import Measured
from task import threads_title

from pictures import lines, panels


def draw(run: dict[str, Any]) -> Any:
    """A curve for each block size; a picture for each number of threads."""
    measured = [Measured.of(line) for line in lines(run, "products")]
    title, curves = _curves(measured)
    if not curves:
        return None
    threads = sorted({count for count, _ in curves})
    figure, all_axes = panels(1, len(threads), 3.5, sharey=True)
    sizes = sorted({size for _, size in curves})
    for axes, count in zip(all_axes[0], threads, strict=True):
        for size in sizes:
            points = curves.get((count, size), [])
            color = f"C{sizes.index(size)}"
            axes.plot(
                [100 * sparsity for sparsity, _ in points],
                [speed_up for _, speed_up in points],
                color=color,
                marker="o",
                label=f"block {size}",
            )
            crossing = crossover(points)
            if crossing is not None:
                axes.plot(100 * crossing, 1, "x", color=color, markersize=10)
        axes.axhline(1, color="black", linewidth=1)
        axes.set_yscale("log")
        axes.set_yticks([1, 2, 5, 10, 20, 50, 100])
        axes.set_yticklabels(["1", "2", "5", "10", "20", "50", "100"])
        axes.set_xlabel("per cent of the blocks left out")
        axes.set_title(f"{title}, {threads_title(count)}")
        axes.grid(alpha=0.3)
    all_axes[0][0].set_ylabel("times as fast as the dense product (x: equal)")
    all_axes[0][0].legend()
    return figure


def crossover(points: list[tuple[float, float]]) -> float | None:
    """The sparsity at which sparse and dense take as long, if there is one.

    Between two points of a curve as on a straight line.

    >>> crossover([(0.0, 0.5), (0.5, 1.5)])
    0.25
    """
    for (left, low), (right, high) in itertools.pairwise(points):
        if low < 1 <= high:
            return left + (right - left) * (1 - low) / (high - low)
    return None


def _curves(
    measured: list[Measured],
) -> tuple[str, dict[tuple[int, int], list[tuple[float, float]]]]:
    """Points of the shape and the product with most sparsities."""
    kinds: dict[Any, list[Measured]] = collections.defaultdict(list)
    for each in measured:
        # What but these differs is drawn.
        rest = dataclasses.replace(each.case, block_size=1, sparsity=0.0)
        kinds[rest].append(each)

    def sparsities(kind: Any) -> int:
        return len({each.case.sparsity for each in kinds[kind]})

    kind = max(kinds, key=sparsities, default=None)
    if kind is None or sparsities(kind) < 2:
        return "", {}
    curves = collections.defaultdict(list)
    for each in kinds[kind]:
        key = (each.threads, each.case.block_size)
        curves[key].append((each.case.sparsity, each.speed_up))
    title = f"{kind.rows} x {kind.inputs} x {kind.outputs} {kind.product}"
    return title, {
        key: sorted(points) for key, points in curves.items() if len(points) > 1
    }
