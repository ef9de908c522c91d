# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What was measured as bars: how many times as fast as dense."""

import pathlib
import sys
from collections.abc import Sequence

from case import Case, Measured


def save(measured: Sequence[Measured], path: pathlib.Path) -> None:
    """Draws a group of bars for each case, one for each number of threads.

    Says that there is no picture where matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError:
        print(
            f"no picture {path}: run `pip install matplotlib` for one",
            file=sys.stderr,
        )
        return
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    cases = list(dict.fromkeys(each.case for each in measured))
    threads = list(dict.fromkeys(each.threads for each in measured))
    height = 0.8 / len(threads)
    figure, axes = plt.subplots(
        figsize=(8, 1.5 + 0.3 * len(cases) * len(threads)),
        layout="constrained",
    )
    for turn, count in enumerate(threads):
        lines = [each for each in measured if each.threads == count]
        bars = axes.barh(
            [cases.index(each.case) + turn * height for each in lines],
            [each.speed_up for each in lines],
            height,
            label=f"{count} thread{'s' * (count > 1)}",
        )
        axes.bar_label(
            bars, [f"{each.of_peak:.0%} of peak" for each in lines], padding=3
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
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _label(case: Case) -> str:
    dtypes = "x".join(dict.fromkeys([case.x_dtype, case.blocks_dtype]))
    return (
        f"{case.rows} x {case.inputs} x {case.outputs} {case.product}\n"
        f"block {case.block_size}, {case.sparsity:.0%}, {dtypes}"
    )
