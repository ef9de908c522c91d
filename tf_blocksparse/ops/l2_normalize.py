# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`l2_normalize`: blocks whose outputs have weights of norm 1."""

from typing import Any

import tensorflow as tf

from tf_blocksparse import _arguments
from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.ops import _convert, _inputs, _places
from tf_blocksparse.ops.layout_tensor import LayoutTensor, Resolved, resolve


def l2_normalize(
    blocks: Any,
    layout: BlockLayout | LayoutTensor,
    gain: Any = None,
    epsilon: float = 1e-12,
) -> tf.Tensor:
    """Blocks scaled so that the weights of each output have l2 norm 1.

    Weight normalization: with a `gain` that is learnt, the length of an
    output's weights no longer depends on their direction, and training needs
    no normalization of activations. For each output o of the weight W,

        result[..., o] = gain[o] * W[..., o] / sqrt(max(s, epsilon)),
        s = sum of W[..., o]^2 over all inputs, and taps of a kernel

    on the blocks alone; zeros where there is no block add nothing. An output
    without a block stays without. 16-bit blocks are summed in float32.
    Differentiable to any order by TensorFlow.

    Args:
      blocks: `[nnz, b_in, b_out]` of float32, float64, bfloat16 or float16; of
        a kernel whose taps share the layout, `[nnz, taps, b_in, b_out]`.
        Entries beyond the edge are ignored, and their gradient is 0.
      layout: which blocks these are.
      gain: `[outputs]` of a float type, or None for 1.
      epsilon: number >= 1e-37, the smallest sum of squares that divides.

    Returns:
      Blocks of the same shape and dtype, 0 beyond the edge.

    Raises:
      ValueError: if shapes or dtypes don't fit, or a known layout is none.
      tf.errors.InvalidArgumentError: if a layout known only when a graph runs
        is none.

    Source: Salimans and Kingma, "Weight Normalization", 2016.

    >>> import tensorflow as tf
    >>> from tf_blocksparse import BlockLayout
    >>> layout = BlockLayout([[1, 0], [1, 1]], block_size=1)
    >>> blocks = tf.constant([[[3.0]], [[4.0]], [[5.0]]])
    >>> l2_normalize(blocks, layout, gain=[1.0, 2.0]).numpy().ravel()
    array([0.6, 0.8, 2. ], dtype=float32)
    """
    parts = resolve(layout)
    blocks = _checked_blocks(blocks, parts)
    epsilon = _checked_epsilon(epsilon)
    dtype = tf.float64 if blocks.dtype == tf.float64 else tf.float32
    columns, b_out = parts.grid[1], parts.block_size[1]
    place = _places.places(parts, layout)
    rank = blocks.shape.rank
    values = _without_padding(tf.cast(blocks, dtype), place, parts)
    sums = tf.reduce_sum(tf.square(values), list(range(1, rank - 1)))
    sums = tf.math.unsorted_segment_sum(sums, place[:, 1], columns)
    scale = tf.math.rsqrt(tf.maximum(sums, epsilon))
    if gain is not None:
        gain = tf.cast(_checked_gain(gain, parts.outputs, dtype), dtype)
        gain = tf.pad(gain, [[0, columns * b_out - parts.outputs]])
        scale *= tf.reshape(gain, [columns, b_out])
    scale = tf.gather(scale, place[:, 1])
    for _ in range(rank - 2):
        scale = tf.expand_dims(scale, 1)
    return tf.cast(values * scale, blocks.dtype)


def _without_padding(
    values: tf.Tensor, place: tf.Tensor, parts: Resolved
) -> tf.Tensor:
    """0 where blocks reach beyond the edge of the weight."""
    for axis, block, size, index in (
        (-2, parts.block_size[0], parts.inputs, place[:, 0]),
        (-1, parts.block_size[1], parts.outputs, place[:, 1]),
    ):
        if size % block:
            if axis == -2:
                index //= parts.taps or 1
            inside = index[:, None] * block + tf.range(block) < size
            shape = [-1] + [1] * (values.shape.rank - 1)
            shape[axis] = block
            # Not a product with 0: what lies there may be NaN.
            values = tf.where(tf.reshape(inside, shape), values, 0)
    return values


def _checked_blocks(blocks: Any, parts: Resolved) -> tf.Tensor:
    blocks = _convert.tensor("blocks", blocks)
    if (blocks.dtype, blocks.dtype) not in _inputs.DTYPES:
        raise ValueError(
            f"blocks: got dtype {blocks.dtype.name}, expected float32, "
            "float64, bfloat16 or float16; cast with tf.cast"
        )
    rank = blocks.shape.rank
    has_taps = rank == 4 and parts.taps is None
    taps = [blocks.shape[1]] if has_taps else []
    expected = [parts.nnz, *taps, *parts.block_size]
    return _inputs.check_blocks(blocks, expected, "taps, " if has_taps else "")


def _checked_gain(gain: Any, outputs: int, dtype: tf.DType) -> tf.Tensor:
    gain = _convert.tensor("gain", gain, dtype_hint=dtype)
    if not gain.dtype.is_floating or not _inputs.fits(gain.shape, [outputs]):
        raise ValueError(
            f"gain: got {gain.dtype.name} of shape {gain.shape}, expected "
            f"floats of shape [{outputs}], one for each output; make it of "
            "layout.outputs"
        )
    return gain


def _checked_epsilon(epsilon: Any) -> float:
    # Less is 0 in float32, and an output of zeros would become NaN.
    advice = "1e-12 is the default"
    return _arguments.real("epsilon", epsilon, advice, low=1e-37, or_low=True)
