# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`conv_block_norms`: how large the blocks of a kernel's gradient are."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tf_blocksparse import _arguments
from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.ops import _convolve, _inputs, _norms
from tf_blocksparse.ops._conv_arguments import Geometry
from tf_blocksparse.ops.conv_sampled import conv_sampled


def conv_block_norms(
    fine: Any,
    coarse: Any,
    kernel_size: int | Sequence[int],
    block_size: int | tuple[int, int],
    *,
    strides: int | Sequence[int] = 1,
    padding: Any = "valid",
    dilation_rate: int | Sequence[int] = 1,
    data_format: str = "channels_last",
    transpose: bool = False,
    taps: bool = True,
) -> tf.Tensor:
    """The l2 norm of every block of a kernel's gradient.

    `block_norms` for convolutions: both sides of one, an input and the gradient
    of the preactivations, tell how much a block would help where there is none.
    The dense gradient is made tile by tile, of 1 MiB, and not kept.

    `norms[t, c, k] = sqrt(sum over block (c, k) of W[t]**2)`, where W is what
    `conv_sampled` makes with every block; with `taps=False` the sum is over
    all t, too.

    Not differentiable: the result is a constant to a tape.

    Args:
      fine: `[batch, *spatial, inputs]`, or `[batch, inputs, *spatial]` with
        channels_first: x of a convolution. With `transpose` it has the outputs:
        y of a transposed convolution. The number of features must be known
        when a graph is built.
      coarse: the other side, of fine's dtype. Of the two, what is no tensor
        takes the other's dtype, or float32.
      kernel_size: as for `conv`.
      block_size: one int or `(b_in, b_out)`, each 1 to 256. Features need not
        be multiples of it.
      strides: as for `conv`.
      padding: as for `conv`, from fine to coarse.
      dilation_rate: as for `conv`.
      data_format: "channels_last" or "channels_first".
      transpose: whether fine has the outputs.
      taps: whether each tap has norms of its own, for layouts per tap; False
        for layouts that all taps share.

    Returns:
      float32 `[taps, input blocks, output blocks]`, without taps if `taps` is
      False. Products and squares are added up in float32, of float64 in
      float64.

    Raises:
      ValueError: if dtypes, known shapes or the geometry don't fit.
      tf.errors.InvalidArgumentError: if shapes known only when the op runs
        don't fit.

    >>> x = [[[1.0], [2.0], [3.0]]]
    >>> dy = [[[1.0], [10.0]]]
    >>> conv_block_norms(x, dy, 2, block_size=1).numpy().ravel()
    array([21., 32.], dtype=float32)
    """
    said = kernel_size, strides, padding, dilation_rate, data_format
    return norms_of_sum(
        [(fine, coarse)], said, block_size, transpose=transpose, taps=taps
    )


def norms_of_sum(
    pairs: Sequence[tuple[Any, Any]],
    said: _convolve.Said,
    block_size: int | tuple[int, int],
    *,
    transpose: bool,
    taps: bool,
) -> tf.Tensor:
    """`conv_block_norms` of several pairs of sides, whose gradients add up."""
    size = _arguments.block_size(block_size)
    transpose = _arguments.flag("transpose", transpose)
    taps = _arguments.flag("taps", taps)
    first = _inputs.dense_value("fine", pairs[0][0], tf.float32)
    geometry = _convolve.geometry_of(first, said)
    both = []
    for pair in pairs:
        sides = _norms.sides(("fine", "coarse"), pair, geometry.feature_axis)
        for name, side in zip(("fine", "coarse"), sides, strict=True):
            _convolve.check_rank(name, side.value, geometry)
        both.append(sides[::-1] if transpose else sides)

    def sample(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
        return _whole(a, b, size, geometry, said, transpose)

    norms = _norms.of_sums(both, size, geometry.taps, sample)
    return norms if taps else tf.norm(norms, axis=0)


def _whole(
    a: tf.Tensor,
    b: tf.Tensor,
    block_size: tuple[int, int],
    geometry: Geometry,
    said: _convolve.Said,
    transpose: bool,
) -> tf.Tensor:
    """The kernel's gradient `[taps, inputs, outputs]` for a tile of it."""
    axis = geometry.feature_axis
    shape = a.shape[axis], b.shape[axis]
    layout = BlockLayout.dense(shape, block_size)
    kernel_size, strides, padding, dilation_rate, data_format = said
    blocks = conv_sampled(
        *((b, a) if transpose else (a, b)),
        layout,
        kernel_size,
        strides=strides,
        padding=padding,
        dilation_rate=dilation_rate,
        data_format=data_format,
        transpose=transpose,
    )
    rows, columns = layout.grid
    # Ordered by output, then by input.
    tiles = tf.reshape(blocks, [columns, rows, geometry.taps, *block_size])
    return tf.reshape(
        tf.transpose(tiles, [2, 1, 3, 0, 4]), [geometry.taps, *shape]
    )
