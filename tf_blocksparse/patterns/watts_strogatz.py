# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Small worlds: neighbours on a ring or a torus, a few of them far away."""

import numpy as np

from tf_blocksparse import _arguments
from tf_blocksparse.patterns import _words
from tf_blocksparse.patterns._graphs import mask_of_edges
from tf_blocksparse.patterns._types import Indices, Mask


def watts_strogatz(grid: tuple[int, int], m: int, p: float, seed: int) -> Mask:
    """A ring of neighbours, some of whose edges lead anywhere; the diagonal.

    Between `banded` (p = 0) and a random graph (p = 1): mostly local, yet
    after a few products every output depends on every input. Outputs do about
    equal work.

    Rule: n nodes stand on a ring, each joined to m on either side. Then, for
    the nearest neighbours, the next ones and so on, node by node, the edge to
    the following neighbour is replaced with probability p by one to a random
    node that is not joined yet. A block exists where its input and its output
    are joined or are the same node: nnz = n (2 m + 1).

    On a grid that is not square, n is the longer side, and along the shorter
    one the nodes start over: node i is block i modulo the side. Blocks then
    coincide, and nnz is smaller.

    Args:
      grid: (input blocks, output blocks).
      m: neighbours on either side, 0 to (n - 1) // 2.
      p: probability with which an edge is replaced, 0 to 1.
      seed: integer >= 0; it means the same mask on every machine.

    Returns:
      bool array `[input blocks, output blocks]`, symmetric if square.

    Raises:
      ValueError: if an argument is out of range.

    Source: Watts and Strogatz, "Collective Dynamics of Small-World Networks",
    Nature 393, 1998; as a layout: Gray, Radford and Kingma, "GPU Kernels for
    Block-Sparse Weights", 2017.

    >>> watts_strogatz((6, 6), 1, 0.0, seed=0).astype(int)
    array([[1, 1, 0, 0, 0, 1],
           [1, 1, 1, 0, 0, 0],
           [0, 1, 1, 1, 0, 0],
           [0, 0, 1, 1, 1, 0],
           [0, 0, 0, 1, 1, 1],
           [1, 0, 0, 0, 1, 1]])
    >>> int(watts_strogatz((6, 6), 1, 1.0, seed=0).sum())
    18
    """
    grid = _arguments.grid(grid)
    nodes = max(grid)
    advice = "it is how many neighbours a block has on either side"
    m = _arguments.integer("m", m, 0, (nodes - 1) // 2, advice)
    steps = np.arange(1, m + 1)
    neighbours = (np.arange(nodes) + steps[:, None]) % nodes
    return _rewired(grid, neighbours, p, seed)


def watts_strogatz_2d(
    grid: tuple[int, int],
    positions: tuple[int, int],
    m: int,
    p: float,
    seed: int,
) -> Mask:
    """A torus of neighbours, some of whose edges lead anywhere; the diagonal.

    `watts_strogatz` for blocks that have two dimensions, such as those of a
    picture: paths are shorter than on a ring, sqrt(n) instead of n.

    Rule: n nodes stand on a torus, row by row. Each is joined to its 2 m
    nearest, that is to m offsets (down, right) and to their opposites, in
    order of down^2 + right^2: m = 2 are the four neighbours, m = 4 those at the
    corners too. Then edges are replaced as in `watts_strogatz`, offset by
    offset; the diagonal, nnz and grids that are not square are as there.

    Args:
      grid: (input blocks, output blocks).
      positions: height and width of the torus; their product is n, the longer
        side of the grid.
      m: edges that each node starts, 0 to as many as there are offsets that
        are not their own opposites.
      p: probability with which an edge is replaced, 0 to 1.
      seed: integer >= 0; it means the same mask on every machine.

    Returns:
      bool array `[input blocks, output blocks]`, symmetric if square.

    Raises:
      ValueError: if an argument is out of range.

    Source: see `watts_strogatz`.

    >>> mask = watts_strogatz_2d((16, 16), (4, 4), 2, 0.0, seed=0)
    >>> mask[5].reshape(4, 4).astype(int)
    array([[0, 1, 0, 0],
           [1, 1, 1, 0],
           [0, 1, 0, 0],
           [0, 0, 0, 0]])
    """
    grid = _arguments.grid(grid)
    nodes = max(grid)
    advice = "give (height, width)"
    height, width = _arguments.pair("positions", positions, 1, None, advice)
    if height * width != nodes:
        raise ValueError(
            f"positions: got {height} x {width} = {height * width}, expected "
            f"the longer side of the grid, {nodes}; choose two of its divisors"
        )
    offsets = _offsets(height, width)
    advice = "it is how many neighbours on the torus each block is joined to"
    m = _arguments.integer("m", m, 0, len(offsets), advice)
    row, column = np.divmod(np.arange(nodes), width)
    down, right = offsets[:m].T[..., None]
    neighbours = (row + down) % height * width + (column + right) % width
    return _rewired(grid, neighbours, p, seed)


def _offsets(height: int, width: int) -> Indices:
    """One of each two opposite offsets on a torus, the nearest first."""
    down = np.arange(height)[:, None]
    right = np.arange(width)[None, :]
    # As the crow flies, the short way round.
    distance = (
        np.minimum(down, height - down) ** 2
        + np.minimum(right, width - right) ** 2
    )
    number = down * width + right
    opposite = -down % height * width + -right % width
    first = np.flatnonzero(number < opposite)
    order = np.argsort(distance.reshape(-1)[first], kind="stable")
    return np.stack(np.divmod(first[order], width), axis=1)


def _rewired(
    grid: tuple[int, int], neighbours: Indices, p: float, seed: int
) -> Mask:
    """The mask of edges to `[m, n]` neighbours, of which p are replaced."""
    p = _arguments.fraction("p", p, "0 replaces no edge, 1 every one")
    words = _words.generator(seed)
    nodes = max(grid)
    joined: list[set[int]] = [{i} for i in range(nodes)]
    for targets in neighbours.tolist():
        for i, j in enumerate(targets):
            joined[i].add(j)
            joined[j].add(i)
    for targets in neighbours:
        for i in np.flatnonzero(_words.chance(p, nodes, words)).tolist():
            if len(joined[i]) == nodes:
                continue  # there is no other node
            j = int(targets[i])
            other = _other(joined[i], nodes, words)
            joined[i].remove(j)
            joined[j].remove(i)
            joined[i].add(other)
            joined[other].add(i)
            targets[i] = other
    one = np.tile(np.arange(nodes), len(neighbours))
    return mask_of_edges(grid, one, neighbours.reshape(-1))


def _other(joined: set[int], nodes: int, words: np.random.PCG64) -> int:
    """A random node that is not joined."""
    if 2 * len(joined) > nodes:  # a try would mostly fail
        others = [i for i in range(nodes) if i not in joined]
        return others[int(_words.below(len(others), 1, words)[0])]
    while True:
        other = int(_words.below(nodes, 1, words)[0])
        if other not in joined:
            return other
