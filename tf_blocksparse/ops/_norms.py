# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The norms of blocks of a product that is never whole in memory."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from tf_blocksparse.ops import _inputs

# What is there of a product at a time: it stays in a core's cache, and a
# product of so many numbers is large enough for any matmul.
_TILE_BYTES = 2**20


class Side(NamedTuple):
    """One operand, in the dtype of the sums, and where its features are."""

    value: tf.Tensor
    axis: int
    features: int


def sides(
    names: tuple[str, str], values: tuple[Any, Any], axis: int
) -> tuple[Side, Side]:
    """Both operands, with float32 for 16 bits and without a derivative."""
    dtype = tf.float32
    for value in reversed(values):
        if _inputs.is_tensor(value):
            dtype = value.dtype
    made = [
        _side(name, value, dtype, axis)
        for name, value in zip(names, values, strict=True)
    ]
    if made[0].value.dtype != made[1].value.dtype:
        got = [_inputs.dense_value("", value, dtype).dtype for value in values]
        raise ValueError(
            f"{names[0]} and {names[1]}: got {got[0].name} and {got[1].name}, "
            "expected one dtype; cast one of them"
        )
    return made[0], made[1]


def _side(name: str, value: Any, dtype: tf.DType, axis: int) -> Side:
    value = _inputs.dense_value(name, value, dtype)
    shape = value.shape
    if not value.dtype.is_floating:
        raise ValueError(
            f"{name}: got dtype {value.dtype.name}, expected a float; cast "
            "with tf.cast"
        )
    features = None
    if shape.rank is not None and shape.rank > max(axis, 0):
        features = shape[axis]
    if not features:
        raise ValueError(
            f"{name}: got shape {shape}, expected a known number of features "
            f"along axis {axis}; set it with tf.ensure_shape"
        )
    if value.dtype.size < 4:
        value = tf.cast(value, tf.float32)
    # A tape would hold every tile.
    return Side(tf.stop_gradient(value), axis, features)


def of_sums(
    pairs: Sequence[tuple[Side, Side]],
    block_size: tuple[int, int],
    taps: int,
    sample: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
) -> tf.Tensor:
    """l2 norms of the blocks of the sum of the products of pairs.

    Args:
      pairs: the side with the inputs and the one with the outputs, of each
        product.
      block_size: `(b_in, b_out)`.
      taps: of the kernel; 1 of a matrix.
      sample: makes `[taps, inputs, outputs]` of a tile of both sides.

    Returns:
      float32 `[taps, input blocks, output blocks]`.
    """
    b_in, b_out = block_size
    first, second = pairs[0]
    grid = -(-first.features // b_in), -(-second.features // b_out)
    # As many inputs as there are, if that leaves room for a block of outputs.
    room = _TILE_BYTES // (first.value.dtype.size * taps * b_in * b_out)
    rows = min(grid[0], max(1, room))
    columns = min(grid[1], max(1, room // rows))
    widths = rows * b_in, columns * b_out
    strips = -(-grid[0] // rows), -(-grid[1] // columns)
    padded = [tuple(map(_padded, pair, strips, widths)) for pair in pairs]

    def tile(at: Any) -> tf.Tensor:
        places = at // strips[1], at % strips[1]
        whole = tf.add_n(
            [sample(*map(_strip, pair, places, widths)) for pair in padded]
        )
        blocks = tf.reshape(whole, [taps, rows, b_in, columns, b_out])
        # First rows of blocks, which are far apart in memory.
        sums = tf.reduce_sum(tf.reduce_sum(blocks * blocks, 2), 3)
        return tf.cast(tf.sqrt(sums), tf.float32)

    norms = _each_tile(tile, strips[0] * strips[1], (taps, rows, columns))
    norms = tf.reshape(norms, [*strips, taps, rows, columns])
    norms = tf.transpose(norms, [2, 0, 3, 1, 4])
    whole = [taps, strips[0] * rows, strips[1] * columns]
    return tf.reshape(norms, whole)[:, : grid[0], : grid[1]]


def _each_tile(
    tile: Callable[[Any], tf.Tensor],
    count: int,
    shape: tuple[int, int, int],
) -> tf.Tensor:
    """What `tile` makes of 0 to count - 1, one after the other."""
    if count == 1 or tf.executing_eagerly():
        # The same loop, with less to do between the tiles.
        return tf.stack([tile(at) for at in range(count)])
    found = tf.TensorArray(tf.float32, count, element_shape=shape)
    _, found = tf.while_loop(
        lambda at, _: at < count,
        lambda at, found: (at + 1, found.write(at, tile(at))),
        (tf.constant(0), found),
        parallel_iterations=1,  # more would hold more tiles
    )
    return found.stack()


def _padded(side: Side, strips: int, width: int) -> Side:
    """A side with zeros up to whole strips."""
    missing = strips * width - side.features
    if not missing:
        return side
    paddings = [[0, 0]] * side.value.shape.rank
    paddings[side.axis] = [0, missing]
    return side._replace(
        value=tf.pad(side.value, paddings), features=strips * width
    )


def _strip(side: Side, place: Any, width: int) -> tf.Tensor:
    """So many features of a side."""
    if side.features == width:
        return side.value
    rank = side.value.shape.rank
    axis = side.axis % rank
    begin: list[Any] = [0] * rank
    begin[axis] = place * width
    size = [-1] * rank
    size[axis] = width
    strip = tf.slice(side.value, begin, size)
    if tf.executing_eagerly():
        return strip
    shape = side.value.shape
    return tf.ensure_shape(strip, [*shape[:axis], width, *shape[axis + 1 :]])
