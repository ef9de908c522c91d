# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`to_dense` and `from_dense`: between blocks and the whole weight."""

from typing import Any

import numpy as np
import tensorflow as tf

from tf_blocksparse import _packed
from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.ops import _convert, _inputs
from tf_blocksparse.ops.layout_tensor import LayoutTensor, Resolved, resolve


def to_dense(blocks: Any, layout: BlockLayout | LayoutTensor) -> tf.Tensor:
    """The whole weight that blocks stand for, 0 where there is no block.

    To look at a weight, or to hand it to code that knows only dense ones; it
    takes the memory of the dense weight. Differentiable to any order.

    Args:
      blocks: `[nnz, b_in, b_out]` of any dtype. Entries beyond the edge are
        ignored, and their gradient is 0.
      layout: which blocks these are.

    Returns:
      The weight `[inputs, outputs]` of the same dtype.

    Raises:
      ValueError: if shapes don't fit, or a known layout is none.
      tf.errors.InvalidArgumentError: if a layout known only when a graph runs
        is none.

    >>> from tf_blocksparse import BlockLayout
    >>> layout = BlockLayout([[1, 0], [0, 1]], block_size=1)
    >>> to_dense([[[2.0]], [[3.0]]], layout).numpy()
    array([[2., 0.],
           [0., 3.]], dtype=float32)
    """
    parts = resolve(layout)
    blocks = _inputs.blocks_tensor(blocks, parts, hint=None)
    b_in, b_out = parts.block_size
    rows, columns = parts.grid
    places = _places(parts, layout)
    tiles = tf.scatter_nd(places, blocks, [rows, columns, b_in, b_out])
    whole = tf.reshape(
        tf.transpose(tiles, [0, 2, 1, 3]), [rows * b_in, columns * b_out]
    )
    return whole[: parts.inputs, : parts.outputs]


def from_dense(w: Any, layout: BlockLayout | LayoutTensor) -> tf.Tensor:
    """The blocks of a whole weight; what lies outside of them is dropped.

    To start a block-sparse layer from a trained dense one. Differentiable to
    any order.

    Args:
      w: the weight `[inputs, outputs]` of any dtype.
      layout: which blocks to cut.

    Returns:
      blocks: `[nnz, b_in, b_out]` of the same dtype, 0 beyond the edge.

    Raises:
      ValueError: if shapes don't fit, or a known layout is none.
      tf.errors.InvalidArgumentError: if a layout known only when a graph runs
        is none.

    >>> from tf_blocksparse import BlockLayout
    >>> layout = BlockLayout([[1, 0], [0, 1]], block_size=1)
    >>> from_dense([[2.0, 4.0], [5.0, 3.0]], layout).numpy().ravel()
    array([2., 3.], dtype=float32)
    """
    parts = resolve(layout)
    w = _convert.tensor("w", w)
    if not _inputs.fits(w.shape, [parts.inputs, parts.outputs]):
        raise ValueError(
            f"w: got shape {w.shape}, expected [{parts.inputs}, "
            f"{parts.outputs}]; transpose it, or pass the layout that fits it"
        )
    b_in, b_out = parts.block_size
    rows, columns = parts.grid
    padding = [
        [0, rows * b_in - parts.inputs],
        [0, columns * b_out - parts.outputs],
    ]
    tiles = tf.reshape(tf.pad(w, padding), [rows, b_in, columns, b_out])
    places = _places(parts, layout)
    blocks = tf.gather_nd(tf.transpose(tiles, [0, 2, 1, 3]), places)
    return tf.ensure_shape(blocks, [parts.nnz, b_in, b_out])


def _places(parts: Resolved, layout: BlockLayout | LayoutTensor) -> tf.Tensor:
    """(input block, output block) of each block, `[nnz, 2]`, checked."""
    packed = tf.get_static_value(parts.packed)
    if packed is None:
        return _places_in_graph(parts)
    if not isinstance(layout, BlockLayout):
        shape = parts.inputs, parts.outputs
        BlockLayout.from_packed(packed, shape, parts.block_size)
    places = _packed.places(packed, parts.grid)
    return tf.constant(np.stack(places, axis=1), tf.int32)


def _places_in_graph(parts: Resolved) -> tf.Tensor:
    # tf.equal: `==` compares identities in a tf.compat.v1 graph.
    rows, columns = parts.grid
    spare = tf.size(parts.packed) - (rows + columns + 2)
    nnz = spare // 3
    length = _require(
        (spare >= 0) & tf.equal(spare % 3, 0),
        f"got a length other than {rows + columns + 2} + 3 nnz",
    )
    with tf.control_dependencies([length]):
        splits = parts.packed[: columns + 1]
        inputs = parts.packed[columns + 1 : columns + 1 + nnz]
    counts = splits[1:] - splits[:-1]
    rises = _require(
        tf.equal(splits[0], 0)
        & tf.equal(splits[-1], nnz)
        & tf.reduce_all(splits[1:] >= splits[:-1]),
        "got output_splits that do not ascend from 0 to nnz",
    )
    with tf.control_dependencies([rises]):
        outputs = tf.repeat(tf.range(columns), counts)
    in_range = _require(
        tf.reduce_all((inputs >= 0) & (inputs < rows)),
        f"got an input_index outside of 0 to {rows - 1}",
    )
    next_output = outputs[1:] > outputs[:-1]
    ascends = _require(
        tf.reduce_all(next_output | (inputs[1:] > inputs[:-1])),
        "got inputs that do not ascend within an output",
    )
    with tf.control_dependencies([in_range, ascends]):
        return tf.stack([inputs, outputs], axis=1)


def _require(condition: tf.Tensor, wrong: str) -> tf.Operation:
    advice = "expected a packed layout; pass what BlockLayout.packed gave"
    return tf.debugging.Assert(condition, [f"layout.packed: {wrong}, {advice}"])
