# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Blocks of values: from whole weights and kernels, and back.

A kernel is `[spatial..., inputs, outputs]`. It has one layout for all of its
taps, whose blocks are `[nnz, taps, b_in, b_out]`, or a layout per tap, whose
blocks are `[nnz, b_in, b_out]` like those of a matrix.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tf_blocksparse import _arguments, _packed

if TYPE_CHECKING:
    from tf_blocksparse.layout import BlockLayout

_Array = npt.NDArray[Any]


def blocks_array(layout: "BlockLayout", blocks: npt.ArrayLike) -> _Array:
    """`blocks` as an array of the layout's shape, with or without taps."""
    expected = layout.blocks_shape
    array = _arguments.real_array("blocks", blocks, f"{expected}")
    shape = array.shape
    if layout.taps is None and len(shape) == 4 and shape[1] > 0:
        shape = (shape[0], *shape[2:])
    if shape != expected:
        raise ValueError(
            f"blocks: got shape {array.shape}, expected (nnz, b_in, b_out) "
            f"= {expected}; take the blocks of this layout"
        )
    return array


def to_dense(
    layout: "BlockLayout", blocks: npt.ArrayLike, kernel_size: Any
) -> _Array:
    """The whole weight or kernel; see `BlockLayout.to_dense`."""
    array = blocks_array(layout, blocks)
    taps = array.shape[1] if array.ndim == 4 else layout.taps
    spatial = _arguments.spatial(kernel_size, taps)
    rows, columns = layout.grid
    b_in, b_out = layout.block_size
    tiles = np.zeros((taps or 1, rows, b_in, columns, b_out), array.dtype)
    tap, c, k = _places(layout)
    if array.ndim == 4:
        tap = slice(None)
    tiles[tap, c, :, k, :] = array
    padded = tiles.reshape(*spatial, rows * b_in, columns * b_out)
    whole = padded[..., : layout.inputs, : layout.outputs]
    return np.ascontiguousarray(whole)


def gather(layout: "BlockLayout", weight: npt.ArrayLike) -> _Array:
    """The blocks of a whole weight; see `BlockLayout.gather`."""
    inputs, outputs = layout.shape
    array = _arguments.real_array("weight", weight, f"{layout.shape}")
    spatial = array.shape[:-2]
    taps = math.prod(spatial)
    if (
        array.shape[-2:] != layout.shape
        or not taps
        or (layout.taps is not None and (not spatial or taps != layout.taps))
    ):
        expected = (
            "" if layout.taps is None else f"kernel_size of {layout.taps}"
        )
        raise ValueError(
            f"weight: got shape {array.shape}, expected (inputs, outputs) "
            f"= {layout.shape}{expected and f' after a {expected} taps'}; "
            "transpose or reshape it"
        )
    rows, columns = layout.grid
    b_in, b_out = layout.block_size
    padded = np.zeros((taps, rows * b_in, columns * b_out), array.dtype)
    padded[:, :inputs, :outputs] = array.reshape(taps, inputs, outputs)
    tiles = padded.reshape(taps, rows, b_in, columns, b_out)
    tap, c, k = _places(layout)
    if layout.taps is None and spatial:
        tap = slice(None)
    blocks: _Array = tiles[tap, c, :, k, :]
    return blocks


def transpose(layout: "BlockLayout", blocks: npt.ArrayLike) -> _Array:
    """The blocks in the order of the transposed layout, each transposed."""
    array = blocks_array(layout, blocks)
    tap, c, k = _places(layout)
    order = np.lexsort((tap, k, c))
    return np.ascontiguousarray(array[order].swapaxes(-1, -2))


def mask_of(weight: _Array, sizes: _arguments.Sizes) -> npt.NDArray[np.bool_]:
    """Which blocks of a whole weight or kernel hold anything but zeros."""
    mask: npt.NDArray[np.bool_] = weight != 0
    for axis in (0, 1):
        starts = np.arange(sizes.grid[axis]) * sizes.block_size[axis]
        mask = np.logical_or.reduceat(mask, starts, axis - 2)
    return mask.reshape(sizes.mask_shape)


def _places(layout: "BlockLayout") -> tuple[Any, _Array, _Array]:
    """Tap, input and output block of each block; tap 0 where none is."""
    row, k = _packed.places(layout.packed, layout.packed_grid)
    c, tap = np.divmod(row, layout.taps or 1)
    return tap, c, k
