# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Every so many-th block."""

import numpy as np

from tf_blocksparse import _arguments
from tf_blocksparse.patterns._types import Mask


def strided(grid: tuple[int, int], stride: int) -> Mask:
    """Every stride-th block: each output sees the whole range, thinly.

    A block exists where c - k is a multiple of the stride, so density is
    1 / stride. On its own it never mixes the `stride` classes of blocks;
    join it with a `banded` mask, as the Sparse Transformer does, or put it
    after a layer of `block_diagonal`, and two products connect everything.

    Args:
      grid: (input blocks, output blocks).
      stride: distance of blocks along both sides, 1 (all blocks) to the
        grid's shorter side; so every input and output has a block.

    Returns:
      bool array `[input blocks, output blocks]`.

    Raises:
      ValueError: if an argument is out of range.

    Source: Child et al., "Generating Long Sequences with Sparse
    Transformers", 2019.

    >>> strided((4, 6), 3).astype(int)
    array([[1, 0, 0, 1, 0, 0],
           [0, 1, 0, 0, 1, 0],
           [0, 0, 1, 0, 0, 1],
           [1, 0, 0, 1, 0, 0]])
    """
    rows, columns = _arguments.grid(grid)
    advice = "with a longer one inputs or outputs would have no block"
    stride = _arguments.integer("stride", stride, 1, min(rows, columns), advice)
    mask: Mask = (np.arange(rows)[:, None] - np.arange(columns)) % stride == 0
    return mask
