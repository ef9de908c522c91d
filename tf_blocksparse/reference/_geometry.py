# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Which pixels a convolution brings together.

A convolution has a fine side, with a pixel for each step of a tap, and a coarse
one, with a pixel for each stride:

    fine = coarse * stride + tap * dilation - padding
"""

from typing import Any, NamedTuple

import numpy as np


class Geometry(NamedTuple):
    """Sizes of both sides, and where each tap is on the fine one."""

    strides: list[int]
    fine: list[int]
    coarse: list[int]
    offsets: list[list[int]]  # tap * dilation - padding, of each tap


class Axis(NamedTuple):
    """One spatial axis; `padding` is a name or zeros before and after."""

    kernel: int
    stride: int
    dilation: int
    padding: Any

    @property
    def span(self) -> int:
        """Pixels from the first tap to the last, both included."""
        return (self.kernel - 1) * self.dilation + 1

    @property
    def zeros(self) -> tuple[int, int]:
        """Zeros before and after, where they don't depend on the sizes."""
        if self.padding == "valid":
            return 0, 0
        if self.padding == "causal":
            return self.span - 1, 0
        if self.padding == "same_symmetric":
            return self.span // 2, self.span // 2
        return tuple(np.broadcast_to(self.padding, 2).tolist())

    def coarse(self, fine: int) -> int:
        """Size of the coarse side."""
        if self.padding == "same":
            return -(-fine // self.stride)
        places = fine + sum(self.zeros) - self.span + 1
        return max(-(-places // self.stride), 0)

    def fine(self, coarse: int, extra: int | None) -> int:
        """Size of the fine side, as Keras has it; `extra` is output_padding."""
        steps = (coarse - 1) * self.stride
        if self.padding == "same":
            size = steps + self.span % 2
            rest = self.stride - self.span % 2
        else:
            size = steps + self.span - sum(self.zeros)
            rest = 0
            if self.padding == "valid":
                rest = max(self.stride - self.span, 0)
            elif self.padding == "same_symmetric":
                rest = self.stride - 1
        return max(size + (rest if extra is None else extra), 0)

    def before(self, fine: int, coarse: int) -> int:
        """Zeros before the first fine pixel."""
        if self.padding == "same":
            steps = (coarse - 1) * self.stride
            return max(steps + self.span - fine, 0) // 2
        return self.zeros[0]


def axes(
    rank: int, kernel_size: Any, strides: Any, padding: Any, dilation_rate: Any
) -> list[Axis]:
    """Each spatial axis, of what the user says of all."""
    arguments = kernel_size, strides, dilation_rate, padding
    each = zip(*(_each(value, rank) for value in arguments), strict=True)
    return [Axis(*of_axis) for of_axis in each]


def coarse_sizes(axes: list[Axis], fine: list[int]) -> list[int]:
    """Sizes of y of a convolution."""
    return [axis.coarse(size) for axis, size in zip(axes, fine, strict=True)]


def fine_sizes(
    axes: list[Axis], coarse: list[int], output_padding: Any, output_shape: Any
) -> list[int]:
    """Sizes of y of a transposed convolution."""
    if output_shape is not None:
        return _each(output_shape, len(axes))
    extras = _each(output_padding, len(axes))
    return [
        axis.fine(size, extra)
        for axis, size, extra in zip(axes, coarse, extras, strict=True)
    ]


def geometry(axes: list[Axis], fine: list[int], coarse: list[int]) -> Geometry:
    """The geometry of the sizes of both sides."""
    before = [
        axis.before(*sizes)
        for axis, *sizes in zip(axes, fine, coarse, strict=True)
    ]
    offsets = [
        [
            tap * axis.dilation - zeros
            for tap, axis, zeros in zip(taps, axes, before, strict=True)
        ]
        for taps in np.ndindex(*(axis.kernel for axis in axes))
    ]
    return Geometry([axis.stride for axis in axes], fine, coarse, offsets)


def _each(value: Any, rank: int) -> list[Any]:
    """One for each axis."""
    if isinstance(value, (tuple, list, np.ndarray)):
        return list(value)
    return [value] * rank
