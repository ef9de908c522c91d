# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Pictures of layers: layouts, block norms, blocks of every output."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from tf_blocksparse import _arguments
from tf_blocksparse.inspection._images import shares
from tf_blocksparse.inspection._layer import LayerInspection

_BINS = 40
_INCHES = (3.6, 3.0)  # of a picture


def plot(layers: Sequence[LayerInspection], path_or_axes: Any) -> Any:
    """Draws a row for each layer; see `Inspection.plot`."""
    if not layers:
        raise ValueError(
            "plot: got a model without a block-sparse layer, expected at least "
            "one; make some, as with tf_blocksparse.sparsify"
        )
    try:
        import matplotlib.figure
    except ImportError as error:
        raise ImportError(
            "plot: got no matplotlib, expected it to be installed; run "
            "`pip install matplotlib`, or print the table"
        ) from error
    drawings: list[Any] = [_draw_layout, _draw_norms, _draw_counts]
    if any(layer.norms is None for layer in layers):
        drawings.remove(_draw_norms)
    shape = len(layers), len(drawings)
    is_path = isinstance(path_or_axes, (str, os.PathLike))
    if path_or_axes is None or is_path:
        size = (_INCHES[0] * shape[1], _INCHES[1] * shape[0])
        if is_path:
            figure = matplotlib.figure.Figure(size, layout="constrained")
        else:
            import matplotlib.pyplot

            figure = matplotlib.pyplot.figure(
                figsize=size, layout="constrained"
            )
        axes = figure.subplots(*shape, squeeze=False)
    else:
        axes = np.asarray(path_or_axes, object)
        if axes.size != shape[0] * shape[1]:
            raise ValueError(
                f"path_or_axes: got {_arguments.shown(path_or_axes)}, expected "
                f"a path or {shape[0]} x {shape[1]} axes; make them with "
                f"matplotlib.pyplot.subplots({shape[0]}, {shape[1]})"
            )
        axes = axes.reshape(shape)
        figure = axes[0, 0].figure
    for layer, row in zip(layers, axes, strict=True):
        for draw, ax in zip(drawings, row, strict=True):
            draw(layer, ax)
    if is_path:
        figure.savefig(path_or_axes)
    return figure


def _draw_layout(layer: LayerInspection, ax: Any) -> None:
    layout = layer.layout
    rows, columns = layout.grid
    b_in, b_out = layout.block_size
    ax.imshow(
        shares(layer),
        cmap="Greys",
        vmin=0,
        vmax=1,
        interpolation="nearest",
        aspect="auto",
        extent=(0, columns * b_out, rows * b_in, 0),
    )
    ax.set_xlim(0, layout.outputs)
    ax.set_ylim(layout.inputs, 0)
    ax.set_xlabel("outputs")
    ax.set_ylabel("inputs")
    title = f"{layer.name}\n{layer.density:.1%} of {b_in} x {b_out}"
    if layer.closed:
        title += f", {layer.closed} closed"
    ax.set_title(title, size="medium")


def _draw_norms(layer: LayerInspection, ax: Any) -> None:
    if layer.norms is None:
        return
    norms = layer.norms[layer.open]
    finite = norms[np.isfinite(norms)]
    if finite.size:
        # From 0 on: whether some blocks are small beside others is the point.
        limits = (0, float(finite.max()) or 1)
        ax.hist(finite, bins=_BINS, range=limits, color="tab:blue")
    ax.set_xlabel("l2 norm of a block")
    ax.set_ylabel("blocks")
    title = f"{norms.size} open blocks"
    if finite.size < norms.size:
        title += f", {norms.size - finite.size} not finite"
    ax.set_title(title, size="medium")


def _draw_counts(layer: LayerInspection, ax: Any) -> None:
    counts = layer.output_counts
    edges = np.arange(len(counts) + 1) * layer.layout.block_size[1]
    edges[-1] = layer.layout.outputs
    ax.stairs(counts, edges, fill=True, color="tab:blue")
    ax.set_xlim(0, layer.layout.outputs)
    ax.set_ylim(0, max(1, counts.max()) * 1.05)
    ax.set_xlabel("outputs")
    ax.set_ylabel("open blocks")
    least, most = counts.min(), counts.max()
    title = f"{least}" if least == most else f"{least} to {most}"
    ax.set_title(f"{title} of each output", size="medium")
