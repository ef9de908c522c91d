# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Full rectangles along the diagonal."""

import numpy as np

from tf_blocksparse import _arguments
from tf_blocksparse.patterns._types import Mask


def block_diagonal(grid: tuple[int, int], groups: int | None = None) -> Mask:
    """Full squares along the diagonal: a grouped layer.

    Input blocks and output blocks are each cut into `groups` runs whose
    lengths differ by at most one; a block exists where input c and output k
    are in the same group: c * groups // rows == k * groups // columns.

    Args:
      grid: (input blocks, output blocks).
      groups: 1 (everything) to the grid's shorter side, the default: the
        thinnest diagonal in which every input and output has a block.

    Returns:
      bool array `[input blocks, output blocks]`.

    Raises:
      ValueError: if an argument is out of range.

    >>> block_diagonal((4, 4), 2).astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 0, 0],
           [0, 0, 1, 1],
           [0, 0, 1, 1]])
    """
    rows, columns = _arguments.grid(grid)
    most = min(rows, columns)
    if groups is None:
        groups = most
    advice = "every group needs an input and an output block"
    groups = _arguments.integer("groups", groups, 1, most, advice)
    row_group = np.arange(rows) * groups // rows
    column_group = np.arange(columns) * groups // columns
    mask: Mask = row_group[:, None] == column_group[None, :]
    return mask
