# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Graphs as masks: blocks of the two sides are nodes, blocks are edges."""

from typing import Any

import numpy as np

from tf_blocksparse.patterns._types import Indices, Mask


def mask_of_edges(grid: tuple[int, int], one: Indices, other: Indices) -> Mask:
    """The mask of a graph without directions, each node with a loop.

    The graph has as many nodes as the longer side of the grid. Along the
    shorter side they start over at its end: node i is place i modulo the size.
    """
    rows, columns = grid
    loops = np.arange(max(grid))
    ends: list[Any] = [np.concatenate([one, other, loops])]
    ends.append(np.concatenate([other, one, loops]))
    mask = np.zeros(grid, np.bool_)
    mask[ends[0] % rows, ends[1] % columns] = True
    return mask
