# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/patterns.md, and prints its table.

PYTHONPATH=. .venv/bin/python benchmarks/pattern_diagrams.py FOLDER
"""

import pathlib
import sys
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

from tf_blocksparse import patterns
from tf_blocksparse.patterns import Mask

_SIDE = 48
_GRID = (_SIDE, _SIDE)
_TORUS = (6, 8)
# As many products as colours are told apart.
_MOST = 8

MASKS: dict[str, Mask] = {
    "balanced_random": patterns.balanced_random(_GRID, 5 * _SIDE, seed=0),
    "banded": patterns.banded(_GRID, 2),
    "barabasi_albert": patterns.barabasi_albert(_GRID, 2, seed=0),
    "block_diagonal": patterns.block_diagonal(_GRID, 6),
    "butterfly": patterns.butterfly(_GRID),
    "locally_connected": patterns.locally_connected(_GRID, 1, _TORUS),
    "pixelated_butterfly": patterns.pixelated_butterfly(_GRID, 4, 2),
    "strided": patterns.strided(_GRID, 8),
    "watts_strogatz": patterns.watts_strogatz(_GRID, 2, 0.2, seed=0),
    "watts_strogatz_2d": patterns.watts_strogatz_2d(
        _GRID, _TORUS, 2, 0.1, seed=0
    ),
}


def products_until_connected(mask: Mask) -> np.ndarray:
    """For each pair after how many products it is; NaN if after none of 8.

    >>> products_until_connected(np.array([[True, True], [False, True]]))
    array([[ 1.,  1.],
           [nan,  1.]])
    """
    counts = np.where(mask, 1.0, np.nan)
    connected = mask
    for count in range(2, _MOST + 1):
        connected = connected.astype(np.float32) @ mask > 0
        counts[connected & np.isnan(counts)] = count
    return counts


def of_one(name: str) -> Any:
    """The blocks of a mask, and after how many products pairs meet."""
    mask = MASKS[name]
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(7, 3.3), layout="constrained"
    )
    _blocks(left, mask, f"{mask.mean():.0%} of {_SIDE} x {_SIDE} blocks")
    colors = plt.get_cmap("viridis_r", _MOST)
    image = right.imshow(
        products_until_connected(mask), colors, vmin=0.5, vmax=_MOST + 0.5
    )
    _bare(right, "products until connected")
    figure.colorbar(image, ax=right, ticks=range(1, _MOST + 1))
    return figure


def interleaved() -> Any:
    """The masks of three layers, and their product."""
    masks = patterns.interleaved((36, 36), 3)
    figure, axes = plt.subplots(1, 4, figsize=(9, 2.7), layout="constrained")
    paths = np.eye(36, dtype=int)
    for number, (ax, mask) in enumerate(zip(axes, masks, strict=False)):
        _blocks(ax, mask, f"layer {number + 1}: {mask.mean():.0%}")
        paths = paths @ mask
    _blocks(axes[-1], paths == 1, "pairs with exactly one path")
    return figure


def low_degree_edges() -> Any:
    """A graph and what it gets, and the blocks of each output."""
    before = patterns.barabasi_albert(_GRID, 2, seed=0)
    after = patterns.low_degree_edges(before, 8 * _SIDE, seed=0)
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.1), layout="constrained")
    _blocks(axes[0], before, f"barabasi_albert: {before.sum()} blocks")
    _blocks(axes[1], after, f"more, to {after.sum()}")
    for mask, label in ((after, "after"), (before, "before")):
        axes[2].bar(range(_SIDE), mask.sum(axis=0), 1, label=label)
    axes[2].legend()
    axes[2].set_title("blocks of each output", size=9)
    axes[2].set_box_aspect(1)
    return figure


def _blocks(ax: Any, mask: Mask, title: str) -> None:
    ax.imshow(mask, "Greys", vmin=0, vmax=1, interpolation="nearest")
    _bare(ax, title)


def _bare(ax: Any, title: str) -> None:
    ax.set_title(title, size=9)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_xlabel("outputs", size=8)
    ax.set_ylabel("inputs", size=8)


def table() -> list[str]:
    """Lines of Markdown: masks of 576 x 576 blocks, and how fast they mix."""
    grid, count = (576, 576), 11 * 576
    masks = {
        "`barabasi_albert`, m = 5": patterns.barabasi_albert(grid, 5, 0),
        "`balanced_random`": patterns.balanced_random(grid, count, 0),
        "`butterfly`": patterns.butterfly(grid),
        "`pixelated_butterfly`, max_stride = 128, low_rank = 1": (
            patterns.pixelated_butterfly(grid, 128)
        ),
        "`watts_strogatz_2d`, m = 5, p = 0.2": (
            patterns.watts_strogatz_2d(grid, (24, 24), 5, 0.2, 0)
        ),
        "`watts_strogatz`, m = 5, p = 0.2": (
            patterns.watts_strogatz(grid, 5, 0.2, 0)
        ),
        "`locally_connected`, radius = 1, 24 x 24": (
            patterns.locally_connected(grid, 1, (24, 24))
        ),
        "`watts_strogatz`, m = 5, p = 0: a ring": (
            patterns.watts_strogatz(grid, 5, 0.0, 0)
        ),
        "`banded`, bandwidth = 5": patterns.banded(grid, 5),
        "`strided`, stride = 52": patterns.strided(grid, 52),
        "`block_diagonal`, groups = 52": patterns.block_diagonal(grid, 52),
    }
    steps = (1, 2, 3, 4, 5, 8)
    lines = [
        "| maker | " + " | ".join(f"{step}" for step in steps) + " |",
        "| --- |" + " ---: |" * len(steps),
    ]
    for name, mask in masks.items():
        shares = patterns.mix_factor(mask, max(steps))
        cells = " | ".join(_per_cent(shares[step - 1]) for step in steps)
        lines.append(f"| {name} | {cells} |")
    return lines


def _per_cent(share: float) -> str:
    if share == 1:
        return "100"
    # Nothing but all is shown as 100.
    return f"{min(100 * share, 99.9):.1f}"


def main(argv: list[str]) -> None:
    """Writes a picture for each maker into a folder; prints the table."""
    if len(argv) != 2:
        sys.exit(f"got {argv[1:]}, expected a folder for the pictures")
    folder = pathlib.Path(argv[1])
    draws: dict[str, Any] = {
        name: lambda name=name: of_one(name) for name in MASKS
    }
    draws["interleaved"] = interleaved
    draws["low_degree_edges"] = low_degree_edges
    for name, draw in draws.items():
        figure = draw()
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / f"{name}.png", dpi=80)
        plt.close(figure)
    print("\n".join(table()))


if __name__ == "__main__":
    main(sys.argv)
