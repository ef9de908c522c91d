# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Which blocks of a weight are the heaviest: scores and exact selection."""

import math

import numpy as np
import numpy.typing as npt

from tf_blocksparse import _arguments, _packed
from tf_blocksparse.layout import BlockLayout

CRITERIA = ("l2", "max")

Scores = npt.NDArray[np.float64]


def check_criterion(criterion: object) -> str:
    """`criterion` if it is the name of one."""
    if isinstance(criterion, str) and criterion in CRITERIA:
        return criterion
    raise ValueError(
        f"criterion: got {_arguments.shown(criterion)}, expected one of "
        f"{', '.join(CRITERIA)}; l2 is the norm of a block, max its largest "
        "absolute value"
    )


def block_scores(
    blocks: npt.ArrayLike,
    criterion: str = "l2",
    name: str = "blocks",
    mean: bool = False,
) -> Scores:
    """The weight of each block: its l2 norm or its largest absolute value.

    Args:
      blocks: `[nnz, ...]` of real numbers in any dtype; what follows the first
        axis is one block. Entries beyond the edge count: see `without_padding`.
      criterion: "l2" or "max".
      name: whose blocks they are, for errors.
      mean: divides the l2 norm by the square root of the block's size, so that
        blocks of several sizes compare.

    Returns:
      float64 `[nnz]`, none of them NaN.

    Raises:
      ValueError: if the criterion is unknown, or a block has NaN.

    >>> block_scores([[[3, -4]], [[0, 1]]], "l2").tolist()
    [5.0, 1.0]
    >>> block_scores([[[3, -4]], [[0, 1]]], "max").tolist()
    [4.0, 1.0]
    """
    check_criterion(criterion)
    array = np.asarray(blocks)
    # Not -1, which is undefined where there are no blocks.
    flat = array.reshape(array.shape[0], math.prod(array.shape[1:]))
    if flat.dtype.itemsize < 4:
        # einsum knows no bfloat16, and float16 would overflow.
        flat = flat.astype(np.float32)
    if not flat.size:
        return np.zeros(flat.shape[0])
    if criterion == "max":
        scores = np.abs(flat).max(axis=1).astype(np.float64)
    else:
        # Buffered: no float64 copy of all blocks.
        squares = np.einsum(
            "ij,ij->i", flat, flat, dtype=np.float64, casting="same_kind"
        )
        scores = np.sqrt(squares / (flat.shape[1] if mean else 1))
    wrong = np.flatnonzero(np.isnan(scores))
    if wrong.size:
        raise ValueError(
            f"{name}: got NaN in {wrong.size} of {scores.size} blocks, first "
            f"in block {wrong[0]}, expected numbers; the training has "
            "diverged: lower the learning rate, or go back to a checkpoint"
        )
    return scores


def heaviest(scores: npt.ArrayLike, count: int) -> npt.NDArray[np.bool_]:
    """True for the `count` largest scores; of equal ones for the first.

    Args:
      scores: `[n]` of real numbers.
      count: 0 to n.

    Returns:
      bool `[n]`, `count` of them true.

    Raises:
      ValueError: if a score is NaN, or `count` is out of range.

    >>> heaviest([1, 3, 2, 3, 2], 3).astype(int).tolist()
    [0, 1, 1, 1, 0]
    """
    array = np.asarray(scores, np.float64)
    _arguments.integer(
        "count", count, 0, array.size, "there are no more blocks"
    )
    if np.isnan(array).any():
        raise ValueError(
            "scores: got NaN, expected numbers; compute them by block_scores"
        )
    chosen = np.zeros(array.size, np.bool_)
    # Stable: of equal scores the lower index comes first.
    chosen[np.argsort(-array, kind="stable")[:count]] = True
    return chosen


def places(layout: BlockLayout, groups: int = 1) -> int:
    """How many places for blocks a weight has: all, or those of its groups."""
    return layout.mask.size // groups


def without_padding(
    blocks: npt.ArrayLike, layout: BlockLayout
) -> npt.NDArray[np.generic]:
    """The blocks with zeros beyond the last input and output.

    Those entries play no part in any product, but initializers fill them.

    >>> layout = BlockLayout([[1]], 2, outputs=1)
    >>> without_padding([[[1, 2], [3, 4]]], layout).tolist()
    [[[1, 0], [3, 0]]]
    """
    array = np.asarray(blocks)
    rows, columns = (
        size - (number - 1) * block
        for size, number, block in zip(
            layout.shape, layout.grid, layout.block_size, strict=True
        )
    )
    if (rows, columns) == layout.block_size:
        return array
    array = array.copy()
    inputs, outputs = _packed.places(layout.packed, layout.packed_grid)
    last_input = inputs // (layout.taps or 1) == layout.grid[0] - 1
    last_output = outputs == layout.grid[1] - 1
    array[last_input, ..., rows:, :] = 0
    array[last_output, ..., columns:] = 0
    return array
