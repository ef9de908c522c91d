# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Bars: how many times as fast as dense each convolution is."""

from typing import Any

from case import PRODUCTS
from conv_case import ConvCase, ConvMeasured
from task import threads_title

from pictures import lines

# More cases than this are no picture.
_MOST = 80


def draw(run: dict[str, Any]) -> Any:
    """A group of bars for each case, one for each product; floors as marks."""
    measured = [ConvMeasured.of(line) for line in lines(run, "convolutions")]
    if not measured:
        return None
    import matplotlib.pyplot as plt

    labels = list(dict.fromkeys(_label(each.case) for each in measured))[:_MOST]
    measured = [each for each in measured if _label(each.case) in labels]
    threads = list(dict.fromkeys(each.threads for each in measured))
    products = [
        product
        for product in PRODUCTS
        if any(each.case.product == product for each in measured)
    ]
    height = 0.8 / len(products)
    figure, all_axes = plt.subplots(
        1,
        len(threads),
        figsize=(5 + 5 * len(threads), 1.5 + 0.22 * len(labels) * 3),
        squeeze=False,
        sharey=True,
        layout="constrained",
    )
    longest = max(each.scaled for each in measured)
    for axes, count in zip(all_axes[0], threads, strict=True):
        for turn, product in enumerate(products):
            shown = [
                each
                for each in measured
                if (each.threads, each.case.product) == (count, product)
            ]
            places = [
                labels.index(_label(each.case)) + turn * height
                for each in shown
            ]
            bars = axes.barh(
                places,
                [each.scaled for each in shown],
                height,
                label=product,
            )
            axes.bar_label(bars, [_share(e) for e in shown], padding=3, size=7)
            axes.plot(*_floors(shown, places), "|", color="black", markersize=7)
        axes.axvline(1, color="black", linewidth=1)
        axes.set_xlim(0, 1.15 * longest)
        axes.set_xlabel("times as fast as the dense one (|: promised)")
        axes.set_title(threads_title(count))
        axes.grid(alpha=0.3, axis="x")
    first = all_axes[0][0]
    first.set_yticks(
        [i + (len(products) - 1) * height / 2 for i in range(len(labels))]
    )
    first.set_yticklabels(labels, size=8)
    first.set_ylim(len(labels) - 0.3, -0.5)
    first.legend()
    return figure


def _label(case: ConvCase) -> str:
    taps = ", per tap" * case.per_tap
    return f"{case.label}, block {case.block_size}, {case.sparsity:.3g}{taps}"


def _share(each: ConvMeasured) -> str:
    if each.of_roofline is not None and each.floor.endswith("%"):
        return f"{each.of_roofline:.0%} of the roofline"
    return f"{each.of_peak:.0%} of peak"


def _floors(
    shown: list[ConvMeasured], places: list[float]
) -> tuple[list[float], list[float]]:
    """Where marks are put: a share of what was reached if that is promised."""
    marks = [
        (each.scaled / each.of_floor, place)
        for each, place in zip(shown, places, strict=True)
        if each.of_floor
    ]
    return [mark for mark, _ in marks], [place for _, place in marks]
