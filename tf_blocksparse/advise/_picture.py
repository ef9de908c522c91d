# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Speed-up over sparsity as a picture."""

from collections.abc import Sequence
from typing import Any

from tf_blocksparse.advise import _search
from tf_blocksparse.advise._report import block_sizes, from_where
from tf_blocksparse.advise._search import PRODUCTS, Point


def draw(points: Sequence[Point], path: str, title: str) -> None:
    """Writes a picture of any kind that matplotlib knows.

    Raises:
      ImportError: if matplotlib is not installed.
    """
    import matplotlib.figure
    import matplotlib.ticker

    figure = matplotlib.figure.Figure((10, 4.6), layout="constrained")
    axes = figure.subplots(1, len(PRODUCTS), sharey=True)
    for product, ax in zip(PRODUCTS, axes, strict=True):
        for size in block_sizes(points):
            _line(ax, _search.of(points, size, product), size)
        ax.axhline(1, color="black", linewidth=1, linestyle="--")
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(
            matplotlib.ticker.LogLocator(subs=(1, 2, 5), numticks=20)
        )
        ax.yaxis.set_major_formatter("{x:g}x")
        ax.yaxis.set_minor_formatter("")
        ax.xaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(xmax=1))
        ax.grid(alpha=0.3)
        ax.set_title(product)
        ax.set_xlabel("sparsity")
        ax.legend(title="blocks, faster than dense from")
    axes[0].set_ylabel("speed-up over dense")
    figure.suptitle(title, size="medium")
    figure.savefig(path, dpi=110)


def _line(ax: Any, points: Sequence[Point], size: int) -> None:
    points = sorted(points, key=lambda point: point.sparsity)
    found = _search.crossover(points)
    (line,) = ax.plot(
        [point.sparsity for point in points],
        [point.speed_up for point in points],
        marker=".",
        label=f"{size}: {from_where(found)}",
    )
    if found.between:
        ax.plot(found.sparsity, 1, "o", color=line.get_color())
