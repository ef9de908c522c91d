# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""A gain and a bias where a convolution reaches beyond its image."""

from typing import Any

import keras

from tf_blocksparse import _arguments, ops
from tf_blocksparse.layers import _checks, _config, _conv_settings
from tf_blocksparse.ops import _conv_arguments
from tf_blocksparse.ops._conv_arguments import Geometry


@keras.saving.register_keras_serializable(package="tf_blocksparse")
class EdgeBias(keras.layers.Layer):
    """Corrects a convolution's outputs where some taps fell off the edge.

    Use it after a convolution that pads with zeros, in place of a
    normalization that would have to undo what the padding does to the
    distribution of the outputs at the edges. It implements

        output = gain[pattern] * input + bias[pattern]

    where a tap fell off the edge of the image; elsewhere the output is the
    input. Taps that fall off together are a pattern, and each pattern has a
    gain and a bias for each channel: a kernel of 3 x 3 with "same" padding has
    8 patterns, for 4 edges and 4 corners.

    The arguments up to `dilation_rate` are those of the convolution, be it
    dense or block-sparse. Sizes of images must be known, since they decide on
    the patterns.

    Weights: `gain` and `bias`, each `(patterns, channels)`, or `(channels,
    patterns)` in `channels_first`.

    Example:
    >>> import keras
    >>> from tf_blocksparse.layers import BlockSparseConv2D, EdgeBias
    >>> convolution = BlockSparseConv2D(
    ...     64, 3, padding="same", block_size=16, sparsity=0.5
    ... )
    >>> model = keras.Sequential(
    ...     [keras.Input((16, 16, 32)), convolution, EdgeBias(3)]
    ... )
    >>> model.output_shape
    (None, 16, 16, 64)
    >>> tuple(model.layers[-1].gain.shape)
    (8, 64)

    Args:
        kernel_size: Integer, or one for each spatial dimension.
        strides: Integer, or one for each spatial dimension.
        padding: What the convolution was given; see `BlockSparseConv2D`.
        data_format: `"channels_last"` or `"channels_first"`; None is
            `keras.config.image_data_format()`.
        dilation_rate: Integer, or one for each spatial dimension.
        transpose: Boolean, whether the convolution is a transposed one.
        input_spatial: The spatial sizes of the convolution's inputs, as a
            tuple. None takes them from its outputs, which tell them if it is
            transposed or has no strides.
        gain_initializer: Initializer for the gains.
        bias_initializer: Initializer for the biases.
        gain_regularizer: Regularizer function applied to the gains.
        bias_regularizer: Regularizer function applied to the biases.
        gain_constraint: Constraint function applied to the gains.
        bias_constraint: Constraint function applied to the biases.
        **kwargs: `name`, `dtype` (float32, float64, bfloat16, float16 or a
            mixed policy), `trainable`, `autocast`, `activity_regularizer`.

    Input shape:
        What the convolution gives: `(batch_size, *sizes, channels)`, or
        `(batch_size, channels, *sizes)` in `channels_first`.

    Output shape:
        The same.

    Raises:
        ValueError: an argument or inputs that do not fit; the text says what
            was got, what was expected and what to do.

    Source: `ConvEdgeBias` of https://github.com/openai/blocksparse.
    """

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        strides: int | tuple[int, ...] = 1,
        padding: Any = "same",
        data_format: str | None = None,
        dilation_rate: int | tuple[int, ...] = 1,
        transpose: bool = False,
        input_spatial: tuple[int, ...] | None = None,
        gain_initializer: Any = "ones",
        bias_initializer: Any = "zeros",
        gain_regularizer: Any = None,
        bias_regularizer: Any = None,
        gain_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.kernel_size = _conv_settings.plain(kernel_size)
        self.strides = _conv_settings.plain(strides)
        self.padding = _conv_settings.plain(padding)
        self.data_format = _conv_settings.data_format(data_format)
        self.dilation_rate = _conv_settings.plain(dilation_rate)
        self.transpose = _arguments.flag("transpose", transpose)
        self.input_spatial = _conv_settings.plain(input_spatial)
        self.gain_initializer = keras.initializers.get(gain_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.gain_regularizer = keras.regularizers.get(gain_regularizer)
        self.bias_regularizer = keras.regularizers.get(bias_regularizer)
        self.gain_constraint = keras.constraints.get(gain_constraint)
        self.bias_constraint = keras.constraints.get(bias_constraint)
        self._check_arguments()
        self.gain: Any = None
        self.bias: Any = None
        self.supports_masking = True

    def _check_arguments(self) -> None:
        """Raises where the rank of the inputs cannot make them right."""
        said = (
            self.kernel_size,
            self.strides,
            self.dilation_rate,
            self.input_spatial,
            self.padding,
        )
        ranks = [len(each) for each in said if isinstance(each, tuple)]
        geometry = self._geometry(ranks[0] if ranks else 1)
        strided = max(geometry.strides) > 1 and not self.transpose
        if strided and self.input_spatial is None:
            raise ValueError(
                f"input_spatial: got None with strides {self.strides}, "
                "expected the spatial sizes of the convolution's inputs, which "
                "its outputs do not tell; pass them as a tuple"
            )

    def _geometry(self, rank: int) -> Geometry:
        return _conv_arguments.geometry(
            self.kernel_size,
            self.strides,
            self.padding,
            self.dilation_rate,
            self.data_format,
            rank,
        )

    def build(self, input_shape: Any) -> None:
        """Makes the weights for outputs of a convolution of this shape."""
        _checks.check_dtype(self)
        shape = tuple(input_shape)
        geometry = self._geometry(len(shape) - 2)
        first = self.data_format == "channels_first"
        sizes = shape[2:] if first else shape[1:-1]
        channels = shape[geometry.feature_axis]
        if None in (*sizes, channels):
            raise ValueError(
                f"input_shape: got {shape}, expected all sizes but the batch's "
                "to be known; give them to keras.Input"
            )
        self._input_sizes = self._sizes_before(geometry, sizes)
        patterns = ops.edge_bias_patterns(
            self._input_sizes,
            geometry.kernel_size,
            output_spatial=sizes if self.transpose else None,
            strides=self.strides,
            padding=self.padding,
            dilation_rate=self.dilation_rate,
            transpose=self.transpose,
        )
        self.gain, self.bias = (
            self.add_weight(
                name=name,
                shape=(channels, patterns) if first else (patterns, channels),
                initializer=getattr(self, f"{name}_initializer"),
                regularizer=getattr(self, f"{name}_regularizer"),
                constraint=getattr(self, f"{name}_constraint"),
            )
            for name in ("gain", "bias")
        )
        self.input_spec = keras.layers.InputSpec(shape=(None, *shape[1:]))
        self.built = True

    def _sizes_before(self, geometry: Geometry, sizes: Any) -> tuple[int, ...]:
        """The sizes of the convolution's inputs."""
        known = list(sizes)
        before: Any = self.input_spatial
        if before is None and self.transpose:
            before = _conv_arguments.coarse_sizes(geometry, known)
        elif before is None:
            # Without strides the way there and the way back are one.
            extras = _conv_arguments.fine_extras(geometry, None)
            before = _conv_arguments.fine_sizes(geometry, known, extras)
        before = _conv_arguments.sizes("input_spatial", before, geometry.rank)
        if not self.transpose:
            after = _conv_arguments.coarse_sizes(geometry, list(before))
            if after != known:
                raise ValueError(
                    f"input_spatial: got {before}, of which the convolution "
                    f"makes {after}, expected sizes of which it makes {known}; "
                    "pass those of its inputs"
                )
        return before

    def call(self, inputs: Any) -> Any:
        """Gain and bias where a tap fell off, the inputs elsewhere."""
        dtype = keras.backend.result_type(inputs.dtype, self.gain.dtype)
        return ops.edge_bias(
            keras.ops.convert_to_tensor(inputs, dtype),
            keras.ops.cast(self.gain, dtype),
            keras.ops.cast(self.bias, dtype),
            self.kernel_size,
            input_spatial=self._input_sizes,
            strides=self.strides,
            padding=self.padding,
            dilation_rate=self.dilation_rate,
            data_format=self.data_format,
            transpose=self.transpose,
        )

    def compute_output_shape(self, input_shape: Any) -> tuple[int | None, ...]:
        """The input's shape."""
        return tuple(input_shape)

    def get_config(self) -> dict[str, Any]:
        """The arguments."""
        return {
            **super().get_config(),
            "kernel_size": self.kernel_size,
            "strides": self.strides,
            "padding": self.padding,
            "data_format": self.data_format,
            "dilation_rate": self.dilation_rate,
            "transpose": self.transpose,
            "input_spatial": self.input_spatial,
            **_config.of_objects(self),
        }
