# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Which products are measured unless flags say so, and how long they take."""

import itertools
from collections.abc import Iterable, Sequence

from case import PRODUCTS, Case

Shape = tuple[int, int, int]

MAIN_SHAPES: list[Shape] = [
    (64, 4096, 4096),
    (512, 2048, 2048),
    (2048, 1024, 1024),
]
MAIN_BLOCK_SIZES = (8, 16, 32, 64)
MIXED_DTYPES = ("float32", "float32:bfloat16")
# Shapes near those that kernels are written for, which should be as fast.
NEIGHBOURS: list[Shape] = [
    (64, 4000, 4000),
    (64, 3072, 3072),
    (96, 4096, 4096),
    (100, 4096, 4096),
    (333, 4096, 4096),
]


def combinations(
    shapes: Sequence[Shape],
    products: Sequence[str] = PRODUCTS,
    block_sizes: Sequence[int] = MAIN_BLOCK_SIZES,
    sparsities: Sequence[float] = (0.9,),
    dtypes: Sequence[str] = ("float32",),
) -> list[Case]:
    """A case for every combination, as a table lists them.

    Raises:
      ValueError: if a case is too small to be measured.
    """
    found = []
    for shape, product, sparsity, block_size, pair in itertools.product(
        shapes, products, sparsities, block_sizes, dtypes
    ):
        x_dtype, _, blocks_dtype = pair.partition(":")
        if product == "dw" and blocks_dtype:
            continue  # its blocks are of x's dtype
        case = Case(
            *shape,
            product=product,
            block_size=block_size,
            sparsity=sparsity,
            x_dtype=x_dtype,
            blocks_dtype=blocks_dtype or x_dtype,
        )
        case.check()
        found.append(case)
    return found


def default() -> list[Case]:
    """Everything that `make bench` says about single products."""
    wide = MAIN_SHAPES[:1]
    few = [(16, 4096, 4096), (1, 4096, 4096)]
    cases = [
        *combinations(MAIN_SHAPES, block_sizes=(4, *MAIN_BLOCK_SIZES)),
        *combinations(few, ("forward", "dx"), (16, 32), dtypes=MIXED_DTYPES),
        *combinations(
            wide, ("forward",), sparsities=(0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98)
        ),
        *combinations(NEIGHBOURS, block_sizes=(16, 32)),
        *combinations(MAIN_SHAPES[:2], dtypes=("bfloat16", "float16")),
    ]
    return list(dict.fromkeys(cases))


def groups(cases: Iterable[Case]) -> list[list[Case]]:
    """Cases that are timed in turns: of one size, product and sparsity."""
    found: dict[tuple[object, ...], list[Case]] = {}
    for case in cases:
        key = (
            case.rows,
            case.inputs,
            case.outputs,
            case.product,
            case.sparsity,
        )
        found.setdefault(key, []).append(case)
    return list(found.values())


def seconds(
    cases: Sequence[Case],
    rounds: int,
    gflops: float,
    longest: float = float("inf"),
) -> float:
    """About how long a group takes, with so many GFLOP/s at most.

    Args:
      longest: seconds after which its rounds end.
    """
    numbers = cases[0].inputs * cases[0].outputs
    # Few rows are bound by the memory, and 16-bit products are slow.
    dense = max(cases[0].dense_flops, 24.0 * numbers) / (0.6e9 * gflops)
    calls = [
        call_seconds(dense * (1 + ("16" in dtype)))
        for dtype in {case.x_dtype for case in cases}
    ]
    calls += [call_seconds(dense * (1 - case.sparsity)) for case in cases]
    checks = 0.2 + 3e-8 * numbers * (1 + len(cases))
    return checks + min(longest, rounds * sum(calls)) + 2 * sum(calls)


def call_seconds(single: float) -> float:
    """How long a call of `turns.in_graph` takes, if its work does so once."""
    return max(single, min(0.25, max(20e-3, 8 * single)))
