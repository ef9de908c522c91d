# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""From the blocks of one layout to those of another."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tf_blocksparse import _packed
from tf_blocksparse.layout import BlockLayout

Indices = npt.NDArray[np.int64]


def sources(old: BlockLayout, new: BlockLayout) -> Indices:
    """For each block of `new` its number in `old`, -1 where it is not there.

    Both are of one grid, with or without taps.
    """
    before, after = _numbers(old), _numbers(new)
    if not before.size:
        return np.full(after.size, -1)
    # Blocks are in the order of these numbers.
    found = np.minimum(np.searchsorted(before, after), before.size - 1)
    return np.where(before[found] == after, found, -1)


def move(
    values: npt.NDArray[Any], source: Indices, initial: float = 0.0
) -> npt.NDArray[Any]:
    """Values of the old blocks as those of the new, others at `initial`.

    Args:
      values: `[old nnz, ...]`, of blocks or of what an optimizer keeps.
      source: as `sources` tells.
      initial: of blocks that are new.
    """
    moved = np.full((source.size, *values.shape[1:]), initial, values.dtype)
    known = source >= 0
    moved[known] = values[source[known]]
    return moved


def _numbers(layout: BlockLayout) -> Indices:
    """The place of each block as a number, ascending."""
    grid = layout.packed_grid
    rows, columns = _packed.places(layout.packed, grid)
    return columns * np.int64(grid[0]) + rows
