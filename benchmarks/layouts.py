# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Layouts of the kinds that are measured."""

import numpy as np
from case import Case
from conv_case import ConvCase

from tf_blocksparse import BlockLayout

# Of the blocks of the fullest to those of the emptiest outputs.
_SKEW = 10


def of(case: Case | ConvCase, seed: int) -> BlockLayout:
    """The layout of a case.

    `skewed` has outputs with ten times the blocks of the others (dx: inputs,
    which are its results); with more than 55 % of the blocks that is a growing
    number of full ones. `block_diagonal` has as many groups as the sparsity
    allows.
    """
    shape = (case.inputs, case.outputs)
    size, sparsity = case.block_size, case.sparsity
    if case.layout == "balanced":
        return BlockLayout.random(shape, size, sparsity=sparsity, seed=seed)
    grid = tuple(-(-side // size) for side in shape)
    if case.layout == "block_diagonal":
        groups = round(1 / max(1 - sparsity, 1e-9))
        groups = min(max(groups, 1), *grid)
        return BlockLayout.block_diagonal(shape, size, groups=groups)
    if case.layout == "skewed":
        skewed = grid[::-1] if case.product == "dx" else grid
        mask = _skewed(skewed, 1 - sparsity, seed)
        mask = mask.T if case.product == "dx" else mask
        return BlockLayout(mask, size, *shape)
    raise ValueError(f"layout: got {case.layout}, expected one of LAYOUTS")


def of_kernel(case: ConvCase, seed: int) -> BlockLayout:
    """The layout of a convolution: a matrix's, or a balanced one per tap."""
    if not case.per_tap:
        return of(case, seed)
    return BlockLayout.random(
        (*case.kernel_size, case.inputs, case.outputs),
        case.block_size,
        sparsity=case.sparsity,
        seed=seed,
    )


def entries(layout: BlockLayout) -> int:
    """Entries of the blocks that lie inside of the weight.

    Of a kernel: of one tap if all taps share the layout, else of all together.
    """
    heights, widths = (
        np.minimum(block, size - np.arange(0, size, block))
        for size, block in zip(layout.shape, layout.block_size, strict=True)
    )
    return int(np.sum(heights @ layout.mask @ widths))


def _skewed(grid: tuple[int, int], density: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows, columns = grid
    # Half of the columns are heavy, until these have no more places.
    heavy = 2 * _SKEW / (_SKEW + 1) * density
    share = 0.5
    if heavy > 1:
        heavy = 1.0
        share = (density - 1 / _SKEW) / (1 - 1 / _SKEW)
    counts = np.full(columns, rows * heavy / _SKEW)
    counts[rng.permutation(columns)[: round(columns * share)]] = rows * heavy
    # Of a fraction of a block, the same share of columns gets a whole one.
    counts = np.floor(counts + rng.random(columns)).astype(int)
    places = rng.random(grid).argsort(axis=0).argsort(axis=0)
    return places < counts
