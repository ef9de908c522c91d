# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`to_dense` and `from_dense`: between blocks and the whole weight."""

import math
from typing import Any

import tensorflow as tf

from tf_blocksparse import _arguments
from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.ops import _convert, _inputs, _places
from tf_blocksparse.ops.layout_tensor import LayoutTensor, Resolved, resolve


def to_dense(
    blocks: Any,
    layout: BlockLayout | LayoutTensor,
    kernel_size: int | tuple[int, ...] | None = None,
) -> tf.Tensor:
    """The whole weight that blocks stand for, 0 where there is no block.

    To look at a weight, or to hand it to code that knows only dense ones; it
    takes the memory of the dense weight. Differentiable to any order.

    Args:
      blocks: `[nnz, b_in, b_out]` of any dtype; of a kernel whose taps share
        the layout, `[nnz, taps, b_in, b_out]`. Entries beyond the edge are
        ignored, and their gradient is 0.
      layout: which blocks these are.
      kernel_size: of a kernel, its spatial axes; taps are in their order.

    Returns:
      The weight `[inputs, outputs]` of the same dtype; a kernel as
      `[*kernel_size, inputs, outputs]`.

    Raises:
      ValueError: if shapes don't fit, or a known layout is none.
      tf.errors.InvalidArgumentError: if a layout known only when a graph runs
        is none.

    >>> from tf_blocksparse import BlockLayout
    >>> layout = BlockLayout([[1, 0], [0, 1]], block_size=1)
    >>> to_dense([[[2.0]], [[3.0]]], layout).numpy()
    array([[2., 0.],
           [0., 3.]], dtype=float32)
    >>> to_dense(tf.ones([2, 9, 1, 1]), layout, kernel_size=(3, 3)).shape
    TensorShape([3, 3, 2, 2])
    """
    parts = resolve(layout)
    blocks = _convert.tensor("blocks", blocks)
    spatial = _spatial_of_blocks(blocks.shape, parts, kernel_size)
    b_in, b_out = parts.block_size
    taps = math.prod(spatial)
    shared = parts.taps is None and bool(spatial)
    blocks = _inputs.check_blocks(
        blocks,
        [parts.nnz, *([taps] if shared else []), b_in, b_out],
        "taps, " if shared else "",
    )
    rows, columns = parts.grid
    tiles = tf.scatter_nd(
        _places.places(parts, layout),
        blocks,
        [*parts.packed_grid, *blocks.shape[1:]],
    )
    if shared:
        tiles = tf.transpose(tiles, [2, 0, 3, 1, 4])
    else:
        tiles = tf.reshape(tiles, [rows, taps, columns, b_in, b_out])
        tiles = tf.transpose(tiles, [1, 0, 3, 2, 4])
    whole = tf.reshape(tiles, [*spatial, rows * b_in, columns * b_out])
    return whole[..., : parts.inputs, : parts.outputs]


def from_dense(w: Any, layout: BlockLayout | LayoutTensor) -> tf.Tensor:
    """The blocks of a whole weight; what lies outside of them is dropped.

    To start a block-sparse layer from a trained dense one. Differentiable to
    any order.

    Args:
      w: the weight `[inputs, outputs]` of any dtype, or a kernel
        `[spatial..., inputs, outputs]`. Kernels of Keras's transposed
        convolutions have the last two the other way round.
      layout: which blocks to cut.

    Returns:
      blocks: `[nnz, b_in, b_out]` of the same dtype, 0 beyond the edge; of a
      kernel `[nnz, taps, b_in, b_out]`, unless the layout is one per tap.

    Raises:
      ValueError: if shapes don't fit, or a known layout is none.
      tf.errors.InvalidArgumentError: if a layout known only when a graph runs
        is none.

    >>> from tf_blocksparse import BlockLayout
    >>> layout = BlockLayout([[1, 0], [0, 1]], block_size=1)
    >>> from_dense([[2.0, 4.0], [5.0, 3.0]], layout).numpy().ravel()
    array([2., 3.], dtype=float32)
    >>> from_dense(tf.ones([3, 3, 2, 2]), layout).shape
    TensorShape([2, 9, 1, 1])
    """
    parts = resolve(layout)
    w = _convert.tensor("w", w)
    is_kernel, taps = _taps_of_weight(w.shape, parts)
    b_in, b_out = parts.block_size
    rows, columns = parts.grid
    # With a number of taps known only when the graph runs, -1.
    w = tf.reshape(w, [taps or -1, parts.inputs, parts.outputs])
    padding = [
        [0, 0],
        [0, rows * b_in - parts.inputs],
        [0, columns * b_out - parts.outputs],
    ]
    tiles = tf.reshape(tf.pad(w, padding), [-1, rows, b_in, columns, b_out])
    if is_kernel and parts.taps is None:
        tiles = tf.transpose(tiles, [1, 3, 0, 2, 4])
        shape = [parts.nnz, taps, b_in, b_out]
    else:
        tiles = tf.transpose(tiles, [1, 0, 3, 2, 4])
        tiles = tf.reshape(tiles, [*parts.packed_grid, b_in, b_out])
        shape = [parts.nnz, b_in, b_out]
    blocks = tf.gather_nd(tiles, _places.places(parts, layout))
    return tf.ensure_shape(blocks, shape)


def _spatial_of_blocks(
    shape: tf.TensorShape, parts: Resolved, kernel_size: Any
) -> tuple[int, ...]:
    """The kernel's spatial axes, checked; none of a matrix."""
    if parts.taps is not None:
        return _arguments.spatial(kernel_size, parts.taps)
    if kernel_size is not None:
        return _arguments.kernel_size_of(kernel_size)
    if shape.rank == 4:
        raise ValueError(
            f"kernel_size: got None with blocks of shape {shape}, expected the "
            "spatial axes of the kernel; pass them, for instance (3, 3)"
        )
    return ()


def _taps_of_weight(
    shape: tf.TensorShape, parts: Resolved
) -> tuple[bool, int | None]:
    """Whether a weight is a kernel, and its number of taps; None: unknown."""
    if shape.rank is None:
        return parts.taps is not None, parts.taps or 1
    spatial = shape.as_list()[:-2]
    taps = None if None in spatial else math.prod(spatial)
    if parts.taps is None:
        fits = taps != 0
    else:
        fits = bool(spatial) and taps in (None, parts.taps)
        taps = parts.taps
    if not fits or not _inputs.fits(shape[-2:], [parts.inputs, parts.outputs]):
        kernel = "" if parts.taps is None else f"{parts.taps} taps, "
        raise ValueError(
            f"w: got shape {shape}, expected [{kernel}{parts.inputs}, "
            f"{parts.outputs}]; transpose it, or pass the layout that fits it"
        )
    return bool(spatial), taps
