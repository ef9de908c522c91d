# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""A flat block butterfly and, for what is low-rank, full rows and columns."""

from tf_blocksparse import _arguments
from tf_blocksparse.patterns._types import Mask
from tf_blocksparse.patterns.butterfly import butterfly


def pixelated_butterfly(
    grid: tuple[int, int],
    max_stride: int | None = None,
    low_rank: int = 1,
) -> Mask:
    """A flat block butterfly, and a low-rank part as full rows and columns.

    A fixed layout that suits most layers of attention and MLPs, and that two
    products connect: train it from scratch, without a search for a mask.

    Rule: the blocks of `butterfly`, those of the first `low_rank` inputs and
    those of the first `low_rank` outputs. What rows and columns alone hold is
    a matrix of rank at most 2 * low_rank * block size. The paper adds a product
    of two thin dense matrices for it, which is another layer; full rows and
    columns are that term as blocks of the same weight.

    Args:
      grid: (input blocks, output blocks).
      max_stride: as for `butterfly`.
      low_rank: number of full rows and of full columns of blocks, 0 to the
        grid's shorter side.

    Returns:
      bool array `[input blocks, output blocks]`.

    Raises:
      ValueError: if an argument is out of range.

    Source: Dao et al., "Pixelated Butterfly: Simple and Efficient Sparse
    Training for Neural Network Models", 2021.

    >>> pixelated_butterfly((6, 6), max_stride=2).astype(int)
    array([[1, 1, 1, 1, 1, 1],
           [1, 1, 0, 1, 0, 0],
           [1, 0, 1, 1, 0, 0],
           [1, 1, 1, 1, 0, 0],
           [1, 0, 0, 0, 1, 1],
           [1, 0, 0, 0, 1, 1]])
    """
    mask = butterfly(grid, max_stride)
    advice = "0 is a butterfly alone"
    most = min(mask.shape)
    low_rank = _arguments.integer("low_rank", low_rank, 0, most, advice)
    mask[:low_rank] = True
    mask[:, :low_rank] = True
    return mask
