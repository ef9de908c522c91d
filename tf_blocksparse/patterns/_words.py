# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Randomness from the raw words of the PCG64 generator.

NumPy may change what its distributions make of a seed, but never these words:
so a seed means the same mask on every machine and every version of NumPy.
"""

import numpy as np

from tf_blocksparse import _arguments
from tf_blocksparse.patterns._types import Indices, Mask


def generator(seed: int) -> np.random.PCG64:
    """The words of a seed, which is checked."""
    advice = "any will do, 0 for instance"
    seed = _arguments.integer("seed", seed, 0, None, advice)
    return np.random.PCG64(seed)


def shuffled(values: Indices, words: np.random.PCG64) -> Indices:
    """`values` in random order."""
    # The low bits of each word become the position: all keys differ, so every
    # sorting algorithm gives the same order.
    low = np.uint64((1 << values.size.bit_length()) - 1)
    keys = words.random_raw(values.size) & ~low
    keys |= np.arange(values.size, dtype=np.uint64)
    keys.sort()
    order = (keys & low).astype(np.int64)
    result: Indices = values[order]
    return result


def below(limit: int, size: int, words: np.random.PCG64) -> Indices:
    """`size` random numbers in 0..limit-1; 64 bits make the bias nothing."""
    numbers = words.random_raw(size) % np.uint64(limit)
    return np.asarray(numbers, np.int64)


def chance(probability: float, size: int, words: np.random.PCG64) -> Mask:
    """`size` times true with a probability; always so with 1."""
    # 53 bits are exact in a float.
    numbers = words.random_raw(size) >> np.uint64(11)
    return numbers < np.uint64(probability * 2.0**53)


def first_of_each(values: Indices) -> Mask:
    """True where a value occurs for the first time."""
    first = np.zeros(values.size, np.bool_)
    first[np.unique(values, return_index=True)[1]] = True
    return first
