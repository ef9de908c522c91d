# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Where sparsity pays: a fixed rule, so that no model depends on a machine.

The numbers are read from the tables of docs/performance.md, "What to expect",
"Where less is won, or nothing" and "Convolutions", of both numbers of threads
and of all three products of a training step.
"""

import math
from typing import Any

from tf_blocksparse.conversion import _twins

# Weights. 64 rows of one of 128 x 128 take a dense product 12 us at the peak of
# a thread, and calling an op takes 6 to 10 us, whatever it computes ("A layer
# of 256 x 256"): there is nothing to win below.
_SMALLEST_WEIGHT = 128 * 128

# The smallest sparsity that pays, by the smaller side of the block. With 64
# rows, 4096 x 4096, blocks of 8 and more win even without sparsity (1.2 to
# 1.4 times as fast), those of 4 from density 0.43 on (4.3 times as fast at
# 90 %, dw). But the worst of random cases are slower than dense up to 39 %
# with blocks of 22 (0.76) and 19 % with blocks of 24; half of the blocks won
# everywhere (1.3 to 2.8). So there is some room above each crossover.
_MATRIX = {16: 0.4, 8: 0.5, 4: 0.65}

# Kernels of several taps with strides of 1: 64 channels at 75 % gain 1.35 (dw,
# two threads) to 3; 128 at 90 % 2.7 to 5.7, so they break even at 65 to 75 %.
_KERNEL = 0.7
# One tap, strides, transposed: packing and writing pixels counts for more. 512
# to 128 channels, 1 x 1, at 90 % gain 1.4 to 2.6, strides 1.9 to 4.7,
# transposed ones 0.93 to 5.3.
_THIN_KERNEL = 0.85


def reason_to_stay(
    shape: tuple[int, ...], groups: int, block_size: tuple[int, int]
) -> str | None:
    """Why a weight does not pay at any sparsity; None if it may.

    Args:
      shape: `(spatial..., inputs, outputs)`.
      groups: of a convolution.
      block_size: `(b_in, b_out)`.
    """
    weights = math.prod(shape) // groups
    if weights < _SMALLEST_WEIGHT:
        return f"{weights:,} weights: calling an op takes longer"
    if min(block_size) < min(_MATRIX):
        return f"blocks below {min(_MATRIX)} are slow"
    return None


def least_sparsity(layer: Any, block_size: tuple[int, int]) -> float:
    """The sparsity from which on a layer is faster than a dense one."""
    width = min(block_size)
    least = next((s for w, s in _MATRIX.items() if width >= w), 1.0)
    kernel_size = getattr(layer, "kernel_size", None)
    if kernel_size is None:
        return least
    is_thin = (
        math.prod(kernel_size) == 1
        or max(layer.strides) > 1
        or _twins.is_transposed(layer)
    )
    return max(least, _THIN_KERNEL if is_thin else _KERNEL)
