# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Bars: how many times as fast as dense each product is."""

from typing import Any

from case import Case, Measured
from task import threads_title

from pictures import lines

# More bars than this are no picture.
_MOST = 40


def draw(run: dict[str, Any]) -> Any:
    """A group of bars for each case, one for each number of threads."""
    measured = [Measured.of(line) for line in lines(run, "products")]
    if not measured:
        return None
    import matplotlib.pyplot as plt

    cases = list(dict.fromkeys(each.case for each in measured))[:_MOST]
    measured = [each for each in measured if each.case in cases]
    threads = list(dict.fromkeys(each.threads for each in measured))
    height = 0.8 / len(threads)
    figure, axes = plt.subplots(
        figsize=(10, 1.5 + 0.25 * len(cases) * len(threads)),
        layout="constrained",
    )
    for turn, count in enumerate(threads):
        shown = [each for each in measured if each.threads == count]
        bars = axes.barh(
            [cases.index(each.case) + turn * height for each in shown],
            [each.speed_up for each in shown],
            height,
            label=threads_title(count),
        )
        axes.bar_label(
            bars, [f"{each.of_peak:.0%} of peak" for each in shown], padding=3
        )
    axes.set_yticks(
        [place + (len(threads) - 1) * height / 2 for place in range(len(cases))]
    )
    axes.set_yticklabels([_label(case) for case in cases])
    axes.invert_yaxis()
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xlim(0, 1.25 * max(each.speed_up for each in measured))
    axes.set_xlabel("times as fast as the dense product")
    axes.legend()
    return figure


def _label(case: Case) -> str:
    dtypes = "x".join(dict.fromkeys([case.x_dtype, case.blocks_dtype]))
    return (
        f"{case.rows} x {case.inputs} x {case.outputs} {case.product}, "
        f"block {case.block_size}, {case.sparsity:.0%}, {dtypes}"
    )
