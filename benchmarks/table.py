# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What was measured as the Markdown table that the README shows."""

import textwrap
from collections.abc import Sequence
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


def markdown(machine: dict[str, Any], measured: Sequence[Measured]) -> str:
    """A paragraph about the machine, and a table with a row for each case.

    Cells hold a number for each number of threads, separated by slashes.
    """
    lines = [textwrap.fill(_caption(machine, measured), 80), ""]
    lines += [_row(_TITLES), _row(["---"] * 4 + ["---:"] * 5)]
    cases: dict[Case, list[Measured]] = {}
    for each in measured:
        cases.setdefault(each.case, []).append(each)
    lines += [_row(_cells(*item)) for item in cases.items()]
    return "\n".join(lines)


def _caption(machine: dict[str, Any], measured: Sequence[Measured]) -> str:
    peaks: dict[int, list[float]] = {}
    for each in measured:
        peaks.setdefault(each.threads, []).append(each.peak_gflops)
    middle = [sorted(p)[len(p) // 2] for p in peaks.values()]
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['isa']}; "
        f"TensorFlow {machine['tensorflow']} (oneDNN {machine['onednn']}); "
        f"tf_blocksparse {machine['tf_blocksparse']}; "
        f"{_slashed('.0f', peaks)} threads; "
        f"FMA peak {_slashed('.0f', middle)} GFLOP/s; "
        f"medians of {machine['rounds']} rounds."
    )


def _cells(case: Case, lines: Sequence[Measured]) -> list[str]:
    product = case.product
    dtypes = dict.fromkeys([case.x_dtype, case.blocks_dtype])
    if list(dtypes) != ["float32"]:
        product += " " + " x ".join(dtypes)
    return [
        f"{case.rows} x {case.inputs} x {case.outputs}",
        product,
        str(case.block_size),
        f"{case.sparsity:.0%}",
        _slashed(".3g", [each.dense_ms for each in lines]),
        _slashed(".3g", [each.sparse_ms for each in lines]),
        _slashed(".3g", [each.speed_up for each in lines]),
        _slashed(".3g", [each.gflops for each in lines]),
        _slashed(".0%", [each.of_peak for each in lines]),
    ]


def _slashed(form: str, values: Any) -> str:
    return " / ".join(f"{value:{form}}" for value in values)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
