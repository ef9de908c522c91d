# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The layout as one int32 vector: the form that the ops read.

    [output_splits (columns + 1) | input_index (nnz) |
     input_splits (rows + 1) | output_index (nnz) | block_id (nnz)]

for a mask of `rows` input blocks and `columns` output blocks. The first two
parts are the forward view: the input blocks of output block k, ascending, are
`input_index[output_splits[k]:output_splits[k + 1]]`, and their place in that
list is their place in `blocks`. The last three are the transposed view: the
output blocks of each input block, with the place in `blocks` of each.

A layout per tap has a row for each input block c and tap t, c * taps + t; its
`grid` is here (input blocks * taps, output blocks).
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tf_blocksparse._arguments import MAX_INT32


class Parts(NamedTuple):
    """Views of the five parts of a packed layout."""

    output_splits: npt.NDArray[np.int32]
    input_index: npt.NDArray[np.int32]
    input_splits: npt.NDArray[np.int32]
    output_index: npt.NDArray[np.int32]
    block_id: npt.NDArray[np.int32]


def split(packed: npt.NDArray[Any], grid: tuple[int, int]) -> Parts:
    """The parts of a packed layout whose length fits the grid."""
    rows, columns = grid
    nnz = (packed.size - rows - columns - 2) // 3
    ends = np.cumsum([columns + 1, nnz, rows + 1, nnz])
    return Parts(*np.split(packed, ends))


def places(
    packed: npt.NDArray[Any], grid: tuple[int, int]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Input block and output block of each block, in the order of `blocks`."""
    parts = split(packed, grid)
    counts = np.diff(parts.output_splits)
    return parts.input_index, np.repeat(np.arange(grid[1]), counts)


def rows_of(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """A mask with taps as the one of its packed rows; others as they are."""
    if mask.ndim == 2:
        return mask
    taps, rows, columns = mask.shape
    return mask.swapaxes(0, 1).reshape(rows * taps, columns)


def taps_of(
    mask: npt.NDArray[np.bool_], taps: int | None
) -> npt.NDArray[np.bool_]:
    """The way back from `rows_of`."""
    if taps is None:
        return mask
    return mask.reshape(-1, taps, mask.shape[1]).swapaxes(0, 1)


def check_length(grid: tuple[int, int], nnz: int) -> None:
    """Raises `ValueError` if int32 cannot index the packed vector."""
    length = sum(grid) + 2 + 3 * nnz
    if length > MAX_INT32:
        raise ValueError(
            f"layout: got {nnz} blocks on a grid of {grid[0]} x {grid[1]}, "
            f"which need {length} int32 entries, expected at most "
            f"{MAX_INT32}; choose a larger block size or a higher sparsity"
        )


def pack(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.int32]:
    """The packed layout of a mask."""
    rows, columns = mask.shape
    check_length((rows, columns), int(np.count_nonzero(mask)))
    # Input-major: the order of the transposed view.
    inputs, outputs = np.nonzero(mask)
    # A stable sort by output keeps the inputs of each output ascending: the
    # order of `blocks`.
    order = np.argsort(_narrow(outputs, columns), kind="stable")
    block_id = np.empty_like(order)
    block_id[order] = np.arange(order.size)
    return np.concatenate(
        [
            _splits(outputs, columns),
            inputs[order],
            _splits(inputs, rows),
            outputs,
            block_id,
        ],
        dtype=np.int32,
        casting="same_kind",
    )


def unpack(
    packed: npt.NDArray[Any], grid: tuple[int, int]
) -> npt.NDArray[np.bool_]:
    """The mask of a packed layout, or `ValueError` for an invalid one.

    Both views are checked in full: every length, range, order, duplicate, and
    that they describe the same blocks.
    """
    rows, columns = grid
    advice = "pass the vector that `BlockLayout.packed` gave for this shape"
    if packed.ndim != 1 or packed.dtype.kind not in "iu":
        raise ValueError(
            f"packed: got shape {packed.shape} of {packed.dtype}, expected a "
            f"vector of int32; {advice}"
        )
    spare = packed.size - rows - columns - 2
    if spare < 0 or spare % 3:
        raise ValueError(
            f"packed: got {packed.size} entries, expected "
            f"{rows + columns + 2} + 3 * nnz for {rows} input blocks and "
            f"{columns} output blocks; {advice}"
        )
    nnz = spare // 3
    given = split(packed, grid)
    splits = given.output_splits.astype(np.int64)
    counts = np.diff(splits)
    if splits[0] != 0 or splits[-1] != nnz or counts.min() < 0:
        raise ValueError(
            f"packed: got output_splits from {splits[0]} to {splits[-1]}, "
            f"expected them to ascend from 0 to nnz = {nnz}; {advice}"
        )
    inputs = given.input_index
    wrong = np.flatnonzero((inputs < 0) | (inputs >= rows))
    if wrong.size:
        raise ValueError(
            f"packed: got input_index[{wrong[0]}] = {inputs[wrong[0]]}, "
            f"expected 0 to {rows - 1}; {advice}"
        )
    mask = np.zeros(grid, np.bool_)
    mask[inputs, np.repeat(np.arange(columns), counts)] = True
    # A mask has one packed form only. Where the given one differs, inputs
    # were unsorted or repeated, or the transposed view is another one.
    if np.count_nonzero(mask) != nnz:
        raise ValueError(
            f"packed: got {nnz} entries of input_index for "
            f"{np.count_nonzero(mask)} different blocks, expected each block "
            f"once; {advice}"
        )
    for name, got, expected in zip(
        Parts._fields, given, split(pack(mask), grid), strict=True
    ):
        wrong = np.flatnonzero(got != expected)
        if wrong.size:
            at = wrong[0]
            raise ValueError(
                f"packed: got {name}[{at}] = {got[at]}, expected "
                f"{expected[at]}: blocks ascend within an output, and both "
                f"views describe the same blocks; {advice}"
            )
    return mask


def _splits(index: npt.NDArray[Any], size: int) -> npt.NDArray[np.int64]:
    counts = np.bincount(index, minlength=size)
    return np.concatenate([[0], np.cumsum(counts)])


def _narrow(index: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    # NumPy sorts 16-bit numbers by radix, several times faster.
    return index.astype(np.uint16) if size <= 2**16 else index
