# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Tables and captions in Markdown, ready to be pasted into a document."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from case import Case, Measured

_TITLES = (
    "rows x inputs x outputs",
    "product",
    "block",
    "sparsity",
    "dense, ms",
    "sparse, ms",
    "speed-up",
    "GFLOP/s",
    "of peak",
)


def table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], texts: int
) -> str:
    """A table of which the first columns are texts, the others numbers."""
    marks = ["---"] * texts + ["---:"] * (len(titles) - texts)
    lines = [titles, marks, *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def paragraph(text: str) -> str:
    """Text in lines of 80 columns."""
    return textwrap.fill(text, 80)


def slashed(form: str, values: Iterable[Any]) -> str:
    """A cell of several numbers: one for each number of threads."""
    return " / ".join(f"{value:{form}}" for value in values)


def threads(counts: Iterable[int]) -> str:
    """The words for several numbers of threads."""
    found = list(counts)
    return f"{slashed('', found)} thread{'s' * (found != [1])}"


def caption(machine: dict[str, Any], details: str, rounds: int) -> str:
    """A paragraph about what the numbers of a table depend on."""
    return paragraph(
        f"{machine['processor']}, {machine['cores']} cores, {machine['isa']}; "
        f"TensorFlow {machine['tensorflow']} (oneDNN {machine['onednn']}); "
        f"tf_blocksparse {machine['tf_blocksparse']}; {details}; medians of "
        f"{rounds} rounds."
    )


def peaks(measured: Iterable[Measured]) -> str:
    """The part of a caption about threads and what they can do."""
    found: dict[int, list[float]] = {}
    for each in measured:
        found.setdefault(each.threads, []).append(each.peak_gflops)
    middle = [sorted(p)[len(p) // 2] for p in found.values()]
    return f"{threads(found)}; FMA peak {slashed('.0f', middle)} GFLOP/s"


def products(measured: Iterable[Measured]) -> str:
    """A table with a row for each case.

    Cells hold a number for each number of threads, separated by slashes.
    """
    cases: dict[Case, list[Measured]] = {}
    for each in measured:
        cases.setdefault(each.case, []).append(each)
    return table(_TITLES, [_cells(*item) for item in cases.items()], texts=4)


def size(case: Case) -> str:
    """The cell that tells a case's sizes."""
    return f"{case.rows} x {case.inputs} x {case.outputs}"


def product(case: Case) -> str:
    """The cell that tells a case's product, and its types."""
    dtypes = dict.fromkeys([case.x_dtype, case.blocks_dtype])
    if list(dtypes) == ["float32"]:
        return case.product
    return f"{case.product} {' x '.join(dtypes)}"


def _cells(case: Case, lines: Sequence[Measured]) -> list[str]:
    return [
        size(case),
        product(case),
        str(case.block_size),
        f"{case.sparsity:.0%}",
        slashed(".3g", [each.dense_ms for each in lines]),
        slashed(".3g", [each.sparse_ms for each in lines]),
        slashed(".3g", [each.speed_up for each in lines]),
        slashed(".3g", [each.gflops for each in lines]),
        slashed(".0%", [each.of_peak for each in lines]),
    ]
