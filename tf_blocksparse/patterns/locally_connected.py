# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Neighbouring positions of a signal, a picture or a volume."""

import math
from collections.abc import Sequence

import numpy as np

from tf_blocksparse import _arguments
from tf_blocksparse.patterns._types import Mask
from tf_blocksparse.patterns.banded import banded


def locally_connected(
    grid: tuple[int, int],
    radius: int | Sequence[int],
    input_positions: Sequence[int] | None = None,
    output_positions: Sequence[int] | None = None,
) -> Mask:
    """Blocks of neighbouring positions: a convolution with unshared weights.

    For features that lie on a line, in a picture or in a volume, where what is
    near matters and weights depend on the place: faces, spectra, maps.

    Rule: the blocks of each side stand at the positions of a box, row by row. A
    block exists where input and output are near along every axis, each by the
    rule of `banded`: on boxes of equal sizes, where the distance along an axis
    is at most its radius. A smaller box of outputs is a stride. An axis of
    channels gets a radius of its size, so that it is full.

    Args:
      grid: (input blocks, output blocks).
      radius: positions on each side that are near, >= 0; one for all axes or
        one for each.
      input_positions: sizes of the box, the number of input blocks in all,
        for instance (height, width); None is one axis.
      output_positions: the same of outputs; None is as for inputs if the grid
        is square, else one axis.

    Returns:
      bool array `[input blocks, output blocks]`.

    Raises:
      ValueError: if an argument is out of range.

    Source: LeCun, "Generalization and Network Design Strategies", 1989;
    Taigman et al., "DeepFace", CVPR 2014.

    >>> mask = locally_connected((12, 12), 1, (3, 4))
    >>> mask[:, 5].reshape(3, 4).astype(int)
    array([[1, 1, 1, 0],
           [1, 1, 1, 0],
           [1, 1, 1, 0]])
    """
    rows, columns = _arguments.grid(grid)
    if output_positions is None and rows == columns:
        output_positions = input_positions
    inputs = _box("input_positions", input_positions, rows)
    outputs = _box("output_positions", output_positions, columns)
    if len(inputs) != len(outputs):
        raise ValueError(
            f"output_positions: got {outputs} beside input_positions of "
            f"{inputs}, expected as many axes; give both"
        )
    advice = "0 is the same position alone"
    if isinstance(radius, (tuple, list)):
        if len(radius) != len(inputs):
            raise ValueError(
                f"radius: got {_arguments.shown(radius)} for positions "
                f"{inputs}, expected one integer for each axis; or give one "
                "for all"
            )
        radii = list(radius)
    else:
        radii = [radius] * len(inputs)
    mask = np.ones((1, 1), np.bool_)
    for sides, each in zip(
        zip(inputs, outputs, strict=True), radii, strict=True
    ):
        each = _arguments.integer("radius", each, 0, None, advice)
        mask = np.kron(mask, banded(sides, each))
    return mask


def _box(name: str, sizes: Sequence[int] | None, side: int) -> tuple[int, ...]:
    """The sizes of a box of so many positions; by default a line."""
    if sizes is None:
        return (side,)
    advice = "give the size of each axis, such as (height, width)"
    values = sizes if isinstance(sizes, (tuple, list)) else (sizes,)
    box = tuple(
        _arguments.integer(name, size, 1, None, advice) for size in values
    )
    if not box or math.prod(box) != side:
        raise ValueError(
            f"{name}: got {_arguments.shown(sizes)}, expected sizes with the "
            f"product {side}, the blocks of that side of the grid; {advice}"
        )
    return box
