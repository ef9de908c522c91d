# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`conv_sampled`: the derivative of a convolution, only where blocks exist."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tf_blocksparse import _arguments
from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.ops import (
    _conv_arguments,
    _conv_products,
    _convolve,
    _inputs,
    _products,
)
from tf_blocksparse.ops._conv_arguments import Geometry
from tf_blocksparse.ops._library import library
from tf_blocksparse.ops.layout_tensor import LayoutTensor, resolve


def conv_sampled(
    fine: Any,
    coarse: Any,
    layout: BlockLayout | LayoutTensor,
    kernel_size: int | Sequence[int],
    *,
    strides: int | Sequence[int] = 1,
    padding: Any = "valid",
    dilation_rate: int | Sequence[int] = 1,
    data_format: str = "channels_last",
    gate: Any = None,
    transpose: bool = False,
) -> tf.Tensor:
    """Multiplies both sides of a convolution only where a layout has blocks.

    The gradient of `conv` and `conv_transpose` for their blocks, and a score
    for growing blocks: it tells the gradient of a dense kernel at blocks that
    don't exist yet. Differentiable to any order in fine, coarse and gate.

    `W[t] = gate * sum over pixels o of fine[o * stride + t * dilation -
    before]^T coarse[o]`, where fine is 0 beyond its edge; the blocks of that.
    With `transpose` the two factors change places.

    Args:
      fine: `[batch, *spatial, inputs]`, or `[batch, inputs, *spatial]` with
        channels_first: x of a convolution. With `transpose` it has `outputs`
        features: y of a transposed convolution.
      coarse: the other side, of fine's dtype; its features are `outputs`, or
        `inputs` with `transpose`. Of the two, what is no tensor takes the
        other's dtype, or float32.
      layout: where to multiply; of a matrix, or per tap.
      kernel_size: as for `conv`.
      strides: as for `conv`.
      padding: as for `conv`, from fine to coarse.
      dilation_rate: as for `conv`.
      data_format: "channels_last" or "channels_first".
      gate: `[nnz]`, as for `matmul`. A block with gate 0 is 0.
      transpose: whether fine has the outputs.

    Returns:
      blocks: `[nnz, taps, b_in, b_out]` for a layout of a matrix,
        `[nnz, b_in, b_out]` for a layout per tap, of fine's dtype, 0 beyond the
        edge.

    Raises:
      ValueError: if dtypes, known shapes or the geometry don't fit.
      tf.errors.InvalidArgumentError: if shapes or a layout known only when the
        op runs don't fit.

    >>> from tf_blocksparse import BlockLayout
    >>> layout = BlockLayout([[1]], block_size=1)
    >>> x = [[[1.0], [2.0], [3.0]]]
    >>> dy = [[[1.0], [10.0]]]
    >>> conv_sampled(x, dy, layout, kernel_size=2).numpy().ravel()
    array([21., 32.], dtype=float32)
    """
    parts = resolve(layout)
    transpose = _arguments.flag("transpose", transpose)
    dtype = tf.float32
    for value in (coarse, fine):
        if _inputs.is_tensor(value):
            dtype = value.dtype
    fine = _inputs.dense_value("fine", fine, dtype)
    coarse = _inputs.dense_value("coarse", coarse, dtype)
    said = kernel_size, strides, padding, dilation_rate, data_format
    geometry = _convolve.geometry_of(fine, said)
    _convolve.check_taps(parts, geometry)
    features = parts.inputs, parts.outputs
    if transpose:
        features = features[::-1]
    _convolve.check_side("fine", fine, features[0], geometry)
    _convolve.check_side("coarse", coarse, features[1], geometry)
    _check_pair(fine, coarse, geometry)
    _inputs.check_dtypes(
        fine.dtype, fine.dtype, parts, data_format=geometry.data_format
    )
    gates, gate_gradient = _inputs.gate_list(gate, parts.nnz)
    return library.blocksparse_conv_sampled(
        fine,
        coarse,
        parts.packed,
        gates,
        Tb=fine.dtype,
        block_size=parts.block_size,
        adjoint=transpose,
        **_convolve.attributes(parts, geometry, gate_gradient),
    )


def _check_pair(fine: tf.Tensor, coarse: tf.Tensor, geometry: Geometry) -> None:
    batch = None if fine.shape.rank is None else fine.shape[0]
    sizes = _conv_arguments.coarse_sizes(
        geometry, _convolve.spatial(fine, geometry)
    )
    expected = [batch, *sizes]
    expected.insert(geometry.feature_axis % (len(expected) + 1), None)
    if fine.dtype != coarse.dtype or not _inputs.fits(coarse.shape, expected):
        raise ValueError(
            f"fine and coarse: got {fine.dtype.name} {fine.shape} and "
            f"{coarse.dtype.name} {coarse.shape}, expected one dtype, and the "
            f"coarse shape {expected}; cast, or pass the geometry of the "
            "convolution between them"
        )


@tf.RegisterGradient("Blocksparse>ConvSampled")
def _conv_sampled_gradient(op: Any, dblocks: tf.Tensor) -> _products.Gradients:
    return _conv_products.sampled_gradients(op, dblocks)
