# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Convolutions with block-sparse kernels."""

from typing import Any

import keras

from tf_blocksparse import ops
from tf_blocksparse.layers._base_conv import BaseConv
from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.ops import _conv_arguments

_register = keras.saving.register_keras_serializable(package="tf_blocksparse")


class _Conv(BaseConv):
    """What the three have in common: everything but the rank."""

    def __init__(
        self,
        filters: int,
        kernel_size: int | tuple[int, ...],
        strides: int | tuple[int, ...] = 1,
        padding: Any = "valid",
        data_format: str | None = None,
        dilation_rate: int | tuple[int, ...] = 1,
        groups: int = 1,
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
            groups=groups,
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

    def call(self, inputs: Any) -> Any:
        """The convolution with the blocks, the bias and the activation."""
        return self._product(
            ops.conv, inputs, self.kernel_size, **self._geometry_arguments
        )

    def _output_sizes(self, sizes: list[int | None]) -> list[int | None]:
        return _conv_arguments.coarse_sizes(self._geometry, sizes)

    def get_config(self) -> dict[str, Any]:
        """The arguments; a layout only if it was given."""
        return {**super().get_config(), "groups": self.groups}


@_register
class BlockSparseConv1D(_Conv):
    """1D convolution of which only some blocks of the kernel exist.

    Use it where `keras.layers.Conv1D` takes the time, over sequences and
    signals. It implements

        output[t] = activation(sum over i of
                               dot(input[t * stride + i * dilation], W[i])
                               + bias)

    where the kernel `W`, of shape `(size, channels, filters)`, is zero outside
    the blocks that its `BlockLayout` names. Weights, layouts, initializers and
    all arguments are as for `BlockSparseConv2D`, with one spatial dimension;
    `padding="causal"`, too, is as in Keras: no output sees later inputs.

    Example:
    >>> import keras
    >>> from tf_blocksparse.layers import BlockSparseConv1D
    >>> layer = BlockSparseConv1D(
    ...     64, 5, padding="causal", block_size=16, sparsity=0.5
    ... )
    >>> tuple(layer(keras.ops.ones((2, 100, 32))).shape)
    (2, 100, 64)

    Args:
        *args, **kwargs: see `BlockSparseConv2D`.

    Input shape:
        `(batch_size, steps, channels)`, or `(batch_size, channels, steps)`
        in `channels_first`.

    Output shape:
        `(batch_size, new_steps, filters)`, or `(batch_size, filters,
        new_steps)` in `channels_first`.

    Raises:
        ValueError: see `BlockSparseConv2D`.
    """

    rank = 1


@_register
class BlockSparseConv2D(_Conv):
    """2D convolution of which only some blocks of the kernel exist.

    Use it where `keras.layers.Conv2D` takes the time: training, inference and
    the saved file become smaller and faster with the share of blocks left out.
    It implements

        output[y, x] = activation(sum over i, j of
                                  dot(input[y * stride + i * dilation,
                                            x * stride + j * dilation], W[i, j])
                                  + bias)

    where the kernel `W`, of shape `(height, width, channels, filters)`, is zero
    outside the blocks that its `BlockLayout` names. Only the blocks are stored
    and learnt. `relu`, exact `gelu`, `silu` and `tanh` run inside the
    operation, any other activation after it.

    Positional arguments mean the same as in `Conv2D`; unlike there, strides
    and dilations may both be larger than 1, and images may be
    `channels_first` on a CPU.

    A random layout is drawn for channels and filters: each of its blocks holds
    the weights of all taps (pixels of the kernel). A `BlockLayout` with taps
    leaves out other blocks for each tap; see `layout` below.

    Weights: `blocks` `(nnz, taps, b_in, b_out)`, taps row by row, or
    `(nnz, b_in, b_out)` if the layout has taps; `bias` `(filters,)`; and, not
    trainable, `packed_layout`, an int32 vector named `layout`, which travels in
    every weights file: loading weights alone restores the layout.

    Initializers: children of `keras.initializers.VarianceScaling` (Glorot, He,
    Lecun) use the fans that remain on average, `taps * channels * density` and
    `taps * filters * density`; those of `tf_blocksparse.initializers` know
    where the blocks are; any other gets the shape of the blocks.
    Regularizers and constraints see the blocks. The layer has
    `supports_jit = True`, as `BlockSparseDense` has.

    Example:
    >>> import keras
    >>> from tf_blocksparse.layers import BlockSparseConv2D
    >>> layer = BlockSparseConv2D(
    ...     64, 3, padding="same", activation="relu", block_size=16,
    ...     sparsity=0.5,
    ... )
    >>> tuple(layer(keras.ops.ones((2, 8, 8, 32))).shape)
    (2, 8, 8, 64)
    >>> tuple(layer.blocks.shape)
    (4, 9, 16, 16)
    >>> from tf_blocksparse import BlockLayout
    >>> layout = BlockLayout.random((3, 3, 32, 64), 16, sparsity=0.5, seed=0)
    >>> layer = BlockSparseConv2D(64, 3, layout=layout)
    >>> tuple(layer(keras.ops.ones((2, 8, 8, 32))).shape)
    (2, 6, 6, 64)
    >>> tuple(layer.blocks.shape)
    (36, 16, 16)

    Args:
        filters: Positive integer, number of output channels.
        kernel_size: Integer, or one for each spatial dimension.
        strides: Integer, or one for each spatial dimension.
        padding: `"valid"` or `"same"` as in Keras, in any case;
            `"same_symmetric"`, half the dilated kernel on both sides; or
            numbers of zeros: an integer, or for each spatial dimension an
            integer or a pair `(before, after)`.
        data_format: `"channels_last"` or `"channels_first"`; None is
            `keras.config.image_data_format()`.
        dilation_rate: Integer, or one for each spatial dimension.
        groups: Positive integer: channels and filters are cut into so many
            runs, and blocks lie only where both are of one. A group must be of
            whole blocks. `sparsity` counts the blocks of the groups.
        activation: Activation function to use (name, function or None).
        use_bias: Boolean, whether the layer uses a bias vector.
        kernel_initializer: Initializer for the blocks, see above.
        bias_initializer: Initializer for the bias vector.
        kernel_regularizer: Regularizer function applied to the blocks.
        bias_regularizer: Regularizer function applied to the bias vector.
        activity_regularizer: Regularizer function applied to the output.
        kernel_constraint: Constraint function applied to the blocks; one with
            an `axis` (`MaxNorm`, `UnitNorm`, `MinMaxNorm`) is refused.
        bias_constraint: Constraint function applied to the bias vector.
        block_size: Integer or pair `(b_in, b_out)`, from 1 to 256. Channels
            and filters need not be a multiple of it.
        sparsity: Float from 0 to 1, the share of blocks to leave out of a
            random layout. At least one block stays unless it is 1; a warning
            tells of too few for all channels and filters.
        layout: `BlockLayout` of shape `(channels, filters)` to use instead of a
            random one; all taps share it, or it has as many taps as the
            kernel. `block_size`, `sparsity` and `seed` then play no part. In
            configs and files it is treated as in `BlockSparseDense`.
        seed: Integer that fixes the random layout, as in `BlockSparseDense`.
        gate: None, `"mask"` or a layer, as in `BlockSparseDense`.
        **kwargs: `name`, `dtype` (float32, float64, bfloat16, float16 or a
            mixed policy), `trainable`, `autocast`.

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
class BlockSparseConv3D(_Conv):
    """3D convolution of which only some blocks of the kernel exist.

    Use it where `keras.layers.Conv3D` takes the time, over volumes and video.
    It implements

        output[z, y, x] = activation(sum over h, i, j of
                                     dot(input[z * stride + h * dilation,
                                               y * stride + i * dilation,
                                               x * stride + j * dilation],
                                         W[h, i, j])
                                     + bias)

    where the kernel `W`, of shape `(depth, height, width, channels, filters)`,
    is zero outside the blocks that its `BlockLayout` names. Weights, layouts,
    initializers and all arguments are as for `BlockSparseConv2D`, with three
    spatial dimensions.

    Example:
    >>> import keras
    >>> from tf_blocksparse.layers import BlockSparseConv3D
    >>> layer = BlockSparseConv3D(32, (1, 3, 3), block_size=16, sparsity=0.5)
    >>> tuple(layer(keras.ops.ones((2, 4, 8, 8, 32))).shape)
    (2, 4, 6, 6, 32)

    Args:
        *args, **kwargs: see `BlockSparseConv2D`.

    Input shape:
        `(batch_size, depth, height, width, channels)`, or `(batch_size,
        channels, depth, height, width)` in `channels_first`.

    Output shape:
        `(batch_size, new_depth, new_height, new_width, filters)`, or
        `(batch_size, filters, new_depth, new_height, new_width)` in
        `channels_first`.

    Raises:
        ValueError: see `BlockSparseConv2D`.
    """

    rank = 3
