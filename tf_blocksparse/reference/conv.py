# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Convolutions as one product over all taps, each tap a shifted image."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.ops.layout_tensor import LayoutTensor
from tf_blocksparse.reference import _geometry
from tf_blocksparse.reference._geometry import Geometry
from tf_blocksparse.reference.dense import from_dense, gated, to_dense
from tf_blocksparse.reference.matmul import activated


def conv(
    x: Any,
    blocks: Any,
    layout: BlockLayout | LayoutTensor,
    kernel_size: Any,
    *,
    strides: Any = 1,
    padding: Any = "valid",
    dilation_rate: Any = 1,
    data_format: str = "channels_last",
    bias: Any = None,
    activation: str | Callable[[Any], Any] | None = None,
    gate: Any = None,
) -> tf.Tensor:
    """`activation(x * W + bias)` of a convolution; see `ops.conv`.

    >>> layout = BlockLayout([[1]], block_size=1)
    >>> x = tf.reshape([1.0, 2.0, 3.0], [1, 3, 1])
    >>> conv(x, [[[[1.0]], [[10.0]]]], layout, 2).numpy().ravel()
    array([21., 32.], dtype=float32)
    """
    x = _features_last(tf.convert_to_tensor(x), data_format)
    fine = _spatial(x)
    axes = _geometry.axes(
        len(fine), kernel_size, strides, padding, dilation_rate
    )
    coarse = _geometry.coarse_sizes(axes, fine)
    where = _geometry.geometry(axes, fine, coarse)
    w = _kernel(blocks, layout, gate, where, x.dtype)
    w = tf.reshape(w, [-1, w.shape[-1]])
    y = tf.tensordot(_windows(x, where), w, axes=1)
    return _finish(y, bias, activation, data_format)


def conv_transpose(
    x: Any,
    blocks: Any,
    layout: BlockLayout | LayoutTensor,
    kernel_size: Any,
    *,
    strides: Any = 1,
    padding: Any = "valid",
    output_padding: Any = None,
    output_shape: Any = None,
    dilation_rate: Any = 1,
    data_format: str = "channels_last",
    bias: Any = None,
    activation: str | Callable[[Any], Any] | None = None,
    gate: Any = None,
) -> tf.Tensor:
    """The same of a transposed convolution; see `ops.conv_transpose`.

    >>> layout = BlockLayout([[1]], block_size=1)
    >>> x = tf.reshape([1.0, 2.0], [1, 2, 1])
    >>> conv_transpose(x, [[[[1.0]], [[10.0]]]], layout, 2).numpy().ravel()
    array([ 1., 12., 20.], dtype=float32)
    """
    x = _features_last(tf.convert_to_tensor(x), data_format)
    coarse = _spatial(x)
    axes = _geometry.axes(
        len(coarse), kernel_size, strides, padding, dilation_rate
    )
    fine = _geometry.fine_sizes(axes, coarse, output_padding, output_shape)
    where = _geometry.geometry(axes, fine, coarse)
    w = _kernel(blocks, layout, gate, where, x.dtype)
    of_taps = tf.tensordot(x, w, [[x.shape.rank - 1], [1]])
    y = 0
    for number, offset in enumerate(where.offsets):
        image = _dilated(of_taps[..., number, :], where.strides)
        y += _shifted(image, offset, where.fine)
    return _finish(y, bias, activation, data_format)


