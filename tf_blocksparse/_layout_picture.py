# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Pictures of layouts: a few lines of text, or a matplotlib plot."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from tf_blocksparse.layout import BlockLayout

# Fits a terminal of 80 columns, and twice as wide as high looks square.
_TEXT_ROWS, _TEXT_COLUMNS = 32, 64
# No block, tenths of the blocks, all blocks.
_SHADES = ".0123456789#"


def text(mask: npt.NDArray[np.bool_]) -> str:
    """`mask` as lines of characters, with a legend; large ones are shrunk.

    A character of a shrunk picture stands for a rectangle of blocks, at most
    one block longer or wider than the others; with taps, for those of all taps.
    """
    rows, columns = mask.shape[-2:]
    if mask.ndim == 2 and rows <= _TEXT_ROWS and columns <= _TEXT_COLUMNS:
        legend = "# block, . none"
        levels = np.where(mask, len(_SHADES) - 1, 0)
    else:
        taps = mask.reshape(-1, rows, columns)
        row_starts = _starts(rows, _TEXT_ROWS)
        column_starts = _starts(columns, _TEXT_COLUMNS)
        counts = np.add.reduceat(
            np.add.reduceat(taps.sum(0, np.int64), row_starts, axis=0),
            column_starts,
            axis=1,
        )
        areas = len(taps) * np.outer(
            np.diff(row_starts, append=rows),
            np.diff(column_starts, append=columns),
        )
        # "none" and "all" are exact, so no single block is lost.
        levels = (counts > 0) + 10 * counts // areas
        legend = "blocks: # all, 9-0 tenths, . none"
        if mask.ndim == 3:
            legend += f"; {len(taps)} taps"
    lines = ["".join(_SHADES[level] for level in line) for line in levels]
    return "\n".join(["rows: inputs, columns: outputs; " + legend, *lines])


def plot(layout: "BlockLayout", ax: Any = None) -> Any:
    """Draws `layout` in units of features; see `BlockLayout.plot`."""
    if ax is None:
        try:
            import matplotlib.pyplot
        except ImportError as error:
            raise ImportError(
                "BlockLayout.plot: got no matplotlib, expected it to be "
                "installed; run `pip install matplotlib`, or use print(layout)"
            ) from error
        ax = matplotlib.pyplot.figure().add_subplot()
    rows, columns = layout.grid
    b_in, b_out = layout.block_size
    mask = layout.mask
    ax.imshow(
        mask if layout.taps is None else mask.mean(axis=0),
        cmap="Greys",
        vmin=0,
        vmax=1,
        interpolation="nearest",
        extent=(0, columns * b_out, rows * b_in, 0),
    )
    ax.set_xlim(0, layout.outputs)
    ax.set_ylim(layout.inputs, 0)
    ax.set_xlabel("outputs")
    ax.set_ylabel("inputs")
    of_taps = "" if layout.taps is None else f" in {layout.taps} taps"
    ax.set_title(
        f"{layout.nnz} blocks of {b_in} x {b_out}{of_taps}, "
        f"{layout.sparsity:.1%} sparse"
    )
    return ax


def _starts(size: int, most: int) -> npt.NDArray[np.int64]:
    parts = min(size, most)
    return np.arange(parts) * size // parts
