# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Transposed convolutions with block-sparse kernels."""

from typing import Any

import keras
import numpy as np

from tf_blocksparse import ops
from tf_blocksparse.layers._base_conv import BaseConv
from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.ops import _conv_arguments

_register = keras.saving.register_keras_serializable(package="tf_blocksparse")


class _ConvTranspose(BaseConv):
    """What the three have in common: everything but the rank."""

    _kernel_is_transposed = True

    def __init__(
        self,
        filters: int,
        kernel_size: int | tuple[int, ...],
        strides: int | tuple[int, ...] = 1,
        padding: Any = "valid",
        output_padding: int | tuple[int, ...] | None = None,
        data_format: str | None = None,
        dilation_rate: int | tuple[int, ...] = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        *,
        block_size: int | tuple[int, int] = 32,
        sparsity: float = 0.9,
        layout: BlockLayout | None = None,
        seed: int | None = None,
        gate: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters=filters,
            kernel_size=kernel_size,
            strides=strides,
            padding=padding,
            data_format=data_format,
            dilation_rate=dilation_rate,
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
            block_size=block_size,
            sparsity=sparsity,
            layout=layout,
            seed=seed,
            gate=gate,
            **kwargs,
        )
        if self.padding == "causal":
            raise ValueError(
                "padding: got 'causal', expected 'valid', 'same', "
                "'same_symmetric' or numbers of zeros; transposed convolutions "
                "have no other"
            )
        self._extras = _conv_arguments.fine_extras(
            self._geometry, output_padding
        )
        self.output_padding: tuple[int, ...] | None = None
        if output_padding is not None:
            each = np.broadcast_to(output_padding, self.rank)
            self.output_padding = tuple(each.tolist())

    def call(self, inputs: Any) -> Any:
        """The convolution with the blocks, the bias and the activation."""
        return self._product(
            ops.conv_transpose,
            inputs,
            self.kernel_size,
            output_padding=self.output_padding,
            **self._geometry_arguments,
        )

    def _output_sizes(self, sizes: list[int | None]) -> list[int | None]:
        return _conv_arguments.fine_sizes(self._geometry, sizes, self._extras)

    def get_config(self) -> dict[str, Any]:
        """The arguments; a layout only if it was given."""
        return {**super().get_config(), "output_padding": self.output_padding}


@_register
class BlockSparseConv1DTranspose(_ConvTranspose):
    """1D transposed convolution of which only some blocks exist.

    Use it where `keras.layers.Conv1DTranspose` takes the time. It implements

        output[t * stride + i * dilation - before] += dot(input[t], W[i])

    for each step t and tap i, then `activation(output + bias)`; `before` are
    the steps that padding cuts off. Weights, layouts and all arguments are as
    for `BlockSparseConv2DTranspose`, with one spatial dimension.

    Example:
    >>> import keras
    >>> from tf_blocksparse.layers import BlockSparseConv1DTranspose
    >>> layer = BlockSparseConv1DTranspose(
    ...     32, 4, strides=2, padding="same", block_size=16, sparsity=0.5
    ... )
    >>> tuple(layer(keras.ops.ones((2, 50, 64))).shape)
    (2, 100, 32)

    Args:
        *args, **kwargs: see `BlockSparseConv2DTranspose`.

    Input shape:
        `(batch_size, steps, channels)`, or `(batch_size, channels, steps)`
        in `channels_first`.

    Output shape:
        `(batch_size, new_steps, filters)`, or `(batch_size, filters,
        new_steps)` in `channels_first`.

    Raises:
        ValueError: see `BlockSparseConv2DTranspose`.
    """

    rank = 1


