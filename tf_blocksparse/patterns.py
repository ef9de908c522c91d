# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Makers of block masks: which blocks of a grid exist.

A mask is a bool array `[input blocks, output blocks]`; `grid` is its shape.
`BlockLayout`'s constructors call these; use them directly to combine patterns,
for instance a band with random blocks:

    >>> grid = (8, 8)
    >>> mask = banded(grid, 1) | balanced_random(grid, 8, seed=0)
    >>> mask.shape
    (8, 8)
"""

import numpy as np
import numpy.typing as npt

from tf_blocksparse import _arguments

Mask = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]


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
    sparsity = _arguments.fraction(
        "sparsity", sparsity, "0.9 leaves a tenth of the blocks"
    )
    places = rows * columns // _equal_groups(groups, rows, columns)
    count = round(places * (1.0 - sparsity))
    return count if sparsity == 1.0 else max(count, 1)


def balanced_random(
    grid: tuple[int, int], count: int, seed: int, groups: int = 1
) -> Mask:
    """A random mask in which every input and every output has equal work.

    The counts per output block differ by at most one, and so do the counts
    per input block; which of them get one more is random too. So every input
    and output has a block as soon as `count` reaches the longer side of the
    grid. Apart from that, a mask shows no structure.

    Method: the configuration model with switches. A shuffled deck holds every
    input as often as its count says and is dealt to the outputs; an input
    dealt twice to one output is exchanged with a random other pair. Masks more
    than half full are made as the complement of a sparse one. Time and memory
    are about linear in the number of blocks and of places: a million blocks
    of a 4000 x 4000 grid take a fraction of a second.

    Only raw words of the PCG64 generator are used, so a seed means the same
    mask on every machine and every version of NumPy.

    Args:
      grid: (input blocks, output blocks).
      count: number of blocks, 0 to all.
      seed: integer >= 0.
      groups: blocks lie within that many equal rectangles along the diagonal
        only, as in `block_diagonal`; it divides both sides of the grid.

    Returns:
      bool array `[input blocks, output blocks]` with `count` true entries.

    Raises:
      ValueError: if an argument is out of range.

    Source: Fosdick et al., "Configuring Random Graph Models with Fixed Degree
    Sequences", SIAM Review 60(2), 2018.

    >>> mask = balanced_random((4, 6), 12, seed=0)
    >>> mask.sum(axis=0).tolist(), mask.sum(axis=1).tolist()
    ([2, 2, 2, 2, 2, 2], [3, 3, 3, 3])
    """
    rows, columns = _arguments.grid(grid)
    groups = _equal_groups(groups, rows, columns)
    places = rows * columns // groups
    advice = "the grid has no more places"
    count = _arguments.integer("count", count, 0, places, advice)
    advice = "any will do, 0 for instance"
    seed = _arguments.integer("seed", seed, 0, None, advice)
    words = np.random.PCG64(seed)
    if groups == 1:  # without a draw of counts: a seed's mask is for ever
        return _deal_or_leave_out(rows, columns, count, words)
    mask = np.zeros((groups, rows // groups, groups, columns // groups), bool)
    for group, each in enumerate(_counts(groups, count, words)):
        mask[group, :, group] = _deal_or_leave_out(
            rows // groups, columns // groups, int(each), words
        )
    return mask.reshape(rows, columns)


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


def _equal_groups(groups: int, rows: int, columns: int) -> int:
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


def _deal_or_leave_out(
    rows: int, columns: int, count: int, words: np.random.PCG64
) -> Mask:
    places = rows * columns
    if 2 * count > places:
        return ~_deal(rows, columns, places - count, words)
    return _deal(rows, columns, count, words)


def _deal(rows: int, columns: int, count: int, words: np.random.PCG64) -> Mask:
    """A balanced random mask of at most half the places."""
    deck = _shuffled(
        np.repeat(np.arange(rows), _counts(rows, count, words)), words
    )
    hands = np.repeat(np.arange(columns), _counts(columns, count, words))
    # A place is column * rows + row: the memory order of the blocks.
    taken = np.zeros(columns * rows, np.bool_)
    waiting = hands * rows + deck
    placed = waiting[:0]
    # Ends, because a waiting pair (row, column) always has a partner. Its row
    # is missing in more than half of the columns, its column in more than half
    # of the rows, and the pairs of those columns are too many to be all in the
    # remaining rows: counts are even and at most half of each line's length.
    while True:
        free = _first_of_each(waiting) & ~taken[waiting]
        taken[waiting[free]] = True
        placed = np.concatenate([placed, waiting[free]])
        waiting = waiting[~free]
        if not waiting.size:
            return np.ascontiguousarray(taken.reshape(columns, rows).T)
        partner = _below(placed.size, waiting.size, words)
        column, row = np.divmod(waiting, rows)
        other_column, other_row = np.divmod(placed[partner], rows)
        one, two = column * rows + other_row, other_column * rows + row
        fits = np.flatnonzero(~(taken[one] | taken[two]))
        # Exchanges of one round must share neither partner nor place.
        fits = fits[_first_of_each(partner[fits])]
        first = _first_of_each(np.concatenate([one[fits], two[fits]]))
        fits = fits[first[: fits.size] & first[fits.size :]]
        partner, one, two = partner[fits], one[fits], two[fits]
        taken[placed[partner]] = False
        taken[one] = taken[two] = True
        placed[partner] = one
        placed = np.concatenate([placed, two])
        waiting = np.delete(waiting, fits)


def _counts(lines: int, count: int, words: np.random.PCG64) -> Indices:
    """`count` spread over `lines` evenly, the rest on random lines."""
    each, rest = divmod(count, lines)
    counts: Indices = each + (_shuffled(np.arange(lines), words) < rest)
    return counts


def _shuffled(values: Indices, words: np.random.PCG64) -> Indices:
    """`values` in random order."""
    # The low bits of each word become the position: all keys differ, so every
    # sorting algorithm gives the same order.
    low = np.uint64((1 << values.size.bit_length()) - 1)
    keys = words.random_raw(values.size) & ~low
    keys |= np.arange(values.size, dtype=np.uint64)
    keys.sort()
    order = (keys & low).astype(np.int64)
    shuffled: Indices = values[order]
    return shuffled


def _below(limit: int, size: int, words: np.random.PCG64) -> Indices:
    """`size` random numbers in 0..limit-1; 64 bits make the bias nothing."""
    numbers = words.random_raw(size) % np.uint64(limit)
    return np.asarray(numbers, np.int64)


def _first_of_each(values: Indices) -> npt.NDArray[np.bool_]:
    """True where a value occurs for the first time."""
    first = np.zeros(values.size, np.bool_)
    first[np.unique(values, return_index=True)[1]] = True
    return first
