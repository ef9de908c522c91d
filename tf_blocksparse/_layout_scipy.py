# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Layouts and blocks from and to SciPy's BSR matrices.

SciPy orders blocks by input, then output, allows duplicates, and has whole
blocks only. Reading one needs no SciPy here: the user's object brings it.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tf_blocksparse import _arguments, _packed

if TYPE_CHECKING:
    from tf_blocksparse.layout import BlockLayout

_Array = npt.NDArray[Any]


def read(bsr: Any) -> tuple[npt.NDArray[np.bool_], tuple[int, int], _Array]:
    """(mask, block size, blocks) of a BSR matrix; duplicates are added up."""
    if getattr(bsr, "format", None) != "bsr":
        raise ValueError(
            f"bsr: got {_arguments.shown(bsr)}, expected a SciPy BSR matrix; "
            "convert it by .tobsr(blocksize=(b_in, b_out))"
        )
    _, grid, _, block_size = _arguments.sizes(bsr.shape, bsr.blocksize)
    bsr.check_format(full_check=True)
    # Only the first indptr[-1] entries count; SciPy may keep spare ones.
    columns = bsr.indices[: bsr.indptr[-1]].astype(np.int64)
    rows = np.repeat(np.arange(grid[0]), np.diff(bsr.indptr))
    data = _arguments.real_array("bsr", bsr.data, "real numbers")
    data = data[: columns.size]
    places, slot = np.unique(columns * grid[0] + rows, return_inverse=True)
    mask = np.zeros(grid[::-1], np.bool_)
    mask.flat[places] = True
    blocks = np.zeros((places.size, *block_size), data.dtype)
    if places.size == columns.size:
        blocks[slot] = data
    else:
        np.add.at(blocks, slot, data)
    return mask.T, block_size, blocks


def write(layout: "BlockLayout", blocks: _Array) -> Any:
    """A `bsr_array` of the blocks, zero beyond the last feature."""
    if layout.taps is not None or blocks.ndim != 3:
        raise ValueError(
            f"BlockLayout.to_scipy: got the blocks {blocks.shape} of a kernel, "
            "expected those of a matrix; a BSR array has two axes, see "
            "to_dense(blocks, kernel_size)"
        )
    try:
        from scipy.sparse import bsr_array
    except ImportError as error:
        raise ImportError(
            "BlockLayout.to_scipy: got no SciPy, expected it to be installed; "
            "run `pip install scipy`, or use to_dense(blocks)"
        ) from error
    (rows, columns), (b_in, b_out) = layout.grid, layout.block_size
    parts = _packed.split(layout.packed, layout.grid)
    row = np.repeat(np.arange(rows), np.diff(parts.input_splits))
    column = parts.output_index.copy()
    data = blocks[parts.block_id]  # a copy, so that it may be changed
    data[row == rows - 1, layout.inputs - (rows - 1) * b_in :] = 0
    data[column == columns - 1, :, layout.outputs - (columns - 1) * b_out :] = 0
    return bsr_array(
        (data, column, parts.input_splits.copy()),
        shape=(rows * b_in, columns * b_out),
    )
