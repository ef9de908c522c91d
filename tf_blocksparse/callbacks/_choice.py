# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Which blocks are dropped, and where new ones grow: NumPy alone."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tf_blocksparse import _packed
from tf_blocksparse.conversion import _criteria
from tf_blocksparse.layout import BlockLayout


def regrown(
    layout: BlockLayout,
    weights: npt.NDArray[Any],
    scores: npt.NDArray[Any],
    count: int,
    inside: npt.NDArray[np.bool_],
) -> BlockLayout:
    """The layout without its lightest blocks, and with as many others.

    `nnz - count` of the heaviest blocks stay. Then `count` blocks grow, where
    the scores are largest among all places that are empty now: those of the
    blocks just dropped as well. Of equal ones the first wins, in the order of
    blocks: by output, input and tap.

    Args:
      layout: what is there.
      weights: `[nnz]`, how heavy each block is.
      scores: in the shape of the layout's mask, what growing a block promises.
      count: how many blocks are dropped, 0 to nnz.
      inside: `[input blocks, output blocks]`, where blocks may grow.
    """
    grid = layout.packed_grid
    stay = _criteria.heaviest(weights, layout.nnz - count)
    rows, columns = _packed.places(layout.packed, grid)
    # Output first: in the order of blocks.
    kept = np.zeros(grid[::-1], np.bool_)
    kept[columns[stay], rows[stay]] = True
    every = np.broadcast_to(inside, layout.mask.shape)
    empty = np.flatnonzero(_packed.rows_of(every).T & ~kept)
    promised = _packed.rows_of(scores).T.ravel()[empty]
    grown = empty[_criteria.heaviest(promised, count)]
    kept.ravel()[grown] = True
    mask = _packed.taps_of(kept.T, layout.taps)
    return BlockLayout(mask, layout.block_size, *layout.shape)
