# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Time over the number of rows."""

from typing import Any

from task import threads_title

from pictures import lines, panels


def draw(run: dict[str, Any]) -> Any:
    """A curve for each block size, and dense; a panel for each product."""
    sweep = lines(run, "rows")
    if len({each["case"]["rows"] for each in sweep}) < 2:
        return None
    products = list(dict.fromkeys(each["case"]["product"] for each in sweep))
    threads = list(dict.fromkeys(each["threads"] for each in sweep))
    figure, all_axes = panels(len(products), len(threads), 3.5, sharex=True)
    for row, product in zip(all_axes, products, strict=True):
        for axes, count in zip(row, threads, strict=True):
            shown = [
                each
                for each in sweep
                if (each["case"]["product"], each["threads"])
                == (product, count)
            ]
            sizes = sorted({each["case"]["block_size"] for each in shown})
            for size in sizes:
                points = [
                    (each["case"]["rows"], each["sparse_ms"])
                    for each in shown
                    if each["case"]["block_size"] == size
                ]
                axes.plot(*zip(*points, strict=True), label=f"block {size}")
            dense = [
                (each["case"]["rows"], each["dense_ms"])
                for each in shown
                if "dense_ms" in each
            ]
            if dense:
                axes.plot(
                    *zip(*dense, strict=True), color="black", label="dense"
                )
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            axes.xaxis.set_major_formatter("{x:.0f}")
            axes.yaxis.set_major_formatter("{x:g}")
            axes.grid(alpha=0.3)
            axes.set_title(f"{product}, {threads_title(count)}")
        row[0].set_ylabel("ms")
    for axes in all_axes[-1]:
        axes.set_xlabel("rows")
    all_axes[0][0].legend()
    return figure
