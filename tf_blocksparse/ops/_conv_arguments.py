# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The geometry of a convolution: checks what a user says, tells sizes.

A convolution has a fine side, with a pixel for each step of a tap, and a coarse
one, with a pixel for each stride:

    fine = coarse * stride + tap * dilation - padding_before

x of a convolution and y of a transposed one are fine. Every failure is a
`ValueError`: "name: got ..., expected ...; what to do".
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from tf_blocksparse import _arguments

MAX_RANK = 3
_PADDINGS = (
    "'valid', 'same', 'same_symmetric', 'causal' in one dimension, or the "
    "number of zeros: an int, or for each dimension an int or (before, after)"
)
Sizes = tuple[int, ...]


class Geometry(NamedTuple):
    """Which pixels a convolution brings together, as its ops say it."""

    kernel_size: Sizes
    strides: Sizes
    dilations: Sizes
    padding: str  # VALID, SAME or EXPLICIT
    explicit_paddings: Sizes  # before and after each dimension if EXPLICIT
    data_format: str
    symmetric: bool  # the padding was "same_symmetric"

    @property
    def rank(self) -> int:
        """The number of spatial dimensions."""
        return len(self.kernel_size)

    @property
    def taps(self) -> int:
        """The number of pixels of the kernel."""
        return math.prod(self.kernel_size)

    @property
    def feature_axis(self) -> int:
        """The axis of the features."""
        return 1 if self.data_format == "channels_first" else -1


def geometry(
    kernel_size: Any,
    strides: Any,
    padding: Any,
    dilation_rate: Any,
    data_format: Any,
    rank: int | None = None,
) -> Geometry:
    """The geometry of what the user says; `rank` is that of x less two.

    Raises:
      ValueError: if one of them is wrong, or they don't fit each other.
    """
    arguments = kernel_size, strides, padding, dilation_rate, data_format, rank
    try:
        return _geometry_seen(*arguments)
    except TypeError:  # a list or an array, which has no hash
        return _geometry(*arguments)


def _geometry(
    kernel_size: Any,
    strides: Any,
    padding: Any,
    dilation_rate: Any,
    data_format: Any,
    rank: int | None,
) -> Geometry:
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(
            f"data_format: got {_arguments.shown(data_format)}, expected "
            "'channels_last' or 'channels_first'; transpose the input"
        )
    kernel = _kernel_size(kernel_size, rank)
    rank = len(kernel)
    dilations = _each("dilation_rate", dilation_rate, rank, 1)
    reach = tuple(
        (size - 1) * dilation
        for size, dilation in zip(kernel, dilations, strict=True)
    )
    if max(reach) > _arguments.MAX_INT32:
        raise ValueError(
            f"dilation_rate: got {dilation_rate}, expected (kernel_size - 1) * "
            f"dilation_rate of at most {_arguments.MAX_INT32}; dilate less"
        )
    name, zeros = _padding(padding, reach)
    return Geometry(
        kernel,
        _each("strides", strides, rank, 1),
        dilations,
        name,
        zeros,
        data_format,
        isinstance(padding, str) and padding == "same_symmetric",
    )


# The checks would take longer than the rest of a call. A number that equals a
# good one, as 1.0 does 1, may be taken for it.
_geometry_seen = functools.lru_cache(maxsize=256, typed=True)(_geometry)


def _kernel_size(value: Any, rank: int | None) -> Sizes:
    if isinstance(value, (tuple, list, np.ndarray)):
        count = len(value)
        if rank is not None and count != rank:
            raise ValueError(
                f"kernel_size: got {_arguments.shown(value)} for an input with "
                f"{rank} spatial dimensions, expected as many sizes; pass one "
                "for each axis but those of batch and features"
            )
    elif rank is None:
        raise ValueError(
            f"kernel_size: got {_arguments.shown(value)} for an input of "
            "unknown rank, expected a size for each spatial dimension; pass a "
            "tuple"
        )
    else:
        count = rank
    if not 1 <= count <= MAX_RANK:
        raise ValueError(
            f"kernel_size: got {_arguments.shown(value)} for {count} spatial "
            f"dimensions, expected 1 to {MAX_RANK} besides batch and features; "
            "reshape the input"
        )
    return _each("kernel_size", value, count, 1)


def _each(name: str, value: Any, rank: int, low: int) -> Sizes:
    """`value`, an int or one for each dimension, as a tuple."""
    advice = "pass an int, or one for each spatial dimension"
    high = _arguments.MAX_INT32
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (tuple, list)):
        return (_arguments.integer(name, value, low, high, advice),) * rank
    if len(value) != rank:
        raise ValueError(
            f"{name}: got {_arguments.shown(value)}, expected {rank} integers; "
            f"{advice}"
        )
    return tuple(
        _arguments.integer(f"{name}[{axis}]", each, low, high, advice)
        for axis, each in enumerate(value)
    )


