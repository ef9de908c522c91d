# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What the block-sparse convolutions share, transposed ones included."""

from typing import Any

import keras

from tf_blocksparse import _arguments
from tf_blocksparse.layers import _checks, _conv_settings
from tf_blocksparse.layers._block_sparse_layer import BlockSparseLayer
from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.ops import _conv_arguments
from tf_blocksparse.ops._conv_arguments import Geometry


class BaseConv(BlockSparseLayer):
    """A convolution, transposed or not, of which only some blocks exist.

    A child says its `rank`, calls an op and computes sizes.
    """

    # Number of spatial dimensions.
    rank: int
    _outputs_argument = "filters"

    def __init__(
        self,
        *,
        filters: int,
        kernel_size: int | tuple[int, ...],
        strides: int | tuple[int, ...],
        padding: Any,
        data_format: str | None,
        dilation_rate: int | tuple[int, ...],
        groups: int = 1,
        block_size: int | tuple[int, int],
        sparsity: float,
        layout: BlockLayout | None,
        seed: int | None,
        lora_rank: None = None,
        lora_alpha: None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        _checks.check_none(lora_rank=lora_rank, lora_alpha=lora_alpha)
        self.filters = _arguments.integer(
            "filters", filters, 1, None, "give the number of output channels"
        )
        self.groups = _arguments.integer(
            "groups", groups, 1, self.filters, "1 is a layer without groups"
        )
        self.padding = _conv_settings.plain(padding)
        geometry = _conv_arguments.geometry(
            kernel_size,
            strides,
            self.padding,
            dilation_rate,
            _conv_settings.data_format(data_format),
            self.rank,
        )
        self._groups = self.groups
        self._taps = geometry.taps
        self.kernel_size = geometry.kernel_size
        self.strides = geometry.strides
        self.dilation_rate = geometry.dilations
        self.data_format = geometry.data_format
        self._choose_layout(layout, block_size, sparsity, seed)
        self.input_spec = keras.layers.InputSpec(ndim=self.rank + 2)

    @property
    def _geometry(self) -> Geometry:
        return _conv_arguments.geometry(
            self.kernel_size,
            self.strides,
            self.padding,
            self.dilation_rate,
            self.data_format,
            self.rank,
        )

    @property
    def _geometry_arguments(self) -> dict[str, Any]:
        """As the ops take them."""
        return {
            "strides": self.strides,
            "padding": self.padding,
            "dilation_rate": self.dilation_rate,
            "data_format": self.data_format,
        }

    def _output_sizes(self, sizes: list[int | None]) -> list[int | None]:
        """The spatial sizes of the outputs from those of the inputs."""
        raise NotImplementedError

    def build(self, input_shape: Any) -> None:
        """Makes the layout and the weights for inputs of this shape."""
        _checks.check_dtype(self)
        # Raises where nothing would come out.
        self.compute_output_shape(input_shape)
        axis = self._geometry.feature_axis
        inputs = input_shape[axis]
        if inputs is None:
            raise ValueError(
                f"input_shape: got {tuple(input_shape)}, expected a known "
                f"number of channels in {self.data_format}; give the channels "
                "to keras.Input"
            )
        self._add_weights(inputs)
        self.input_spec = keras.layers.InputSpec(
            ndim=self.rank + 2, axes={axis: inputs}
        )
        self.built = True

    def compute_output_shape(self, input_shape: Any) -> tuple[int | None, ...]:
        """The batch, the sizes of the outputs and `filters`.

        Raises:
            ValueError: if the rank is wrong or the inputs are too small.
        """
        shape = tuple(input_shape)
        if len(shape) != self.rank + 2:
            raise ValueError(
                f"input_shape: got {shape}, expected {self.rank + 2} "
                "dimensions, one of them the batch and one the channels; "
                "reshape the inputs"
            )
        first = self.data_format == "channels_first"
        sizes = list(shape[2:] if first else shape[1:-1])
        outputs = self._output_sizes(sizes)
        if 0 in outputs:
            raise ValueError(
                f"input_shape: got {shape}, expected inputs of which the "
                f"outputs are not empty, but their sizes are {outputs}; use a "
                "smaller kernel or dilation, more padding or larger inputs"
            )
        if first:
            return (shape[0], self.filters, *outputs)
        return (shape[0], *outputs, self.filters)

    def get_config(self) -> dict[str, Any]:
        """The arguments; a layout only if it was given."""
        return {
            **super().get_config(),
            "filters": self.filters,
            "kernel_size": self.kernel_size,
            **self._geometry_arguments,
        }
