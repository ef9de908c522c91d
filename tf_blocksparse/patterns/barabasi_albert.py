# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Scale-free graphs: a few blocks that nearly everything goes through."""

import numpy as np

from tf_blocksparse import _arguments
from tf_blocksparse.patterns import _words
from tf_blocksparse.patterns._graphs import mask_of_edges
from tf_blocksparse.patterns._types import Indices, Mask


def barabasi_albert(grid: tuple[int, int], m: int, seed: int) -> Mask:
    """A Barabasi-Albert graph with the diagonal and a dense corner.

    The layout of the small-world LSTM: a few hubs, the first blocks, are
    connected with nearly everything, so that after two or three products
    every output depends on every input. Use it for deep or recurrent layers
    that are very sparse; outputs do unequal work.

    Rule: a graph without directions grows from m nodes. Each further node is
    joined to m different older ones, chosen with a probability proportional
    to their edges (the first is joined to all m). A block exists where its
    input and its output are joined, are the same node (c = k), or are both
    among the first m. Of n nodes that makes

        nnz = 2 m (n - m) + (n - m) + m^2

    On a grid that is not square, n is the longer side, and along the shorter
    one the nodes start over: node i is block i modulo the side. Blocks then
    coincide, and nnz is smaller.

    Args:
      grid: (input blocks, output blocks).
      m: edges of each node when it is added, 1 to the grid's shorter side.
      seed: integer >= 0; it means the same mask on every machine.

    Returns:
      bool array `[input blocks, output blocks]`, symmetric if square.

    Raises:
      ValueError: if an argument is out of range.

    Source: Barabasi and Albert, "Emergence of Scaling in Random Networks",
    Science 286, 1999; as a layout: Gray, Radford and Kingma, "GPU Kernels for
    Block-Sparse Weights", 2017.

    >>> mask = barabasi_albert((576, 576), 5, seed=0)
    >>> f"{mask.mean():.1%}", int(mask.sum(axis=0).min())
    ('1.9%', 6)
    """
    grid = _arguments.grid(grid)
    advice = "it is how many blocks each further one is joined to"
    m = _arguments.integer("m", m, 1, min(grid), advice)
    words = _words.generator(seed)
    nodes = max(grid)
    # Each node as often as it has edges: a draw of these is proportional.
    ends = np.empty(2 * m * (nodes - m), np.int64)
    older = np.empty((nodes - m, m), np.int64)
    for i in range(nodes - m):
        drawn = ends[: 2 * m * i]
        older[i] = _different(drawn, m, words) if i else np.arange(m)
        ends[2 * m * i : 2 * m * i + m] = older[i]
        ends[2 * m * i + m : 2 * m * (i + 1)] = m + i
    mask = mask_of_edges(
        grid, np.repeat(np.arange(m, nodes), m), older.reshape(-1)
    )
    mask[:m, :m] = True
    return mask


def _different(values: Indices, count: int, words: np.random.PCG64) -> Indices:
    """`count` different ones of `values`, each draw with equal chances."""
    chosen: dict[int, None] = {}
    while len(chosen) < count:
        places = _words.below(values.size, count - len(chosen), words)
        chosen.update(dict.fromkeys(values[places].tolist()))
    return np.array(list(chosen), np.int64)
