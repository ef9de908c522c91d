# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""How much of the inputs each output has seen after some products."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tf_blocksparse import _arguments
from tf_blocksparse.patterns._types import Mask


def mix_factor(
    layouts: Any | Sequence[Any], steps: int | None = None
) -> npt.NDArray[np.float64]:
    """The share of input-output pairs that are connected after each product.

    Tells whether layers in a row, or a recurrent layer after some steps, can
    bring everything together: a share of 1 means that every output depends on
    every input. Of two layouts with as many blocks, the one that mixes faster
    usually learns more.

    Rule: entry t is the share of the pairs (c, k) between which a path of
    blocks leads through the first t + 1 masks, that is of entries of their
    matrix product that are not 0.

    Args:
      layouts: a mask `[input blocks, output blocks]` or a `BlockLayout`; or a
        sequence of these, in the order in which they are applied. Masks with
        taps count as connected where a tap has a block.
      steps: how many times one layout is applied, >= 1; by default once. Not
        with a sequence.

    Returns:
      float64 array `[steps]`, or one entry for each of the sequence.

    Raises:
      ValueError: if an argument is no mask, or two don't fit each other.

    Source: Gray, Radford and Kingma, "GPU Kernels for Block-Sparse Weights",
    2017.

    >>> mix_factor(np.eye(4) + np.eye(4, k=1), steps=3)
    array([0.4375, 0.5625, 0.625 ])
    >>> from tf_blocksparse.patterns import interleaved
    >>> mix_factor(interleaved((16, 16)))
    array([0.25, 1.  ])
    """
    if _is_one(layouts):
        advice = "it is how often the layout is applied"
        steps = 1 if steps is None else steps
        steps = _arguments.integer("steps", steps, 1, None, advice)
        masks = [_mask(layouts)] * steps
    else:
        if steps is not None:
            raise ValueError(
                f"steps: got {_arguments.shown(steps)} with a sequence of "
                "layouts, expected None; pass one layout, or leave it out"
            )
        if not np.iterable(layouts):
            raise ValueError(
                f"layouts: got {_arguments.shown(layouts)}, expected a layout "
                "or a mask, or a sequence of them; pass one of these"
            )
        masks = [_mask(layout) for layout in layouts]
    shares = []
    connected: Mask | None = None
    for i, mask in enumerate(masks):
        if connected is None:
            connected = mask
        elif connected.shape[1] != mask.shape[0]:
            raise ValueError(
                f"layouts: got one of {mask.shape[0]} x {mask.shape[1]} blocks "
                f"at place {i}, expected {connected.shape[1]} input blocks, "
                "the outputs of the one before; repeat only square ones"
            )
        else:
            # Rounded or not, a sum of numbers >= 0 is 0 only if they all are.
            paths = connected.astype(np.float32) @ mask.astype(np.float32)
            connected = paths > 0
        shares.append(float(connected.mean()))
    return np.array(shares)


def _is_one(layouts: Any) -> bool:
    """Whether it is a layout or a mask, not a sequence of these."""
    if hasattr(layouts, "mask") and not isinstance(layouts, np.ma.MaskedArray):
        return True
    if isinstance(layouts, (list, tuple)):
        # A mask as nested lists has numbers two levels down.
        return bool(layouts) and all(
            isinstance(line, (list, tuple)) and not np.ndim(line[:1]) > 1
            for line in layouts
        )
    return np.ndim(layouts) == 2


def _mask(layout: Any) -> Mask:
    mask = _arguments.mask(getattr(layout, "mask", layout))
    taps = mask.reshape(-1, *mask.shape[-2:])
    connected: Mask = np.logical_or.reduce(taps)
    return connected
