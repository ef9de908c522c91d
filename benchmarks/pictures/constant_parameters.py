# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Time over width, at as many weights."""

from typing import Any

from suites.constant_parameters import MOST
from task import threads_title

from pictures import lines, panels


def draw(run: dict[str, Any]) -> Any:
    """A curve for each block size; a panel for each pass."""
    measured = lines(run, "constant_parameters")
    if not measured:
        return None
    passes = list(dict.fromkeys(each["case"]["pass"] for each in measured))
    sizes = list(dict.fromkeys(each["case"]["block_size"] for each in measured))
    figure, (all_axes,) = panels(1, len(passes), 3.5, sharey=True)
    for axes, name in zip(all_axes, passes, strict=True):
        for size in sizes:
            points = [
                (each["case"]["width"], each["ms"] / each["narrow_ms"])
                for each in measured
                if each["case"]["pass"] == name
                and each["case"]["block_size"] == size
            ]
            axes.plot(
                *zip(*points, strict=True), marker="o", label=f"block {size}"
            )
        axes.axhline(MOST, color="black", linestyle=":", linewidth=1)
        axes.set_ylim(bottom=0)
        axes.set_xlabel(
            f"times the width of {measured[0]['case']['features']}, at as many "
            "weights"
        )
        axes.set_title(f"{name}, {threads_title(measured[0]['threads'])}")
        axes.grid(alpha=0.3)
    all_axes[0].set_ylabel("times the time of width 1x")
    all_axes[0].legend()
    return figure
