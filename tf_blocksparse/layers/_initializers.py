# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The first values of blocks: scaled for what remains, zero in the padding."""

import math
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from tf_blocksparse import _packed
from tf_blocksparse.layout import BlockLayout

VarianceScaling = keras.initializers.VarianceScaling


def block_initializer(
    initializer: Callable[..., Any],
    layout: BlockLayout,
    kernel_size: tuple[int, ...] | None = None,
    kernel_is_transposed: bool = False,
) -> Callable[..., Any]:
    """An initializer of the blocks of `layout` made from one for a weight.

    `VarianceScaling` and its children (Glorot, He, Lecun) measure a weight by
    its fans. A unit of a sparse layer has `density` times as many on average:

        fan_in = taps * inputs * density,  fan_out = taps * outputs * density

    and these take the weight's place. One that has `initialize_blocks`, as
    those of `tf_blocksparse.initializers` do, gets the layout, the kernel's
    size and the dtype. Any other is called with the blocks' shape,
    `[nnz, b_in, b_out]` or `[nnz, taps, b_in, b_out]`. Entries of the blocks
    outside the weight (where features are no multiple of the block) become
    zero either way.

    Args:
        initializer: a Keras initializer, or a callable of shape and dtype.
        layout: the layout of the blocks.
        kernel_size: of a kernel, its spatial axes; None for a matrix.
        kernel_is_transposed: whether Keras takes outputs for inputs, as in
            its transposed convolutions.

    Returns:
        A function of shape and dtype.
    """
    taps = math.prod(kernel_size or ())

    def initialize(shape: Any, dtype: Any = None) -> Any:
        if hasattr(initializer, "initialize_blocks"):
            values = initializer.initialize_blocks(layout, kernel_size, dtype)
        elif _scales_by_fans(initializer):
            fans = [taps * size * layout.density for size in layout.shape]
            if kernel_is_transposed:
                fans.reverse()
            values = _scaled(initializer, fans, shape, dtype)
        else:
            values = initializer(shape, dtype=dtype)
        return _zero_padding(values, layout)

    return initialize


def _scales_by_fans(initializer: Any) -> bool:
    # A child with a rule of its own is no longer described by scale and mode.
    return (
        isinstance(initializer, VarianceScaling)
        and type(initializer).__call__ is VarianceScaling.__call__
    )


def _scaled(initializer: Any, fans: list[float], shape: Any, dtype: Any) -> Any:
    fan_in, fan_out = fans
    fan = {
        "fan_in": fan_in,
        "fan_out": fan_out,
        "fan_avg": (fan_in + fan_out) / 2,
    }[initializer.mode]
    # A matrix of one input has a fan_in of one, so that the scale is ours.
    values = VarianceScaling(
        scale=initializer.scale / max(1.0, fan),
        mode="fan_in",
        distribution=initializer.distribution,
        seed=initializer.seed,
    )((1, int(np.prod(shape))), dtype=dtype)
    return keras.ops.reshape(values, shape)


def _zero_padding(values: Any, layout: BlockLayout) -> Any:
    row, k = _packed.places(layout.packed, layout.packed_grid)
    places = row // (layout.taps or 1), k
    for axis, size, block, place in zip(
        (-2, -1), layout.shape, layout.block_size, places, strict=True
    ):
        if size % block:
            inside = place[:, None] * block + np.arange(block) < size
            shape = [layout.nnz] + [1] * (len(values.shape) - 1)
            shape[axis] = block
            values = keras.ops.where(np.reshape(inside, shape), values, 0)
    return values
