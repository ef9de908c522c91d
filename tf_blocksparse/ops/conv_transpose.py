# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`conv_transpose`: a transposed convolution with a block-sparse kernel."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.ops import _conv_arguments, _conv_products, _convolve
from tf_blocksparse.ops._conv_arguments import Geometry
from tf_blocksparse.ops.layout_tensor import LayoutTensor


def conv_transpose(
    x: Any,
    blocks: Any,
    layout: BlockLayout | LayoutTensor,
    kernel_size: int | Sequence[int],
    *,
    strides: int | Sequence[int] = 1,
    padding: Any = "valid",
    output_padding: int | Sequence[int] | None = None,
    output_shape: int | Sequence[int] | None = None,
    dilation_rate: int | Sequence[int] = 1,
    data_format: str = "channels_last",
    bias: Any = None,
    activation: str | Callable[[Any], Any] | None = None,
    gate: Any = None,
) -> tf.Tensor:
    """Convolves the other way: each pixel of x adds a kernel's worth to y.

    Takes the place of `tf.nn.conv_transpose(x, W)` where W is 0 outside of its
    blocks. Differentiable to any order in x, blocks, gate and bias.

    y[o * stride + t * dilation - before] = activation(the sum of all x[o] W[t]
    that belong there + bias), where block w of W is `gate[w] * blocks[w]`.

    Args:
      x: `[batch, *spatial, inputs]`, or `[batch, inputs, *spatial]` with
        channels_first; dtypes as for `conv`.
      blocks: `[nnz, taps, b_in, b_out]` for a layout of a matrix,
        `[nnz, b_in, b_out]` for a layout per tap; see `conv`.
      layout: which blocks these are, over (inputs, outputs): those of x and y,
        whereas Keras's kernels are `[*kernel_size, outputs, inputs]`.
      kernel_size: the size of W in each spatial dimension, or one for all.
      strides: from one pixel of x to the next, in pixels of y.
      padding: what `conv` pads to come back from y to x, and therefore what is
        cut off y here.
      output_padding: how many pixels are added after y, less than `strides`; by
        default as in Keras, so that y has `size * stride` with "same", at least
        so many with "valid", and so many, less 1 if the kernel is even, with
        "same_symmetric"; else 0. With "same" it is added to
        `(size - 1) * stride`, plus 1 if the kernel is odd.
      output_shape: the spatial sizes of y, instead of output_padding.
      dilation_rate: from one tap to the next, in pixels of y.
      data_format: "channels_last" or "channels_first".
      bias: `[outputs]`, of x's dtype.
      activation: as for `matmul`.
      gate: `[nnz]`, as for `matmul`.

    Returns:
      y: like x, with `outputs` features. Where more is cut off than there is,
        no pixels are left.

    Raises:
      ValueError: if dtypes, known shapes or the geometry don't fit.
      tf.errors.InvalidArgumentError: if shapes or a layout known only when the
        op runs don't fit.

    >>> import tensorflow as tf
    >>> from tf_blocksparse import BlockLayout
    >>> layout = BlockLayout([[1]], block_size=1)
    >>> x = [[[1.0], [2.0]]]
    >>> kernel = tf.reshape([1.0, 10.0, 100.0], [1, 3, 1, 1])
    >>> y = conv_transpose(x, kernel, layout, kernel_size=3, strides=2)
    >>> y.numpy().ravel()
    array([  1.,  10., 102.,  20., 200.], dtype=float32)
    """
    said = kernel_size, strides, padding, dilation_rate, data_format
    operands = _convolve.operands(x, blocks, layout, said)
    out_spatial = _out_spatial(
        operands.x, operands.geometry, output_padding, output_shape
    )
    return _convolve.convolve(
        operands, out_spatial, True, bias, activation, gate
    )


def _out_spatial(
    x: tf.Tensor, geometry: Geometry, output_padding: Any, output_shape: Any
) -> tf.Tensor:
    """The spatial sizes of y."""
    coarse = _convolve.spatial(x, geometry)
    if output_shape is not None:
        if output_padding is not None:
            raise ValueError(
                "output_shape: got one beside output_padding, expected one of "
                "the two; leave out output_padding"
            )
        return _conv_products.sizes_tensor(
            _conv_arguments.output_shape(geometry, output_shape, coarse)
        )
    extras = _conv_arguments.fine_extras(geometry, output_padding)
    known = _conv_arguments.fine_sizes(geometry, coarse, extras)
    fine = tuple(size for size in known if size is not None)
    if len(fine) == len(known):
        return _conv_products.sizes_tensor(fine)
    first = 2 if geometry.feature_axis == 1 else 1
    shape = tf.shape(x)
    return tf.stack(
        [
            _fine_size(shape[first + axis], geometry.strides[axis], extra)
            if size is None
            else size
            for axis, (size, extra) in enumerate(
                zip(known, extras, strict=True)
            )
        ]
    )


def _fine_size(coarse: tf.Tensor, stride: int, extra: int) -> tf.Tensor:
    fine = (coarse - 1) * stride + extra
    return fine if extra >= stride else tf.maximum(fine, 0)