@_register
class BlockSparseConv2DTranspose(_ConvTranspose):
    """2D transposed convolution of which only some blocks exist.

    Use it where `keras.layers.Conv2DTranspose` takes the time: decoders,
    generators, segmentation. It implements

        output[y * stride + i * dilation - before,
               x * stride + j * dilation - before] += dot(input[y, x], W[i, j])

    for each pixel y, x and tap i, j, then `activation(output + bias)`; `before`
    are the pixels that padding cuts off. `W[i, j]`, of shape `(channels,
    filters)`, is zero outside the blocks that the `BlockLayout` names. (Keras's
    kernel is `W` with the last two axes swapped.)

    Positional arguments mean the same as in `Conv2DTranspose`; unlike there,
    strides and dilations may both be larger than 1, and images may be
    `channels_first` on a CPU. Weights and layouts are those of
    `BlockSparseConv2D`, layouts over `(channels, filters)`. Initializers, too;
    as in Keras, `fan_in` is `taps * filters * density` here, and `fan_out`
    `taps * channels * density`.

    Example:
    >>> import keras
    >>> from tf_blocksparse.layers import BlockSparseConv2DTranspose
    >>> layer = BlockSparseConv2DTranspose(
    ...     32, 4, strides=2, padding="same", block_size=16, sparsity=0.5
    ... )
    >>> tuple(layer(keras.ops.ones((2, 8, 8, 64))).shape)
    (2, 16, 16, 32)

    Args:
        filters: Positive integer, number of output channels.
        kernel_size: Integer, or one for each spatial dimension.
        strides: Integer, or one for each spatial dimension.
        padding: `"valid"` or `"same"` as in Keras, in any case; or what is
            to be cut off: `"same_symmetric"`, half the dilated kernel on both
            sides, an integer, or for each spatial dimension an integer or a
            pair `(before, after)`.
        output_padding: Integer, or one for each spatial dimension: which of
            the sizes that a convolution with these strides maps to the
            input's, as in Keras. None is Keras's default with `"valid"` and
            `"same"`, the largest with `"same_symmetric"`, and else 0.
        data_format: `"channels_last"` or `"channels_first"`; None is
            `keras.config.image_data_format()`.
        dilation_rate: Integer, or one for each spatial dimension.
        activation, use_bias, kernel_initializer, bias_initializer,
            kernel_regularizer, bias_regularizer, activity_regularizer,
            kernel_constraint, bias_constraint, block_size, sparsity, layout,
            seed, **kwargs: see `BlockSparseConv2D`.

    Input shape:
        `(batch_size, height, width, channels)`, or `(batch_size, channels,
        height, width)` in `channels_first`.

    Output shape:
        `(batch_size, new_height, new_width, filters)`, or `(batch_size,
        filters, new_height, new_width)` in `channels_first`.

    Raises:
        ValueError: an argument, inputs or a weights file that do not fit; the
            text says what was got, what was expected and what to do.
    """

    rank = 2


@_register
class BlockSparseConv3DTranspose(_ConvTranspose):
    """3D transposed convolution of which only some blocks exist.

    Use it where `keras.layers.Conv3DTranspose` takes the time. It implements

        output[p * stride + i * dilation - before] += dot(input[p], W[i])

    for each voxel p and tap i, each of three numbers, then
    `activation(output + bias)`; `before` are the voxels that padding cuts off.
    Weights, layouts and all arguments are as for `BlockSparseConv2DTranspose`,
    with three spatial dimensions; but `data_format` comes before
    `output_padding`, as in Keras.

    Example:
    >>> import keras
    >>> from tf_blocksparse.layers import BlockSparseConv3DTranspose
    >>> layer = BlockSparseConv3DTranspose(
    ...     16, 2, strides=2, block_size=8, sparsity=0.5
    ... )
    >>> tuple(layer(keras.ops.ones((2, 4, 4, 4, 32))).shape)
    (2, 8, 8, 8, 16)

    Args:
        *args, **kwargs: see `BlockSparseConv2DTranspose`.

    Input shape:
        `(batch_size, depth, height, width, channels)`, or `(batch_size,
        channels, depth, height, width)` in `channels_first`.

    Output shape:
        `(batch_size, new_depth, new_height, new_width, filters)`, or
        `(batch_size, filters, new_depth, new_height, new_width)` in
        `channels_first`.

    Raises:
        ValueError: see `BlockSparseConv2DTranspose`.
    """

    rank = 3

    # As in Keras, data_format is the fifth argument in three dimensions only.
    def __init__(
        self,
        filters: int,
        kernel_size: int | tuple[int, ...],
        strides: int | tuple[int, ...] = 1,
        padding: Any = "valid",
        data_format: str | None = None,
        output_padding: int | tuple[int, ...] | None = None,
        dilation_rate: int | tuple[int, ...] = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        *,
        block_size: int | tuple[int, int] = 32,
        sparsity: float = 0.9,
        layout: BlockLayout | None = None,
        seed: int | None = None,
        gate: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            output_padding,
            data_format,
            dilation_rate,
            activation,
            use_bias,
            kernel_initializer,
            bias_initializer,
            kernel_regularizer,
            bias_regularizer,
            activity_regularizer,
            kernel_constraint,
            bias_constraint,
            block_size=block_size,
            sparsity=sparsity,
            layout=layout,
            seed=seed,
            gate=gate,
            **kwargs,
        )
