# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Dense with a block-sparse weight."""

from typing import Any

import keras

from tf_blocksparse import _arguments, ops
from tf_blocksparse.layers import _checks
from tf_blocksparse.layers._block_sparse_layer import BlockSparseLayer
from tf_blocksparse.layout import BlockLayout


@keras.saving.register_keras_serializable(package="tf_blocksparse")
class BlockSparseDense(BlockSparseLayer):
    """Densely-connected layer of which only some blocks of the weight exist.

    Use it where `keras.layers.Dense` takes the time: training, inference and
    the saved file become smaller and faster with the share of blocks left out.
    It implements

        output = activation(dot(input, W) + bias)

    where `W`, of shape `(inputs, units)`, is zero outside the blocks that its
    `BlockLayout` names. Only the blocks are stored and learnt. `relu`, exact
    `gelu`, `silu` and `tanh` run inside the operation, any other activation
    after it; so Keras's cross-entropies find the logits of `sigmoid` and
    `softmax`, as they do after `Dense`.

    Positional arguments mean the same as in `Dense`. Initializers: children of
    `keras.initializers.VarianceScaling` (Glorot, He, Lecun) use the fans that
    remain on average, `inputs * density` and `units * density`; those of
    `tf_blocksparse.initializers` know where the blocks are; any other gets the
    shape of the blocks. Regularizers and constraints see the blocks.

    Weights: `blocks` `(nnz, b_in, b_out)`; `bias` `(units,)`; and, not
    trainable, `packed_layout`, an int32 vector named `layout`, which travels in
    every weights file: loading weights alone restores the layout. Summaries
    count its numbers as non-trainable parameters.

    The layer has `supports_jit = True`: with `compile(jit_compile=True)` the
    same kernels run on a CPU, called from XLA; on a GPU, where Keras turns XLA
    on by itself, XLA multiplies by the dense weight.

    Example:
    >>> import keras
    >>> from tf_blocksparse.layers import BlockSparseDense
    >>> layer = BlockSparseDense(256, "relu", block_size=16, sparsity=0.75)
    >>> x = keras.ops.ones((8, 128))
    >>> tuple(layer(x).shape)
    (8, 256)
    >>> tuple(layer.blocks.shape)
    (32, 16, 16)
    >>> layer.layout.density
    0.25

    Args:
        units: Positive integer, dimensionality of the output space.
        activation: Activation function to use (name, function or None).
        use_bias: Boolean, whether the layer uses a bias vector.
        kernel_initializer: Initializer for the blocks, see above.
        bias_initializer: Initializer for the bias vector.
        kernel_regularizer: Regularizer function applied to the blocks.
        bias_regularizer: Regularizer function applied to the bias vector.
        activity_regularizer: Regularizer function applied to the output.
        kernel_constraint: Constraint function applied to the blocks; one with
            an `axis` (`MaxNorm`, `UnitNorm`, `MinMaxNorm`) is refused, since
            a row or column of `W` is spread over several blocks.
        bias_constraint: Constraint function applied to the bias vector.
        lora_rank, lora_alpha, quantization_config: in `Dense`'s places; only
            None is supported.
        block_size: Integer or pair `(b_in, b_out)`, from 1 to 256. 4, 8, 16,
            32, 64 and 128 are fast. Features need not be a multiple of it.
        sparsity: Float from 0 to 1, the share of blocks to leave out of a
            random layout. At least one block stays unless it is 1; a warning
            tells of too few for all inputs and outputs.
        layout: `BlockLayout` of shape `(inputs, units)` to use instead of a
            random one; `block_size`, `sparsity` and `seed` then play no part.
            A layout that takes more than 64 kB compressed is not part of the
            layer's config: files keep it in the weights, while a copy made
            from the config alone (`clone_model`) gets a random layout with as
            many blocks until it is given the weights.
        seed: Integer that fixes the random layout, on every machine. None
            draws one, which `keras.utils.set_random_seed` decides. As in
            Keras's initializers it stays None in the config, so that
            `clone_model` and `from_config` draw another layout, as they draw
            other weights: give a seed for the same layout, or copy the
            weights, which hold it.
        gate: None; `"mask"`, for a weight `gate_mask` of bools, not trainable,
            which leaves out blocks until they are removed (pruning); or a
            layer that makes a number for each block from the blocks, by which
            they are multiplied. Blocks with gate 0 take no time.
        **kwargs: `name`, `dtype` (float32, float64, bfloat16, float16 or a
            mixed policy), `trainable`, `autocast`.

    Input shape:
        N-D tensor with shape `(batch_size, ..., inputs)`, N at least 2.

    Output shape:
        N-D tensor with shape `(batch_size, ..., units)`.

    Raises:
        ValueError: an argument or a weights file that does not fit; the text
            says what was got, what was expected and what to do.
    """

    _outputs_argument = "units"

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        lora_rank: None = None,
        lora_alpha: None = None,
        quantization_config: None = None,
        *,
        block_size: int | tuple[int, int] = 32,
        sparsity: float = 0.9,
        layout: BlockLayout | None = None,
        seed: int | None = None,
        gate: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            activation=activation,
            use_bias=use_bias,
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
            quantization_config=quantization_config,
        )
        self.units = _arguments.integer(
            "units", units, 1, None, "give the number of output features"
        )
        self._choose_layout(layout, block_size, sparsity, seed)
        self.input_spec = keras.layers.InputSpec(min_ndim=2)
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        """Makes the layout and the weights for inputs of this shape."""
        _checks.check_dtype(self)
        inputs = input_shape[-1]
        if inputs is None:
            raise ValueError(
                f"input_shape: got {tuple(input_shape)}, expected a known last "
                "dimension; give the features to keras.Input"
            )
        self._add_weights(inputs)
        self.input_spec = keras.layers.InputSpec(min_ndim=2, axes={-1: inputs})
        self.built = True

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        """The product with the blocks, the bias and the activation."""
        return self._product(ops.matmul, inputs)

    def compute_output_shape(self, input_shape: Any) -> tuple[int | None, ...]:
        """The input's shape with `units` as its last size."""
        return (*input_shape[:-1], self.units)

    def get_config(self) -> dict[str, Any]:
        """The arguments; a layout only if it was given."""
        return {**super().get_config(), "units": self.units}
