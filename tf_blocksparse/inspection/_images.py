# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Layers as grey images of bytes, for which NumPy is enough."""

import numpy as np
import numpy.typing as npt

from tf_blocksparse.inspection._layer import LayerInspection

# A closed block is darker than none and lighter than an open one.
_CLOSED = 0.25


def shares(layer: LayerInspection) -> npt.NDArray[np.float32]:
    """`[input blocks, output blocks]`: 1 is open, a quarter closed, 0 none.

    The average over the taps of a layout per tap.
    """
    values = np.where(layer.open, 1.0, _CLOSED).astype(np.float32)
    return layer.places(values).mean(2)


def layout_image(
    layer: LayerInspection, pixels: int = 256
) -> npt.NDArray[np.uint8]:
    """Draws which blocks exist: black is open, light grey closed, white none.

    Each block is a square of the same number of pixels, unless there are more
    blocks than pixels: then a pixel is the average of several blocks.

    Args:
      layer: what to draw.
      pixels: how many the longer side has at most.

    Returns:
      Bytes `[height, width]`, inputs from the top, outputs from the left.

    >>> from tf_blocksparse import BlockLayout
    >>> layer = LayerInspection.of_layout(BlockLayout([[1, 0]], 8))
    >>> layout_image(layer, pixels=4)
    array([[  0,   0, 255, 255],
           [  0,   0, 255, 255]], dtype=uint8)
    """
    return _grey(shares(layer), pixels)


def norm_image(
    layer: LayerInspection, pixels: int = 256
) -> npt.NDArray[np.uint8]:
    """Draws how large blocks are: the one with the largest l2 norm is black.

    Others are as dark as their share of it. The taps of a kernel count
    together; what is not finite is black.

    Args:
      layer: what to draw; that of a layout has no norms.
      pixels: how many the longer side has at most.

    Returns:
      Bytes `[height, width]`, as `layout_image`.

    Raises:
      ValueError: if there are no norms.
    """
    if layer.norms is None:
        raise ValueError(
            f"layer: got {layer.name} without norms, expected a layer with "
            "weights; draw a layout by layout_image"
        )
    norms = np.sqrt(np.square(layer.places(layer.norms)).sum(2))
    finite = norms[np.isfinite(norms)]
    largest = finite.max(initial=0)
    # Also where all are 0, and for NaN, which no comparison finds.
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(norms < largest, norms / largest, norms != 0)
    return _grey(values, pixels)


def _grey(
    values: npt.NDArray[np.floating], pixels: int
) -> npt.NDArray[np.uint8]:
    """0 to 1 as white to black."""
    longer = max(values.shape)
    if longer > pixels:
        for axis in (0, 1):
            size = values.shape[axis]
            parts = -(-size * pixels // longer)
            starts = np.arange(parts) * size // parts
            sums = np.add.reduceat(values, starts, axis=axis)
            counts = np.diff(starts, append=size)
            values = sums / np.expand_dims(counts, 1 - axis)
    else:
        times = pixels // longer
        values = values.repeat(times, 0).repeat(times, 1)
    return np.rint(255 * (1 - values)).astype(np.uint8)
