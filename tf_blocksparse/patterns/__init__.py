# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Makers of block masks: which blocks of a grid exist.

A mask is a bool array `[input blocks, output blocks]`; `grid` is its shape.
`BlockLayout.from_pattern` and `BlockLayout`'s constructors call these; use
them directly to combine patterns, for instance a band with random blocks:

    >>> grid = (8, 8)
    >>> mask = banded(grid, 1) | balanced_random(grid, 8, seed=0)
    >>> mask.shape
    (8, 8)

A seed means the same mask on every machine and every version of NumPy.
`docs/patterns.md` has pictures, and says what each is for.
"""

from tf_blocksparse.patterns._types import Mask
from tf_blocksparse.patterns.balanced_random import balanced_random
from tf_blocksparse.patterns.banded import banded
from tf_blocksparse.patterns.barabasi_albert import barabasi_albert
from tf_blocksparse.patterns.block_count import block_count
from tf_blocksparse.patterns.block_diagonal import block_diagonal
from tf_blocksparse.patterns.butterfly import butterfly
from tf_blocksparse.patterns.interleaved import interleaved
from tf_blocksparse.patterns.locally_connected import locally_connected
from tf_blocksparse.patterns.low_degree_edges import low_degree_edges
from tf_blocksparse.patterns.mix_factor import mix_factor
from tf_blocksparse.patterns.pixelated_butterfly import pixelated_butterfly
from tf_blocksparse.patterns.strided import strided
from tf_blocksparse.patterns.watts_strogatz import (
    watts_strogatz,
    watts_strogatz_2d,
)

__all__ = [
    "Mask",
    "balanced_random",
    "banded",
    "barabasi_albert",
    "block_count",
    "block_diagonal",
    "butterfly",
    "interleaved",
    "locally_connected",
    "low_degree_edges",
    "mix_factor",
    "pixelated_butterfly",
    "strided",
    "watts_strogatz",
    "watts_strogatz_2d",
]
