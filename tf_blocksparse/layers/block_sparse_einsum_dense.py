# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""EinsumDense with a block-sparse kernel."""

import math
from typing import Any

import keras
import numpy as np

from tf_blocksparse import _arguments, ops
from tf_blocksparse.layers import _checks, _einsum
from tf_blocksparse.layers._block_sparse_layer import (
    BlockSparseLayer,
    fused_name,
)
from tf_blocksparse.layout import BlockLayout


@keras.saving.register_keras_serializable(package="tf_blocksparse")
class BlockSparseEinsumDense(BlockSparseLayer):
    """EinsumDense of which only some blocks of the kernel exist.

    Use it where `keras.layers.EinsumDense` takes the time, in projections of
    attention for instance. It implements

        output = activation(einsum(equation, input, W) + bias)

    where the kernel `W` is a matrix of `(inputs, outputs)` that is zero outside
    the blocks of its `BlockLayout`: its axes that the input has, too, are
    `inputs`, those of the output `outputs`, each in the order of the kernel,
    with the last running fastest. In `"abc,cde->abde"` the matrix is
    `(c, d * e)`. An axis of all three would make several matrices of the
    kernel, and is refused. An axis that only the input has is summed.

    Weights, layouts, initializers, regularizers, constraints, `supports_jit`
    are as for `BlockSparseDense`; the `bias` has the shape that Keras gives it.

    Example:
    >>> import keras
    >>> from tf_blocksparse.layers import BlockSparseEinsumDense
    >>> layer = BlockSparseEinsumDense(
    ...     "abc,cde->abde", (None, 4, 16), bias_axes="de", block_size=16,
    ...     sparsity=0.5,
    ... )
    >>> tuple(layer(keras.ops.ones((2, 10, 64))).shape)
    (2, 10, 4, 16)
    >>> layer.layout.shape
    (64, 64)
    >>> tuple(layer.blocks.shape)
    (8, 16, 16)

    Args:
        equation: The equation, as in Keras: input, kernel, output; "..." at
            the left or the right of input and output.
        output_shape: Integer or tuple: the sizes of the output without the
            first axis and without those of "..."; None where they are the
            input's.
        activation: Activation function to use (name, function or None).
        bias_axes: The output's axes that the bias has; None is no bias.
        kernel_initializer: Initializer for the blocks.
        bias_initializer: Initializer for the bias.
        kernel_regularizer: Regularizer function applied to the blocks.
        bias_regularizer: Regularizer function applied to the bias.
        kernel_constraint: Constraint function applied to the blocks, without
            an axis.
        bias_constraint: Constraint function applied to the bias.
        lora_rank, lora_alpha, gptq_unpacked_column_size, quantization_config:
            in `EinsumDense`'s places; only None is supported.
        block_size, sparsity, layout, seed, gate: as for `BlockSparseDense`,
            of the matrix `(inputs, outputs)`.
        **kwargs: `activity_regularizer`, `name`, `dtype`, `trainable`,
            `autocast`.

    Input shape:
        As the equation says; the contracted axes must be known.

    Output shape:
        As the equation says.

    Raises:
        ValueError: an equation, an argument or a weights file that does not
            fit; the text says what was got, what was expected, what to do.
    """

    _outputs_argument = "output_shape"

    def __init__(
        self,
        equation: str,
        output_shape: int | tuple[int | None, ...],
        activation: Any = None,
        bias_axes: str | None = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        lora_rank: None = None,
        lora_alpha: None = None,
        gptq_unpacked_column_size: None = None,
        quantization_config: None = None,
        *,
        block_size: int | tuple[int, int] = 32,
        sparsity: float = 0.9,
        layout: BlockLayout | None = None,
        seed: int | None = None,
        gate: Any = None,
        activity_regularizer: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            activation=activation,
            use_bias=bias_axes is not None,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
            gate=gate,
            **kwargs,
        )
        _checks.check_none(
            lora_rank=lora_rank,
            lora_alpha=lora_alpha,
            gptq_unpacked_column_size=gptq_unpacked_column_size,
            quantization_config=quantization_config,
        )
        self.equation = equation
        self.bias_axes = bias_axes
        self._parsed = _einsum.parse(equation)
        self.partial_output_shape = self._parsed.partial_shape(output_shape)
        self._output_sizes = self._parsed.output_sizes(
            self.partial_output_shape
        )
        self._check_bias_axes()
        self._choose_layout(layout, block_size, sparsity, seed)

    @property
    def _outputs(self) -> int:
        return math.prod(self._output_sizes)

    def _check_bias_axes(self) -> None:
        axes = self.bias_axes
        if axes is None:
            return
        is_text = isinstance(axes, str) and axes
        if not is_text or set(axes) - set(self._parsed.y):
            raise ValueError(
                f"bias_axes: got {_arguments.shown(self.bias_axes)}, expected "
                f"axes of {self._parsed.y!r}, the output of {self.equation}; "
                "None is no bias"
            )

    def build(self, input_shape: Any) -> None:
        """Makes the layout and the weights for inputs of this shape."""
        _checks.check_dtype(self)
        self._full_output_shape = self.compute_output_shape(input_shape)
        self._input_sizes = self._parsed.input_sizes(tuple(input_shape))
        self._add_weights(math.prod(self._input_sizes))
        self.input_spec = keras.layers.InputSpec(ndim=len(input_shape))
        self.built = True

    def _bias_shape(self) -> tuple[int, ...]:
        """As in Keras: from the first of its axes on, 1 where it has none."""
        shape = self._full_output_shape
        rank = len(shape) - len(self._parsed.y) + len(self._parsed.x)
        _, y = self._parsed.spelt(rank)
        first = min(y.index(axis) for axis in self.bias_axes or y)
        sizes = [
            size if axis in (self.bias_axes or "") else 1
            for axis, size in zip(y[first:], shape[first:], strict=True)
        ]
        if None in sizes:
            raise ValueError(
                f"bias_axes: got {self.bias_axes!r}, expected axes of "
                f"{self.equation} with known sizes, the output's shape being "
                f"{shape}; give them to keras.Input or to output_shape"
            )
        return tuple(size for size in sizes if size is not None)

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        """The product with the blocks, the bias and the activation."""
        rank = len(inputs.shape)
        product = self._product(ops.matmul, self._parsed.rows(inputs))
        outputs = self._parsed.result(product, rank, self._output_sizes)
        if self.bias is not None and not self._has_fused_bias():
            outputs = outputs + keras.ops.cast(self.bias, outputs.dtype)
        if self._product_activation() is not self.activation:
            outputs = self.activation(outputs)
        return outputs

    def _has_fused_bias(self) -> bool:
        return set(self.bias_axes or "") <= set(self._parsed.outputs)

    def _fused_bias(self) -> Any:
        if self.bias is None or not self._has_fused_bias():
            return None
        sizes = dict(zip(self._parsed.outputs, self._output_sizes, strict=True))
        kept = [a for a in self._parsed.y if a in (self.bias_axes or "")]
        bias = keras.ops.reshape(self.bias, [sizes[a] for a in kept])
        # In the order of the kernel, repeated along axes that it has not.
        order = [a for a in self._parsed.outputs if a in kept]
        bias = keras.ops.transpose(bias, [kept.index(a) for a in order])
        bias = keras.ops.reshape(
            bias, [sizes[a] if a in kept else 1 for a in self._parsed.outputs]
        )
        bias = keras.ops.broadcast_to(bias, self._output_sizes)
        return keras.ops.reshape(bias, [-1])

    def _product_activation(self) -> Any:
        # Others may look along an axis, as softmax does.
        if fused_name(self.activation) and self._has_fused_bias():
            return self.activation
        return keras.activations.linear

    def compute_output_shape(self, input_shape: Any) -> tuple[int | None, ...]:
        """As the equation says.

        Raises:
            ValueError: if the input's shape and `output_shape` do not fit.
        """
        return self._parsed.full_output_shape(
            tuple(input_shape), self.partial_output_shape
        )

    def kernel_matrix(self, kernel: Any) -> np.ndarray:
        """A kernel of `keras.layers.EinsumDense` as the matrix of the layout.

        Args:
            kernel: array of the kernel's shape.

        Returns:
            NumPy array `[inputs, outputs]`, which `layout.gather` takes.
        """
        return self._parsed.matrix(np.asarray(kernel))

    def matrix_kernel(self, matrix: Any) -> np.ndarray:
        """The kernel for `keras.layers.EinsumDense` of a matrix: the reverse.

        Args:
            matrix: `[inputs, outputs]`, as `layout.to_dense` gives it.

        Returns:
            NumPy array of the kernel's shape.
        """
        sizes = [*self._input_sizes, *self._output_sizes]
        return self._parsed.kernel_of(np.asarray(matrix), sizes)

    def get_config(self) -> dict[str, Any]:
        """The arguments; a layout only if it was given."""
        config = super().get_config()
        del config["use_bias"]
        return {
            **config,
            "equation": self.equation,
            "output_shape": self.partial_output_shape,
            "bias_axes": self.bias_axes,
        }
