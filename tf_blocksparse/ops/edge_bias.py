# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`edge_bias`: a gain and a bias where a kernel reaches beyond the edge."""

import functools
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from tf_blocksparse import _arguments
from tf_blocksparse.ops import _conv_arguments, _convolve, _inputs
from tf_blocksparse.ops._conv_arguments import Geometry, Sizes


def edge_bias(
    y: Any,
    gain: Any,
    bias: Any,
    kernel_size: int | Sequence[int],
    *,
    input_spatial: Sequence[int],
    strides: int | Sequence[int] = 1,
    padding: Any = "same",
    dilation_rate: int | Sequence[int] = 1,
    data_format: str = "channels_last",
    transpose: bool = False,
) -> tf.Tensor:
    """Corrects a convolution's result where some taps fell off the edge.

    There padding with zeros changes the distribution of the result, which
    normalization then would have to undo. Each set of taps that fall off
    together, a pattern, has a gain and a bias for each channel: a kernel of
    3 x 3 with "same" padding has 8, for 4 edges and 4 corners. Differentiable
    to any order in y, gain and bias.

    `gain[pattern] * y + bias[pattern]` where a tap falls off; elsewhere y, bit
    for bit. Patterns are numbered as they come, row by row.

    Args:
      y: what the convolution gave: `[batch, *spatial, features]`, or
        `[batch, features, *spatial]` with channels_first; of any float dtype.
      gain: `[patterns, features]`, or `[features, patterns]` with
        channels_first, of y's dtype; `edge_bias_patterns` tells how many.
      bias: the same.
      kernel_size: of the convolution.
      input_spatial: the spatial sizes of the convolution's x.
      strides: of the convolution.
      padding: of the convolution; see `conv`.
      dilation_rate: of the convolution.
      data_format: "channels_last" or "channels_first".
      transpose: whether y came from `conv_transpose`. A tap that a stride
        leaves out, since it would lie between two pixels of x, has not fallen
        off.

    Returns:
      Like y.

    Raises:
      ValueError: if dtypes, known shapes or the geometry don't fit.
      tf.errors.InvalidArgumentError: if shapes known only when the op runs
        don't fit.

    Source: `ConvEdgeBias` of https://github.com/openai/blocksparse.

    >>> y = [[[1.0], [1.0], [1.0], [1.0]]]
    >>> gain, bias = [[2.0], [3.0]], [[0.5], [0.25]]
    >>> edge_bias(y, gain, bias, 3, input_spatial=[4]).numpy().ravel()
    array([2.5 , 1.  , 1.  , 3.25], dtype=float32)
    """
    transpose = _arguments.flag("transpose", transpose)
    y = _inputs.dense_value("y", y, tf.float32)
    said = kernel_size, strides, padding, dilation_rate, data_format
    geometry = _convolve.geometry_of(y, said)
    gain = _inputs.dense_value("gain", gain, y.dtype)
    bias = _inputs.dense_value("bias", bias, y.dtype)
    _convolve.check_rank("y", y, geometry)
    # Those of a transposed convolution are not told by x's.
    output = _convolve.spatial(y, geometry) if transpose else None
    edges = _edges(geometry, input_spatial, output, transpose)
    y = _checked(y, gain, bias, edges, geometry)
    if edges.patterns == 0:
        return y
    dtype = y.dtype
    if dtype.size == 2:  # 16 bits are for storage only
        y, gain, bias = (tf.cast(v, tf.float32) for v in (y, gain, bias))
    number = edges.number
    # Number 0 reads a row of its own: what comes of it is not kept.
    first = geometry.feature_axis == 1
    row = [[0, 0], [1, 0]] if first else [[1, 0], [0, 0]]
    gain, bias = tf.pad(gain, row), tf.pad(bias, row)
    # Few pixels alone cost less, unless they are scattered in memory.
    if not first and 4 * np.count_nonzero(number) <= number.size:
        y = _change_rows(y, gain, bias, number.ravel())
    else:
        y = _change_all(y, gain, bias, number, first)
    return tf.cast(y, dtype)


def edge_bias_patterns(
    input_spatial: Sequence[int],
    kernel_size: int | Sequence[int],
    *,
    output_spatial: Sequence[int] | None = None,
    strides: int | Sequence[int] = 1,
    padding: Any = "same",
    dilation_rate: int | Sequence[int] = 1,
    transpose: bool = False,
) -> int:
    """How many gains and biases `edge_bias` has for each feature.

    Args:
      input_spatial: the spatial sizes of the convolution's x.
      kernel_size: of the convolution, as are the others; see `conv`.
      output_spatial: the sizes of y of a transposed convolution, if they are
        not those without output_padding.
      strides: see `conv`.
      padding: see `conv`.
      dilation_rate: see `conv`.
      transpose: whether it is `conv_transpose`.

    Returns:
      The number of patterns of taps that fall off, 0 if none ever does.

    Raises:
      ValueError: if the geometry doesn't fit.

    >>> edge_bias_patterns([32, 32], 3), edge_bias_patterns([32, 32], 1)
    (8, 0)
    """
    rank = len(input_spatial) if np.ndim(input_spatial) else None
    geometry = _conv_arguments.geometry(
        kernel_size,
        strides,
        padding,
        dilation_rate,
        "channels_last",
        rank,
    )
    transpose = _arguments.flag("transpose", transpose)
    return _edges(geometry, input_spatial, output_spatial, transpose).patterns


