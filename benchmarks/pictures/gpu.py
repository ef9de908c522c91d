# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Speed-up over density on a GPU: a panel for each type, forward."""

from typing import Any

from pictures import lines, panels


def draw(run: dict[str, Any]) -> Any:
    """A curve for each block size, of the number of rows that comes first."""
    found = [
        line
        for line in lines(run, "gpu")
        if line["product"] == "forward" and line.get("dense_seconds")
    ]
    if not found:
        return None
    found = [line for line in found if line["rows"] == found[0]["rows"]]
    dtypes = list(dict.fromkeys(line["dtype"] for line in found))
    sizes = sorted({line["block_size"] for line in found})
    figure, all_axes = panels(1, len(dtypes), 3.5, sharey=True)
    for axes, dtype in zip(all_axes[0], dtypes, strict=True):
        for size in sizes:
            curve = sorted(
                (line["density"], line["dense_seconds"] / line["seconds"])
                for line in found
                if line["dtype"] == dtype and line["block_size"] == size
            )
            axes.plot(
                [100 * density for density, _ in curve],
                [faster for _, faster in curve],
                color=f"C{sizes.index(size)}",
                marker="o",
                label=f"block {size}",
            )
        axes.axhline(1, color="black", linewidth=1)
        axes.set_yscale("log")
        axes.set_xlabel("per cent of the blocks that exist")
        axes.set_title(f"{dtype}, {found[0]['rows']} rows, forward")
        axes.grid(alpha=0.3)
    all_axes[0][0].set_ylabel("times as fast as the dense product")
    all_axes[0][0].legend()
    return figure
