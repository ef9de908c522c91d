# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""More blocks where there are fewest."""

import numpy as np
import numpy.typing as npt

from tf_blocksparse import _arguments
from tf_blocksparse.patterns import _words
from tf_blocksparse.patterns._types import Indices, Mask


def low_degree_edges(mask: npt.ArrayLike, count: int, seed: int) -> Mask:
    """A mask with more blocks, where inputs and outputs have fewest.

    To reach an exact number of blocks, or to help the poor nodes of a graph
    such as `barabasi_albert`'s; the small-world LSTM had layouts like that.

    Rule: one by one, of the outputs with the fewest blocks, among those that
    are not full, a random one gets a block from a random one of the inputs
    with the fewest blocks, among those it doesn't see yet.

    Args:
      mask: `[input blocks, output blocks]` of bool, or of 0 and 1.
      count: number of blocks that there shall be, from the mask's own to all.
      seed: integer >= 0; it means the same mask on every machine.

    Returns:
      bool array `[input blocks, output blocks]` with `count` true entries,
      those of `mask` among them.

    Raises:
      ValueError: if an argument is out of range.

    Source: the examples of openai/blocksparse, which belong to Gray, Radford
    and Kingma, "GPU Kernels for Block-Sparse Weights", 2017.

    >>> mask = np.array([[1, 1, 1], [1, 0, 0], [1, 0, 0]])
    >>> low_degree_edges(mask, 7, seed=0).sum(axis=0).tolist()
    [3, 2, 2]
    """
    # A copy.
    made: Mask = np.array(_arguments.mask(mask))
    if made.ndim != 2:
        raise ValueError(
            f"mask: got shape {made.shape}, expected [input blocks, output "
            "blocks]; take the mask of each tap"
        )
    advice = "blocks are only added, and the mask has so many places"
    low = int(np.count_nonzero(made))
    count = _arguments.integer("count", count, low, made.size, advice)
    words = _words.generator(seed)
    of_inputs = made.sum(axis=1)
    of_outputs = made.sum(axis=0)
    never = made.size
    for _ in range(count - low):
        is_full = of_outputs == made.shape[0]
        k = _lowest(np.where(is_full, never, of_outputs), words)
        c = _lowest(np.where(made[:, k], never, of_inputs), words)
        made[c, k] = True
        of_inputs[c] += 1
        of_outputs[k] += 1
    return made


def _lowest(values: Indices, words: np.random.PCG64) -> int:
    """Where the smallest of some numbers is; one place of several."""
    places = np.flatnonzero(values == values.min())
    return int(places[_words.below(places.size, 1, words)[0]])
