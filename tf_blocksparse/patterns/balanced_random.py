# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Random masks that give every input and every output equal work."""

import numpy as np

from tf_blocksparse import _arguments
from tf_blocksparse.patterns import _words
from tf_blocksparse.patterns._types import Indices, Mask
from tf_blocksparse.patterns.block_count import equal_groups


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
    groups = equal_groups(groups, rows, columns)
    places = rows * columns // groups
    advice = "the grid has no more places"
    count = _arguments.integer("count", count, 0, places, advice)
    words = _words.generator(seed)
    if groups == 1:  # without a draw of counts: a seed's mask is for ever
        return _deal_or_leave_out(rows, columns, count, words)
    mask = np.zeros((groups, rows // groups, groups, columns // groups), bool)
    for group, each in enumerate(_counts(groups, count, words)):
        mask[group, :, group] = _deal_or_leave_out(
            rows // groups, columns // groups, int(each), words
        )
    return mask.reshape(rows, columns)


def _deal_or_leave_out(
    rows: int, columns: int, count: int, words: np.random.PCG64
) -> Mask:
    places = rows * columns
    if 2 * count > places:
        return ~_deal(rows, columns, places - count, words)
    return _deal(rows, columns, count, words)


def _deal(rows: int, columns: int, count: int, words: np.random.PCG64) -> Mask:
    """A balanced random mask of at most half the places."""
    deck = _words.shuffled(
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
        free = _words.first_of_each(waiting) & ~taken[waiting]
        taken[waiting[free]] = True
        placed = np.concatenate([placed, waiting[free]])
        waiting = waiting[~free]
        if not waiting.size:
            return np.ascontiguousarray(taken.reshape(columns, rows).T)
        partner = _words.below(placed.size, waiting.size, words)
        column, row = np.divmod(waiting, rows)
        other_column, other_row = np.divmod(placed[partner], rows)
        one, two = column * rows + other_row, other_column * rows + row
        fits = np.flatnonzero(~(taken[one] | taken[two]))
        # Exchanges of one round must share neither partner nor place.
        fits = fits[_words.first_of_each(partner[fits])]
        first = _words.first_of_each(np.concatenate([one[fits], two[fits]]))
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
    counts: Indices = each + (_words.shuffled(np.arange(lines), words) < rest)
    return counts