class _Edges(NamedTuple):
    """The pattern of each pixel of y, from 1; 0 where all taps are inside."""

    number: npt.NDArray[np.int32]
    patterns: int


def _edges(
    geometry: Geometry, source: Any, output: Any, transpose: bool
) -> _Edges:
    source = _conv_arguments.sizes("input_spatial", source, geometry.rank)
    if not transpose:
        sizes = _conv_arguments.coarse_sizes(geometry, list(source))
    elif output is None or None in output:
        extras = _conv_arguments.fine_extras(geometry, None)
        sizes = _conv_arguments.fine_sizes(geometry, list(source), extras)
    else:
        sizes = list(
            _conv_arguments.output_shape(geometry, output, list(source))
        )
    return _number_edges(geometry, source, tuple(sizes), transpose)


@functools.lru_cache(maxsize=64)
def _number_edges(
    geometry: Geometry, source: Sizes, output: Sizes, transpose: bool
) -> _Edges:
    fine, coarse = (output, source) if transpose else (source, output)
    before = _conv_arguments.padding_before(geometry, fine, coarse)
    rows, kinds = [], []
    for axis, size in enumerate(output):
        taps = np.arange(geometry.kernel_size[axis])
        offsets = taps * geometry.dilations[axis] - before[axis]
        pixels, stride = np.arange(size)[:, None], geometry.strides[axis]
        if transpose:
            # A place between two pixels of x has fallen off at neither end.
            place, between = np.divmod(pixels - offsets, stride)
            inside = (between != 0) | ((place >= 0) & (place < source[axis]))
        else:
            place = pixels * stride + offsets
            inside = (place >= 0) & (place < source[axis])
        # Few differ; they are numbered as they come.
        kind, first, row = np.unique(
            inside, axis=0, return_index=True, return_inverse=True
        )
        order = np.argsort(first)
        kinds.append(kind[order])
        rows.append(np.argsort(order)[row.ravel()])
    known: dict[bytes, int] = {}
    table = np.zeros([len(kind) for kind in kinds], np.int32)
    for cell in itertools.product(*map(range, table.shape)):
        chosen = [kind[i] for kind, i in zip(kinds, cell, strict=True)]
        pattern = functools.reduce(np.multiply.outer, chosen)
        if not pattern.all():
            key = pattern.tobytes()
            table[cell] = known.setdefault(key, len(known) + 1)
    return _Edges(table[np.ix_(*rows)], len(known))


def _checked(
    y: tf.Tensor,
    gain: tf.Tensor,
    bias: tf.Tensor,
    edges: _Edges,
    geometry: Geometry,
) -> tf.Tensor:
    first = geometry.feature_axis == 1
    features = None
    if y.shape.rank is not None:
        features = y.shape[geometry.feature_axis]
    expected = (
        [features, edges.patterns] if first else [edges.patterns, features]
    )
    for name, value in (("gain", gain), ("bias", bias)):
        if value.dtype != y.dtype or not y.dtype.is_floating:
            raise ValueError(
                f"{name}: got dtype {value.dtype.name} for y of "
                f"{y.dtype.name}, expected one float dtype; cast with tf.cast"
            )
        if not _inputs.fits(value.shape, expected):
            raise ValueError(
                f"{name}: got shape {value.shape}, expected {expected}, one "
                "for each pattern and feature; see edge_bias_patterns"
            )
    sizes: list[int | None] = [None, *edges.number.shape]
    sizes.insert(1 if first else len(sizes), features)
    if not _inputs.fits(y.shape, sizes):
        raise ValueError(
            f"y: got shape {y.shape}, expected {sizes}; pass the geometry of "
            "the convolution that it came from"
        )
    if y.shape.rank is None or None in y.shape[1:].as_list():
        y = tf.ensure_shape(y, sizes)
    return y


def _change_rows(
    y: tf.Tensor, gain: tf.Tensor, bias: tf.Tensor, number: npt.NDArray[Any]
) -> tf.Tensor:
    """Reads and writes only the pixels at the edge."""
    edge = np.flatnonzero(number)
    features = gain.shape[-1]
    batch = tf.shape(y, tf.int64)[0]
    places = tf.range(batch)[:, None] * number.size + edge
    places = tf.reshape(places, [-1])
    rows = tf.reshape(y, [-1, features])
    old = tf.reshape(tf.gather(rows, places), [-1, edge.size, features])
    new = old * tf.gather(gain, number[edge]) + tf.gather(bias, number[edge])
    rows = tf.tensor_scatter_nd_update(
        rows, places[:, None], tf.reshape(new, [-1, features])
    )
    return tf.reshape(rows, tf.shape(y))


def _change_all(
    y: tf.Tensor,
    gain: tf.Tensor,
    bias: tf.Tensor,
    number: npt.NDArray[Any],
    features_first: bool,
) -> tf.Tensor:
    """Computes everything; keeps what is no edge as it was."""
    axis = 1 if features_first else 0
    gain, bias = (tf.gather(v, number, axis=axis) for v in (gain, bias))
    is_edge = number != 0
    if not features_first:
        is_edge = is_edge[..., None]
    return tf.where(is_edge, y * gain + bias, y)
