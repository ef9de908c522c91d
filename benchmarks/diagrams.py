# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Draws the two pictures of docs/performance.md: how the kernels work.

.venv/bin/python benchmarks/diagrams.py docs/images
"""

import pathlib
import sys
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

_X, _WEIGHTS, _SUMS, _Y, _IDLE = (
    "#9ecae1",
    "#fdae6b",
    "#a1d99b",
    "#bcbddc",
    "#f0f0f0",
)


def _box(
    axes: Any,
    place: tuple[float, float],
    size: tuple[float, float],
    color: str,
    text: str = "",
    line: float = 0.8,
) -> None:
    axes.add_patch(Rectangle(place, *size, fc=color, ec="black", lw=line))
    middle = [at + length / 2 for at, length in zip(place, size, strict=True)]
    axes.text(*middle, text, ha="center", va="center", size=8.5)


def tile() -> Any:
    """Rows by outputs: what is read and what is summed up."""
    figure, axes = plt.subplots(figsize=(9, 5.6), layout="constrained")
    # x, packed: inputs downwards, two registers of rows across.
    for block in range(8):
        for half in range(2):
            color = _X if block in (1, 2, 5) else _IDLE
            _box(axes, (4 * half, 15 - 2 * block), (4, 2), color)
    axes.text(4, 17.3, "x of 32 rows, packed", ha="center", weight="bold")
    axes.text(0, 0.5, "a register of\n16 rows", ha="left", va="top", size=8.5)
    axes.text(8, 0.5, "another", ha="right", va="top", size=8.5)
    axes.text(-0.5, 9, "inputs", rotation=90, ha="right", va="center", size=8.5)
    # W: inputs downwards, outputs across.
    exist = {0: (0, 3, 4), 1: (1, 2, 5), 2: (2, 6), 3: (0, 5, 7)}
    for output, blocks in exist.items():
        for block in range(8):
            color = _WEIGHTS if output == 1 else "#d9d9d9"
            _box(
                axes,
                (16 + 4 * output, 15 - 2 * block),
                (4, 2),
                color if block in blocks else "white",
                line=0.8 if block in blocks else 0.2,
            )
    axes.text(24, 17.3, "W, blocks of 32 x 32", ha="center", weight="bold")
    # A group of outputs goes over the blocks of a chunk.
    for block in exist[1]:
        _box(axes, (21, 15 - 2 * block), (1, 2), "#e6550d")
    axes.add_patch(
        Rectangle((19.8, 10.8), 4.4, 4.4, fill=False, ec="#a63603", lw=2)
    )
    # One input: two registers of x, a weight for each output.
    axes.plot((0, 22), (11.6, 11.6), color="black", lw=1.2)
    axes.annotate(
        "an input: 2 loads of x,\n8 weights broadcast,\n16 multiply-adds",
        (12, 11.6),
        (12, 9.4),
        ha="center",
        va="top",
        size=8.5,
        arrowprops={"arrowstyle": "->"},
    )
    # The tile.
    for half in range(2):
        for group in range(4):
            color = "#31a354" if group == 1 else _SUMS
            _box(axes, (20 + group, -3 - 2.4 * half), (1, 2.4), color)
    axes.annotate(
        "",
        (21.5, -0.6),
        (21.5, 1),
        arrowprops={"arrowstyle": "-|>", "color": "black"},
    )
    axes.text(19.6, -3, "sums", ha="right", va="center", weight="bold")
    axes.text(
        24.6,
        -3,
        "dark: 8 outputs x 32 rows in 16 registers;\n"
        "the other groups of the output block wait\n"
        "in a tile of 4 KiB in L1",
        va="center",
        size=8.5,
    )
    notes = [
        (15, "W: read from L3 or memory, once for 32 rows"),
        (12, "framed: a chunk of 64 inputs,\nin L1 for all groups of outputs"),
        (8.3, "dark: a group of 8 outputs"),
        (5, "blue: all that is read of the packed x,\nwhich stays in L2"),
    ]
    for height, text in notes:
        axes.text(32.6, height, text, va="center", size=8.5)
    axes.set_xlim(-2, 47)
    axes.set_ylim(-6, 18.5)
    axes.axis("off")
    return figure


def timeline() -> Any:
    """One worker: what it multiplies, and what goes on meanwhile."""
    figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
    lanes = {
        "computes": 5,
        "stores to y": 4,
        "fetches lines of y": 3,
        "fetches x": 2,
        "fetches blocks, L1": 1,
        "fetches blocks, L2": 0,
    }
    for name, lane in lanes.items():
        axes.text(-0.3, lane + 0.35, name, ha="right", va="center", size=9)

    def put(
        lane: str, start: float, length: float, color: str, text: str = ""
    ) -> None:
        _box(axes, (start, lanes[lane]), (length, 0.7), color, text)

    put("computes", 0, 3, _X, "pack rows\n0 to 31")
    names = "A", "B", "C"
    for turn, name in enumerate(names):
        start = 3 + 5 * turn
        # Chunks by groups of outputs.
        for call in range(8):
            put("computes", start + 0.5625 * call, 0.5625, _SUMS)
        axes.text(
            start + 2.25,
            lanes["computes"] + 0.85,
            f"multiply output block {name}",
            ha="center",
            size=8.5,
        )
        put("computes", start + 4.5, 0.5, "#31a354")
        put("fetches lines of y", start, 4.5, _Y, f"those of {name}")
        if turn:
            before = names[turn - 1]
            for call in range(4):
                put("stores to y", start + 0.5625 * call, 0.3, _Y)
            axes.text(
                start + 3.3,
                lanes["stores to y"] + 0.35,
                f"{before}, a square\nat a time",
                ha="center",
                va="center",
                size=8.5,
            )
    put("computes", 18, 0.8, _Y)
    put("stores to y", 18, 0.8, _Y, "C")
    put("computes", 18.8, 3, _X, "pack rows\n32 to 63")
    put("fetches x", 3, 15, _X, "rows 32 to 63, row by row, into L2")
    put("fetches blocks, L1", 3, 15, _WEIGHTS, "two groups of outputs later")
    put(
        "fetches blocks, L2",
        3,
        15,
        _WEIGHTS,
        "four chunks later, in the order of memory (forward)",
    )
    axes.annotate(
        "bias, activation",
        (7.75, 5.75),
        (7.75, 6.4),
        ha="center",
        va="bottom",
        size=8.5,
        arrowprops={"arrowstyle": "->"},
    )
    axes.annotate(
        "time",
        (21.8, -0.4),
        (0, -0.4),
        va="center",
        ha="right",
        size=9,
        arrowprops={"arrowstyle": "->"},
    )
    axes.set_xlim(-5, 22)
    axes.set_ylim(-0.7, 6.9)
    axes.axis("off")
    return figure


def main(argv: list[str]) -> None:
    """Writes tile.png and timeline.png into a folder."""
    if len(argv) != 2:
        sys.exit(f"got {argv[1:]}, expected a folder for the pictures")
    folder = pathlib.Path(argv[1])
    for draw in (tile, timeline):
        figure = draw()
        figure.savefig(folder / f"{draw.__name__}.png", dpi=100)
        plt.close(figure)


if __name__ == "__main__":
    main(sys.argv)
