# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Butterflies: as in the fast Fourier transform, all of its steps at once."""

import numpy as np

from tf_blocksparse import _arguments
from tf_blocksparse.patterns._types import Mask


def butterfly(grid: tuple[int, int], max_stride: int | None = None) -> Mask:
    """The blocks of all butterfly factors together: a flat block butterfly.

    A product of log2(n) butterfly factors can express fast transforms; one
    layer with the blocks of all of them is nearly as expressive, and much
    faster. Each output has at most 1 + log2(n) blocks, and log2(n) products
    connect everything.

    Rule: on a grid of n x n a block exists where c = k or where the binary
    digits of c and k differ in one place whose value, the factor's stride, is
    at most `max_stride`. n need not be a power of two; what lies outside is
    missing. On a grid that is not square, n is the shorter side, and each
    pattern is stretched along the longer one: block c of rows stands for node
    c * n // rows.

    Args:
      grid: (input blocks, output blocks).
      max_stride: the largest stride, a power of two, or 0 for the diagonal
        alone; None is all of them.

    Returns:
      bool array `[input blocks, output blocks]`.

    Raises:
      ValueError: if an argument is out of range.

    Source: Dao et al., "Pixelated Butterfly: Simple and Efficient Sparse
    Training for Neural Network Models", 2021.

    >>> butterfly((8, 8)).astype(int)
    array([[1, 1, 1, 0, 1, 0, 0, 0],
           [1, 1, 0, 1, 0, 1, 0, 0],
           [1, 0, 1, 1, 0, 0, 1, 0],
           [0, 1, 1, 1, 0, 0, 0, 1],
           [1, 0, 0, 0, 1, 1, 1, 0],
           [0, 1, 0, 0, 1, 1, 0, 1],
           [0, 0, 1, 0, 1, 0, 1, 1],
           [0, 0, 0, 1, 0, 1, 1, 1]])
    """
    rows, columns = _arguments.grid(grid)
    if max_stride is None:
        max_stride = _arguments.MAX_INT32
    else:
        advice = "the strides of butterfly factors are 1, 2, 4 and so on"
        max_stride = _arguments.integer(
            "max_stride", max_stride, 0, None, advice
        )
        if max_stride & (max_stride - 1):
            raise ValueError(
                f"max_stride: got {max_stride}, expected a power of two; "
                f"{advice}"
            )
    nodes = min(rows, columns)
    row_node = np.arange(rows) * nodes // rows
    column_node = np.arange(columns) * nodes // columns
    stride = row_node[:, None] ^ column_node
    # A number without its lowest one is 0 if it was a power of two, or 0.
    mask: Mask = (stride & (stride - 1) == 0) & (stride <= max_stride)
    return mask
