# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What `conv` and `conv_transpose` share: checks, and the call of the op."""

from typing import Any, NamedTuple

import tensorflow as tf

from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.ops import (
    _activations,
    _conv_arguments,
    _inputs,
)
from tf_blocksparse.ops._conv_arguments import Geometry
from tf_blocksparse.ops._library import library
from tf_blocksparse.ops.layout_tensor import LayoutTensor, Resolved, resolve


class Operands(NamedTuple):
    """x and blocks as tensors whose shapes fit, with what they are to be."""

    x: tf.Tensor
    blocks: tf.Tensor
    layout: Resolved
    geometry: Geometry


# kernel_size, strides, padding, dilation_rate, data_format: what a user said.
Said = tuple[Any, Any, Any, Any, Any]


def operands(
    x: Any, blocks: Any, layout: BlockLayout | LayoutTensor, said: Said
) -> Operands:
    """Checks what a convolution reads."""
    parts = resolve(layout)
    blocks = _inputs.blocks_value(blocks, hint=x)
    x = _inputs.dense_value("x", x, blocks.dtype)
    geometry = geometry_of(x, said)
    check_taps(parts, geometry)
    sizes = [parts.nnz, *parts.block_size]
    if parts.taps is None:
        sizes.insert(1, geometry.taps)
        blocks = _inputs.check_blocks(blocks, sizes, "taps, ")
    else:
        blocks = _inputs.check_blocks(blocks, sizes, "")
    check_side("x", x, parts.inputs, geometry)
    _inputs.check_dtypes(
        x.dtype, blocks.dtype, parts, data_format=geometry.data_format
    )
    return Operands(x, blocks, parts, geometry)


def convolve(
    inputs: Operands,
    out_spatial: tf.Tensor,
    adjoint: bool,
    bias: Any,
    activation: Any,
    gate: Any,
) -> tf.Tensor:
    """`activation(x * W + bias)`."""
    x, blocks, layout, geometry = inputs
    fused, after = _activations.resolve(activation)
    gates, gate_gradient = _inputs.gate_list(gate, layout.nnz)
    biases = _inputs.bias_list(bias, x.dtype, layout.outputs)
    shared = attributes(layout, geometry, gate_gradient)
    if biases or fused != "none":
        y, _ = library.blocksparse_conv_fused(
            x,
            blocks,
            layout.packed,
            gates,
            biases,
            out_spatial,
            activation=fused,
            save_preactivation=fused in _activations.NEED_PREACTIVATION,
            adjoint=adjoint,
            **shared,
        )
    else:
        y = library.blocksparse_conv(
            x,
            blocks,
            layout.packed,
            gates,
            out_spatial,
            adjoint=adjoint,
            **shared,
        )
    return y if after is None else after(y)


def attributes(
    layout: Resolved, geometry: Geometry, gate_gradient: bool
) -> dict[str, Any]:
    """The attributes that all ops of convolutions have."""
    return {
        "kernel_size": geometry.kernel_size,
        "strides": geometry.strides,
        "dilations": geometry.dilations,
        "padding": geometry.padding,
        "explicit_paddings": geometry.explicit_paddings,
        "data_format": geometry.data_format,
        "shared_taps": layout.taps is None,
        "inputs": layout.inputs,
        "outputs": layout.outputs,
        "gate_gradient": gate_gradient,
    }


def geometry_of(x: tf.Tensor, said: Said) -> Geometry:
    """The geometry, of x's rank."""
    rank = x.shape.rank
    if rank is not None:
        rank = max(rank - 2, 0)
    return _conv_arguments.geometry(*said, rank)


def check_taps(layout: Resolved, geometry: Geometry) -> None:
    """Checks that a layout per tap has one for each tap of the kernel."""
    if layout.taps not in (None, geometry.taps):
        raise ValueError(
            f"layout: got one for each of {layout.taps} taps, expected "
            f"{geometry.taps} for kernel_size {geometry.kernel_size}; pass the "
            "kernel_size that it was made for"
        )


def check_side(
    name: str, value: tf.Tensor, features: int, geometry: Geometry
) -> None:
    """Checks rank and features of a side of a convolution."""
    check_rank(name, value, geometry)
    axis = geometry.feature_axis
    _inputs.check_features(name, value.shape, features, axis, "data_format")


def check_rank(name: str, value: tf.Tensor, geometry: Geometry) -> None:
    """Checks the number of axes of a side of a convolution."""
    if value.shape.rank not in (None, geometry.rank + 2):
        raise ValueError(
            f"{name}: got shape {value.shape}, expected {geometry.rank + 2} "
            f"axes: batch, features and {geometry.rank} of pixels; reshape it, "
            "or pass another kernel_size"
        )


def spatial(value: tf.Tensor, geometry: Geometry) -> list[int | None]:
    """The sizes of a side of a convolution, None where unknown."""
    if value.shape.rank is None:
        return [None] * geometry.rank
    sizes = value.shape.as_list()
    return sizes[2:] if geometry.feature_axis == 1 else sizes[1:-1]
