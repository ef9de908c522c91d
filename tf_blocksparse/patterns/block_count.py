# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""How many blocks a sparsity means."""

from tf_blocksparse import _arguments


def block_count(grid: tuple[int, int], sparsity: float, groups: int = 1) -> int:
    """The number of blocks that a sparsity means.

    round(n * (1 - sparsity)) of the grid's n places, but at least 1 unless
    the sparsity is exactly 1.

    Args:
      grid: (input blocks, output blocks).
      sparsity: share of places without a block, 0 to 1.
      groups: the places are those within that many equal rectangles along the
        diagonal; it divides both sides of the grid.

    Raises:
      ValueError: if the sparsity is no number from 0 to 1, or `groups` does
        not divide the grid.

    >>> block_count((8, 8), 0.9)
    6
    >>> block_count((2, 2), 0.99), block_count((2, 2), 1.0)
    (1, 0)
    """
    rows, columns = _arguments.grid(grid)
    places = rows * columns // equal_groups(groups, rows, columns)
    return keep_count(places, sparsity)


def keep_count(count: int, sparsity: float) -> int:
    """How many of `count` places for blocks a sparsity leaves.

    round(count * (1 - sparsity)), but at least 1 unless the sparsity is
    exactly 1, or there is no place.

    >>> keep_count(64, 0.9), keep_count(4, 0.99), keep_count(4, 1.0)
    (6, 1, 0)
    """
    sparsity = _arguments.fraction(
        "sparsity", sparsity, "0.9 leaves a tenth of the blocks"
    )
    if sparsity == 1.0:
        return 0
    return min(max(round(count * (1.0 - sparsity)), 1), count)


def equal_groups(groups: int, rows: int, columns: int) -> int:
    """`groups`, checked to divide both sides of a grid."""
    advice = "every group needs an input and an output block"
    most = min(rows, columns)
    groups = _arguments.integer("groups", groups, 1, most, advice)
    if rows % groups or columns % groups:
        raise ValueError(
            f"groups: got {groups} for a grid of {rows} x {columns} blocks, "
            "expected a divisor of both; choose another block size, or pad "
            "the features"
        )
    return groups
