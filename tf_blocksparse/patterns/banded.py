# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""All blocks near the diagonal."""

import numpy as np

from tf_blocksparse import _arguments
from tf_blocksparse.patterns._types import Mask


def banded(grid: tuple[int, int], bandwidth: int) -> Mask:
    """All blocks near the diagonal: each output sees its neighbourhood.

    On a square grid a block exists where |c - k| <= bandwidth. In general the
    distance of the block's centre from the diagonal counts, in units of the
    shorter side: |(c + 1/2) / rows - (k + 1/2) / columns| * min(rows, columns)
    <= bandwidth + 1/2. So every input and output has a block, and the band of
    the transposed grid is the transposed band.

    Args:
      grid: (input blocks, output blocks).
      bandwidth: blocks on each side of the diagonal, >= 0.

    Returns:
      bool array `[input blocks, output blocks]`.

    Raises:
      ValueError: if an argument is out of range.

    >>> banded((4, 4), 1).astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 1, 0],
           [0, 1, 1, 1],
           [0, 0, 1, 1]])
    """
    rows, columns = _arguments.grid(grid)
    advice = "0 gives the diagonal alone"
    bandwidth = _arguments.integer("bandwidth", bandwidth, 0, None, advice)
    # This much is the whole grid already; it keeps the products in int64.
    bandwidth = min(bandwidth, rows, columns)
    # The rule times 2 * rows * columns / min, solved for c: whole numbers.
    width = (2 * bandwidth + 1) * max(rows, columns)
    centre = (2 * np.arange(columns) + 1) * rows - columns
    first = -((width - centre) // (2 * columns))
    last = (centre + width) // (2 * columns)
    row = np.arange(rows)[:, None]
    return (row >= first) & (row <= last)
