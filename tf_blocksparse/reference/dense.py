# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`to_dense` and `from_dense`, and what a gate does to blocks."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from tf_blocksparse import _packed
from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.ops.layout_tensor import LayoutTensor, Resolved, resolve


def to_dense(
    blocks: Any,
    layout: BlockLayout | LayoutTensor,
    kernel_size: int | tuple[int, ...] | None = None,
) -> tf.Tensor:
    """The whole weight or kernel; see `ops.to_dense`.

    >>> layout = BlockLayout([[1, 0], [0, 1]], block_size=1)
    >>> to_dense([[[2.0]], [[3.0]]], layout).numpy()
    array([[2., 0.],
           [0., 3.]], dtype=float32)
    """
    parts = resolve(layout)
    blocks = tf.convert_to_tensor(blocks)
    b_in, b_out = parts.block_size
    rows, columns = parts.grid
    spatial = [] if kernel_size is None else np.ravel(kernel_size).tolist()
    # Block 0 of the table is the zeros that stand where there is no block.
    none = tf.zeros([1, *blocks.shape[1:]], blocks.dtype)
    table = tf.concat([none, blocks], 0)
    number = np.zeros([parts.taps or 1, rows, columns], np.int32)
    number[_places(parts)] = np.arange(1, blocks.shape[0] + 1)
    tiles = tf.gather_nd(table, number[..., None])
    if blocks.shape.rank == 4:
        tiles = tf.transpose(tiles[0], [2, 0, 1, 3, 4])
    whole = tf.reshape(
        tf.transpose(tiles, [0, 1, 3, 2, 4]),
        [*spatial, rows * b_in, columns * b_out],
    )
    return whole[..., : parts.inputs, : parts.outputs]


def from_dense(w: Any, layout: BlockLayout | LayoutTensor) -> tf.Tensor:
    """The blocks of a whole weight or kernel; see `ops.from_dense`.

    >>> layout = BlockLayout([[1, 0], [0, 1]], block_size=1)
    >>> from_dense([[2.0, 4.0], [5.0, 3.0]], layout).numpy().ravel()
    array([2., 3.], dtype=float32)
    """
    parts = resolve(layout)
    w = tf.convert_to_tensor(w)
    b_in, b_out = parts.block_size
    rows, columns = parts.grid
    spatial = w.shape[:-2].as_list()
    taps = math.prod(spatial)
    w = tf.reshape(w, [taps, parts.inputs, parts.outputs])
    down, right = rows * b_in - parts.inputs, columns * b_out - parts.outputs
    whole = tf.pad(w, [[0, 0], [0, down], [0, right]])
    tiles = tf.reshape(whole, [taps, rows, b_in, columns, b_out])
    tiles = tf.transpose(tiles, [0, 1, 3, 2, 4])
    place = np.stack(_places(parts), axis=-1).astype(np.int32)
    if parts.taps is None and spatial:
        tiles = tf.transpose(tiles, [1, 2, 0, 3, 4])
        place = place[:, 1:]
    return tf.gather_nd(tiles, place)


def gated(blocks: tf.Tensor, gate: Any) -> tf.Tensor:
    """`gate[w] * blocks[w]`, which is 0 where the gate is, even for NaN."""
    if gate is None:
        return blocks
    gate = tf.convert_to_tensor(gate)
    gate = tf.reshape(gate, [-1] + [1] * (blocks.shape.rank - 1))
    if gate.dtype.is_bool:
        return tf.where(gate, blocks, tf.zeros_like(blocks))
    return tf.math.multiply_no_nan(blocks, tf.cast(gate, blocks.dtype))


def _places(parts: Resolved) -> tuple[npt.NDArray[Any], ...]:
    """(taps, input blocks, output blocks), each `[nnz]`; tap 0 of a matrix."""
    packed = tf.get_static_value(parts.packed)
    if packed is None:
        raise ValueError(
            "layout: got one without a value, expected a BlockLayout; the "
            "functions of `ops` take a layout that is known only in a graph"
        )
    rows, outputs = _packed.places(packed, parts.packed_grid)
    inputs, taps = np.divmod(rows, parts.taps or 1)
    return taps, inputs, outputs