def conv_sampled(
    fine: Any,
    coarse: Any,
    layout: BlockLayout | LayoutTensor,
    kernel_size: Any,
    *,
    strides: Any = 1,
    padding: Any = "valid",
    dilation_rate: Any = 1,
    data_format: str = "channels_last",
    gate: Any = None,
    transpose: bool = False,
) -> tf.Tensor:
    """The derivative of a convolution for its blocks; see `ops.conv_sampled`.

    >>> layout = BlockLayout([[1]], block_size=1)
    >>> fine = tf.reshape([1.0, 2.0, 3.0], [1, 3, 1])
    >>> coarse = tf.reshape([1.0, 10.0], [1, 2, 1])
    >>> conv_sampled(fine, coarse, layout, 2).numpy().ravel()
    array([21., 32.], dtype=float32)
    """
    fine = _features_last(tf.convert_to_tensor(fine), data_format)
    coarse = _features_last(tf.convert_to_tensor(coarse), data_format)
    sizes = _spatial(fine), _spatial(coarse)
    axes = _geometry.axes(
        len(sizes[0]), kernel_size, strides, padding, dilation_rate
    )
    where = _geometry.geometry(axes, *sizes)
    pixels = list(range(coarse.shape.rank - 1))
    kernel = tf.tensordot(_windows(fine, where), coarse, [pixels, pixels])
    kernel = tf.reshape(
        kernel, [len(where.offsets), fine.shape[-1], coarse.shape[-1]]
    )
    if transpose:
        kernel = tf.transpose(kernel, [0, 2, 1])
    return gated(from_dense(kernel, layout), gate)


def _kernel(
    blocks: Any, layout: Any, gate: Any, where: Geometry, dtype: tf.DType
) -> tf.Tensor:
    """The whole kernel, `[taps, inputs, outputs]`."""
    blocks = gated(tf.convert_to_tensor(blocks), gate)
    return tf.cast(to_dense(blocks, layout, len(where.offsets)), dtype)


def _windows(fine: tf.Tensor, where: Geometry) -> tf.Tensor:
    """What each tap sees from each coarse pixel: `[..., taps * features]`."""
    ends = [
        max((size - 1) * stride + 1, 0)
        for size, stride in zip(where.coarse, where.strides, strict=True)
    ]
    steps = [slice(None, None, stride) for stride in (1, *where.strides)]
    return tf.concat(
        [
            _shifted(fine, [-first for first in offset], ends)[tuple(steps)]
            for offset in where.offsets
        ],
        axis=-1,
    )


def _shifted(
    image: tf.Tensor, offset: list[int], sizes: list[int]
) -> tf.Tensor:
    """Pixel i at i + offset of an image of `sizes`, with zeros elsewhere."""
    kept, zeros = [slice(None)], [[0, 0]]
    for old, first, new in zip(_spatial(image), offset, sizes, strict=True):
        begin = min(max(-first, 0), old)
        end = max(min(old, new - first), begin)
        before = max(first + begin, 0) if end > begin else 0
        kept.append(slice(begin, end))
        zeros.append([before, new - before - (end - begin)])
    return tf.pad(image[tuple(kept)], [*zeros, [0, 0]])


def _dilated(image: tf.Tensor, strides: list[int]) -> tf.Tensor:
    """An image with stride - 1 zeros after each pixel."""
    for axis, stride in enumerate(strides, 1):
        shape = image.shape.as_list()
        zeros = [[0, 0] for _ in range(len(shape) + 1)]
        zeros[axis + 1][1] = stride - 1
        shape[axis] *= stride
        shape[0] = tf.shape(image)[0]
        image = tf.reshape(
            tf.pad(tf.expand_dims(image, axis + 1), zeros), shape
        )
    return image


def _finish(
    y: tf.Tensor, bias: Any, activation: Any, data_format: str
) -> tf.Tensor:
    if bias is not None:
        y += bias
    if data_format == "channels_first":
        y = tf.transpose(y, [0, y.shape.rank - 1, *range(1, y.shape.rank - 1)])
    return activated(y, activation)


def _features_last(x: tf.Tensor, data_format: str) -> tf.Tensor:
    if data_format == "channels_last":
        return x
    return tf.transpose(x, [0, *range(2, x.shape.rank), 1])


def _spatial(x: tf.Tensor) -> list[int]:
    sizes = x.shape[1:-1].as_list()
    if None in sizes:
        raise ValueError(
            f"x: got shape {x.shape}, expected known sizes of all but the "
            "batch; the functions of `ops` take others"
        )
    return sizes
