# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Several masks whose product connects each input and output once."""

import functools
import math
import numbers
from collections.abc import Sequence

import numpy as np

from tf_blocksparse import _arguments
from tf_blocksparse.patterns._types import Mask


def interleaved(
    grid: tuple[int, int], factors: int | Sequence[tuple[int, int]] = 2
) -> list[Mask]:
    """Masks of layers in a row that connect each input and output once.

    Interleaved group convolutions: a dense layer of n x n blocks becomes L
    grouped ones of together about L n^(1 + 1/L) blocks, with the strict
    complementary condition: from each input to each output leads exactly one
    path.

    Rule: with L pairs (p_1, q_1), ..., (p_L, q_L) of factors, an input is
    written in digits of base p_1, ..., p_L, the first the most significant,
    and an output in digits of base q_1, ..., q_L. Layer l reads a number of
    digits q_1 ... q_(l-1) p_l ... p_L and replaces digit l: its blocks connect
    numbers that agree in all others, so they are full groups of p_l x q_l.

    Args:
      grid: (input blocks, output blocks) of the whole product.
      factors: pairs (inputs, outputs) of integers >= 1, whose products are the
        sides of the grid; or the number L of layers, >= 1, for pairs as equal
        as the sides allow. Sides that are prime leave no choice: pad them.

    Returns:
      list of L bool arrays `[input blocks, output blocks]`, to be applied in
      this order; the outputs of each are the inputs of the next.

    Raises:
      ValueError: if an argument is out of range.

    Source: Xie et al., "Interleaved Structured Sparse Convolutional Neural
    Networks" (IGCV2), CVPR 2018.

    >>> first, second = interleaved((4, 4))
    >>> first.astype(int)
    array([[1, 0, 1, 0],
           [0, 1, 0, 1],
           [1, 0, 1, 0],
           [0, 1, 0, 1]])
    >>> second.astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 0, 0],
           [0, 0, 1, 1],
           [0, 0, 1, 1]])
    >>> (first.astype(int) @ second).tolist() == np.ones((4, 4)).tolist()
    True
    """
    grid = _arguments.grid(grid)
    pairs = _pairs(grid, factors)
    masks = []
    for i, (inputs, outputs) in enumerate(pairs):
        # Digits before this one are of outputs by now, those behind of inputs.
        before = math.prod(pair[1] for pair in pairs[:i])
        behind = math.prod(pair[0] for pair in pairs[i + 1 :])
        sides = (before * inputs * behind, before * outputs * behind)
        _arguments.grid(sides)
        mask = np.zeros((before, inputs, behind, before, outputs, behind), bool)
        one, two = np.indices((before, behind)).reshape(2, -1)
        mask[one, :, two, one, :, two] = True
        masks.append(mask.reshape(sides))
    return masks


def _pairs(
    grid: tuple[int, int], factors: int | Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The factors of both sides, checked or chosen."""
    advice = "give the number of layers, or a pair for each"
    if isinstance(factors, (numbers.Integral, bool)):
        steps = _arguments.integer("factors", factors, 1, 64, advice)
        return list(zip(*(_equal(side, steps) for side in grid), strict=True))
    if not isinstance(factors, (tuple, list)) or not factors:
        raise ValueError(
            f"factors: got {_arguments.shown(factors)}, expected an integer or "
            f"pairs of integers; {advice}"
        )
    pairs = [
        _arguments.pair(f"factors[{i}]", pair, 1, None, advice)
        for i, pair in enumerate(factors)
    ]
    products = tuple(math.prod(sizes) for sizes in zip(*pairs, strict=True))
    if products != grid:
        raise ValueError(
            f"factors: got {pairs}, whose products are {products}, expected "
            f"those of the grid, {grid}; multiply them"
        )
    return pairs


@functools.cache
def _equal(number: int, steps: int) -> tuple[int, ...]:
    """`steps` factors of a number with the smallest sum, falling."""
    if steps == 1:
        return (number,)
    small = [i for i in range(1, math.isqrt(number) + 1) if number % i == 0]
    divisors = sorted({*small, *(number // i for i in small)}, reverse=True)
    rests = ((i, *_equal(number // i, steps - 1)) for i in divisors)
    best = min(rests, key=lambda each: (sum(each), sorted(each)))
    return tuple(sorted(best, reverse=True))
