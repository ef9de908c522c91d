# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The gradients of convolutions, each made of other ones.

A convolution has two flags: `adjoint` if its geometry runs backwards, x being
the coarse side, and `transpose` if its blocks are transposed. dx is made with
both flags turned round, the gradient of the blocks by the sampled convolution
of the two sides. What `_products` says of gates, biases and activations holds.
"""

import functools
from typing import Any

import tensorflow as tf

from tf_blocksparse.ops import _products
from tf_blocksparse.ops._library import library

# Attributes that an op's gradients share with it.
_SHARED = (
    "kernel_size",
    "strides",
    "dilations",
    "padding",
    "explicit_paddings",
    "data_format",
    "shared_taps",
    "inputs",
    "outputs",
    "gate_gradient",
)
_ADVICE = "use the functions of ops"


def conv_gradients(op: Any, dy: tf.Tensor) -> _products.Gradients:
    """Gradients for x, blocks, layout and gate of a convolution, given dy."""
    x, blocks, layout = op.inputs[:3]
    adjoint, transpose = op.get_attr("adjoint"), op.get_attr("transpose")
    fine, coarse = (dy, x) if adjoint else (x, dy)
    shared = _shared(op)

    def multiply(gate: list[tf.Tensor]) -> tf.Tensor:
        return library.blocksparse_conv(
            dy,
            blocks,
            layout,
            gate,
            _sizes_of(x, shared),
            adjoint=not adjoint,
            transpose=not transpose,
            **shared,
        )

    def sample(gate: list[tf.Tensor], dtype: tf.DType) -> tf.Tensor:
        rank = 4 if shared["shared_taps"] else 3
        return library.blocksparse_conv_sampled(
            fine,
            coarse,
            layout,
            gate,
            Tb=dtype,
            block_size=_products.block_size(blocks, rank, _ADVICE),
            adjoint=adjoint != transpose,
            **shared,
        )

    return _products.product_gradients(op, multiply, sample)


def fused_gradients(
    op: Any, dy: tf.Tensor, dz: tf.Tensor
) -> _products.Gradients:
    """Gradients for x, blocks, layout, gate and bias of a fused convolution."""
    dz = _products.preactivation_gradient(op, dy, dz, _ADVICE)
    gradients = conv_gradients(op, dz)
    if not op.get_attr("bias_count"):
        return gradients
    # out_spatial comes after the bias.
    if not _products.is_needed(op, len(op.inputs) - 2):
        return [*gradients, None]
    axes = list(range(len(op.get_attr("kernel_size")) + 2))
    del axes[1 if _is_channels_first(_shared(op)) else -1]
    return [*gradients, _products.bias_gradient(dz, axes)]


def sampled_gradients(op: Any, dblocks: tf.Tensor) -> _products.Gradients:
    """Gradients for fine, coarse, layout and gate of a sampled convolution."""
    fine, coarse, layout = op.inputs[:3]
    adjoint = op.get_attr("adjoint")
    shared = _shared(op)

    def multiply(index: int, gate: list[tf.Tensor]) -> tf.Tensor:
        # The gradient of the fine side is made of the coarse one.
        to_fine = index == 0
        other, like = (coarse, fine) if to_fine else (fine, coarse)
        return library.blocksparse_conv(
            other,
            dblocks,
            layout,
            gate,
            _sizes_of(like, shared),
            adjoint=to_fine,
            transpose=to_fine != adjoint,
            **shared,
        )

    def sample(dtype: tf.DType) -> tf.Tensor:
        return library.blocksparse_conv_sampled(
            fine,
            coarse,
            layout,
            [],
            Tb=dtype,
            block_size=op.get_attr("block_size"),
            adjoint=adjoint,
            **shared,
        )

    return _products.sampled_gradients(op, dblocks, multiply, sample)


def sizes_tensor(sizes: tuple[int, ...]) -> tf.Tensor:
    """Sizes that are known, as the ops take them."""
    if not tf.executing_eagerly():
        return tf.constant(sizes, tf.int32)
    return _eager_sizes(sizes)


@functools.lru_cache(maxsize=256)
def _eager_sizes(sizes: tuple[int, ...]) -> tf.Tensor:
    with tf.device("CPU:0"):  # where the ops read it, on every device
        return tf.constant(sizes, tf.int32)


def _sizes_of(like: tf.Tensor, shared: dict[str, Any]) -> tf.Tensor:
    """The spatial sizes of a tensor."""
    spatial = slice(2, None) if _is_channels_first(shared) else slice(1, -1)
    if like.shape.rank is not None:
        sizes = like.shape.as_list()[spatial]
        if None not in sizes:
            return sizes_tensor(tuple(sizes))
    return tf.shape(like)[spatial]


def _is_channels_first(shared: dict[str, Any]) -> bool:
    return _products.text(shared["data_format"]) == "channels_first"


def _shared(op: Any) -> dict[str, Any]:
    return {name: op.get_attr(name) for name in _SHARED}
