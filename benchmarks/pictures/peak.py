# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Per cent of the FMA peak for each block size and product."""

from typing import Any

from case import PRODUCTS, Measured
from task import threads_title

from pictures import lines, panels


def draw(run: dict[str, Any]) -> Any:
    """A row for each shape, a column for each number of threads."""
    measured = [Measured.of(line) for line in lines(run, "products")]
    chosen = [
        each
        for each in measured
        if each.case.sparsity == 0.9 and each.case.blocks_dtype == "float32"
    ]
    shapes = [
        shape
        for shape in dict.fromkeys(_shape(each) for each in chosen)
        if len({each.case.product for each in chosen if _shape(each) == shape})
        == len(PRODUCTS)
    ]
    # The first are those that the tables begin with.
    shapes = shapes[:3]
    if not shapes:
        return None
    threads = sorted({each.threads for each in chosen})
    figure, all_axes = panels(len(shapes), len(threads), 2.5, sharey=True)
    width = 0.8 / len(PRODUCTS)
    for row, shape in zip(all_axes, shapes, strict=True):
        here = [each for each in chosen if _shape(each) == shape]
        sizes = sorted({each.case.block_size for each in here})
        for axes, count in zip(row, threads, strict=True):
            for turn, product in enumerate(PRODUCTS):
                shown = [
                    each
                    for each in here
                    if each.threads == count and each.case.product == product
                ]
                axes.bar(
                    [
                        sizes.index(each.case.block_size) + turn * width
                        for each in shown
                    ],
                    [100 * each.of_peak for each in shown],
                    width,
                    label=product,
                )
            axes.set_xticks([i + width for i in range(len(sizes))])
            axes.set_xticklabels([f"block {size}" for size in sizes])
            axes.set_ylim(0, 100)
            axes.grid(alpha=0.3, axis="y")
            title = " x ".join(map(str, shape))
            axes.set_title(f"{title}, {threads_title(count)}")
        row[0].set_ylabel("% of FMA peak")
    all_axes[0][0].legend(ncols=3)
    return figure


def _shape(each: Measured) -> tuple[int, int, int]:
    return (each.case.rows, each.case.inputs, each.case.outputs)
