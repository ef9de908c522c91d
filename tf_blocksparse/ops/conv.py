# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`conv`: a convolution with a block-sparse kernel."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.ops import _conv_products, _convolve, _products
from tf_blocksparse.ops.layout_tensor import LayoutTensor


def conv(
    x: Any,
    blocks: Any,
    layout: BlockLayout | LayoutTensor,
    kernel_size: int | Sequence[int],
    *,
    strides: int | Sequence[int] = 1,
    padding: Any = "valid",
    dilation_rate: int | Sequence[int] = 1,
    data_format: str = "channels_last",
    bias: Any = None,
    activation: str | Callable[[Any], Any] | None = None,
    gate: Any = None,
) -> tf.Tensor:
    """Convolves pixels in 1, 2 or 3 dimensions with a block-sparse kernel.

    Takes the place of `tf.nn.convolution(x, W)` where W is 0 outside of its
    blocks: time and memory follow the number of blocks. Differentiable to any
    order in x, blocks, gate and bias.

    y[o] = activation(sum over taps t of x[o * stride + t * dilation - before]
    W[t] + bias), where x is 0 beyond its edge and block w of W is
    `gate[w] * blocks[w]`.

    Args:
      x: `[batch, *spatial, inputs]`, or `[batch, inputs, *spatial]` with
        channels_first. float32, float64, bfloat16 or float16; what is no tensor
        takes the dtype of `blocks`.
      blocks: `[nnz, taps, b_in, b_out]` for a layout of a matrix, each block
        having all taps; `[nnz, b_in, b_out]` for a layout per tap. Taps are
        counted row by row, as in `[*kernel_size, inputs, outputs]`. Of x's
        dtype, or 16 bits beside a float32 x. Entries beyond the edge of W are
        ignored.
      layout: which blocks these are, over (inputs, outputs).
      kernel_size: the size of W in each spatial dimension, or one for all.
      strides: from one pixel of y to the next, in pixels of x; one for each
        dimension, or for all. May be more than 1 along with dilation_rate.
      padding: how many zeros surround x. "valid": none; "same": so many that y
        has ceil(size / stride) pixels, those after being one more if odd;
        "causal", in one dimension: `(kernel_size - 1) * dilation_rate` before;
        "same_symmetric": half the dilated kernel on both sides; or their
        number: an int, or for each dimension an int or (before, after).
      dilation_rate: from one tap to the next, in pixels of x.
      data_format: "channels_last" or "channels_first".
      bias: `[outputs]`, of x's dtype.
      activation: as for `matmul`.
      gate: `[nnz]`, as for `matmul`.

    Returns:
      y: like x, with `outputs` features. A kernel that fits nowhere into x
        gives no pixels.

    Raises:
      ValueError: if dtypes, known shapes or the geometry don't fit.
      tf.errors.InvalidArgumentError: if shapes or a layout known only when the
        op runs don't fit.

    >>> import tensorflow as tf
    >>> from tf_blocksparse import BlockLayout
    >>> layout = BlockLayout([[1, 0], [1, 1]], block_size=1)
    >>> x = [[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]]
    >>> conv(x, tf.ones([3, 2, 1, 1]), layout, kernel_size=2).numpy()
    array([[[10.,  6.],
            [18., 10.]]], dtype=float32)
    """
    said = kernel_size, strides, padding, dilation_rate, data_format
    operands = _convolve.operands(x, blocks, layout, said)
    # The op tells the size of y by the padding.
    out_spatial = _conv_products.sizes_tensor(())
    return _convolve.convolve(
        operands, out_spatial, False, bias, activation, gate
    )


@tf.RegisterGradient("Blocksparse>Conv")
def _conv_gradient(op: Any, dy: tf.Tensor) -> _products.Gradients:
    return [*_conv_products.conv_gradients(op, dy), None]


@tf.RegisterGradient("Blocksparse>ConvFused")
def _conv_fused_gradient(
    op: Any, dy: tf.Tensor, dz: tf.Tensor
) -> _products.Gradients:
    return [*_conv_products.fused_gradients(op, dy, dz), None]