def _padding(value: Any, reach: Sizes) -> tuple[str, Sizes]:
    """The ops' `padding` and `explicit_paddings`."""
    rank = len(reach)
    if isinstance(value, str):
        if value in ("valid", "same"):
            return value.upper(), ()
        if value == "causal" and rank == 1:
            return "EXPLICIT", (reach[0], 0)
        if value == "same_symmetric":
            # Half the dilated kernel, which is one longer than its reach.
            return "EXPLICIT", tuple(
                (length + 1) // 2 for length in reach for _ in range(2)
            )
    each_axis = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(each_axis, (tuple, list)):
        each_axis = (each_axis,) * rank
    pairs = [
        each if isinstance(each, (tuple, list)) else (each, each)
        for each in each_axis
    ]
    fits = len(pairs) == rank and all(len(pair) == 2 for pair in pairs)
    try:
        zeros = tuple(
            _arguments.integer("padding", each, 0, _arguments.MAX_INT32, "")
            for pair in pairs
            for each in pair
        )
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"padding: got {_arguments.shown(value)} in {rank} spatial "
            f"dimensions, expected {_PADDINGS}; pass one of these"
        )
    return "EXPLICIT", zeros


def sizes(name: str, value: Any, rank: int) -> Sizes:
    """`value` as the spatial sizes of a side."""
    return _each(name, value, rank, 0)


def coarse_sizes(
    geometry: Geometry, fine: list[int | None]
) -> list[int | None]:
    """Sizes of y of a convolution from those of x; None is unknown."""
    return [
        None if size is None else _coarse_size(geometry, axis, size)
        for axis, size in enumerate(fine)
    ]


def _coarse_size(geometry: Geometry, axis: int, fine: int) -> int:
    # Where the first tap may lie.
    places = fine
    if geometry.padding != "SAME":
        places -= _reach(geometry, axis) - sum(_zeros(geometry, axis))
    return -(-max(places, 0) // geometry.strides[axis])


def fine_extras(geometry: Geometry, output_padding: Any) -> Sizes:
    """How much longer than `(size - 1) * stride` y of a transposed one is.

    Raises:
      ValueError: if no convolution comes back from it to the size of x.
    """
    if output_padding is None:
        return _default_extras(geometry)
    extras = []
    added = _each("output_padding", output_padding, geometry.rank, 0)
    for axis, stride in enumerate(geometry.strides):
        least = _least_extra(geometry, axis)
        extra = added[axis] + least
        if geometry.padding == "SAME":
            extra = added[axis] + (_reach(geometry, axis) + 1) % 2
        if not least <= extra < least + stride:
            low = added[axis] + least - extra
            raise ValueError(
                f"output_padding: got {added[axis]} with strides {stride}, "
                f"expected {max(low, 0)} to {low + stride - 1}; a convolution "
                "would not come back to the input's size"
            )
        extras.append(extra)
    return tuple(extras)


@functools.lru_cache(maxsize=256)
def _default_extras(geometry: Geometry) -> Sizes:
    extras = []
    for axis, stride in enumerate(geometry.strides):
        extra = _least_extra(geometry, axis)
        if geometry.padding == "SAME":
            extra = stride
        elif geometry.padding == "VALID":
            extra = max(extra, stride)
        elif geometry.symmetric:
            extra += stride - 1
        extras.append(extra)
    return tuple(extras)


def fine_sizes(
    geometry: Geometry, coarse: list[int | None], extras: Sizes
) -> list[int | None]:
    """Sizes of y of a transposed convolution from those of x."""
    return [
        None if size is None else max((size - 1) * stride + extra, 0)
        for size, stride, extra in zip(
            coarse, geometry.strides, extras, strict=True
        )
    ]


def output_shape(
    geometry: Geometry, value: Any, coarse: list[int | None]
) -> Sizes:
    """`value` as the sizes of y of a transposed convolution, checked."""
    fine = sizes("output_shape", value, geometry.rank)
    for axis, size in enumerate(coarse):
        if size is None or size == _coarse_size(geometry, axis, fine[axis]):
            continue
        stride = geometry.strides[axis]
        low = (size - 1) * stride + _least_extra(geometry, axis)
        raise ValueError(
            f"output_shape: got {fine[axis]} for an input of {size}, expected "
            f"{max(low, 0)} to {low + stride - 1}; pass a size that a "
            "convolution brings to the input's"
        )
    return fine


def _least_extra(geometry: Geometry, axis: int) -> int:
    """The least of `fine_extras`; the greatest is stride - 1 above it."""
    if geometry.padding == "SAME":
        return 1
    return _reach(geometry, axis) + 1 - sum(_zeros(geometry, axis))


def _reach(geometry: Geometry, axis: int) -> int:
    """Pixels from the first tap to the last one."""
    return (geometry.kernel_size[axis] - 1) * geometry.dilations[axis]


def _zeros(geometry: Geometry, axis: int) -> Sizes:
    """Zeros before and after, if they are explicit."""
    return geometry.explicit_paddings[2 * axis : 2 * axis + 2]


def padding_before(geometry: Geometry, fine: Sizes, coarse: Sizes) -> Sizes:
    """Zeros before the first pixel in each dimension."""
    before = []
    for axis, stride in enumerate(geometry.strides):
        if geometry.padding == "EXPLICIT":
            before.append(_zeros(geometry, axis)[0])
        elif geometry.padding == "VALID":
            before.append(0)
        else:
            reach = (coarse[axis] - 1) * stride + _reach(geometry, axis) + 1
            before.append(max(reach - fine[axis], 0) // 2)
    return tuple(before)
