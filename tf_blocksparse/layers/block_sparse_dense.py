# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Dense with a block-sparse weight."""

import json
import random
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_blocksparse import _arguments, ops
from tf_blocksparse.layers import _checks
from tf_blocksparse.layers._initializers import block_initializer
from tf_blocksparse.layout import BlockLayout

# Not those that leave their input for Keras's cross-entropies, which is lost
# inside of the op: sigmoid and softmax.
_FUSED = ("relu", "gelu", "silu", "tanh")
# A layout that is larger than this as JSON stays out of the config.
_CONFIG_BYTES = 64 * 1024


@keras.saving.register_keras_serializable(package="tf_blocksparse")
class BlockSparseDense(keras.layers.Layer):
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
    remain on average, `inputs * density` and `units * density`; any other gets
    the shape of the blocks. Regularizers and constraints see the blocks.

    Weights: `blocks` `(nnz, b_in, b_out)`; `bias` `(units,)`; and, not
    trainable, `packed_layout`, an int32 vector named `layout`, which travels in
    every weights file: loading weights alone restores the layout. Summaries
    count its numbers as non-trainable parameters.

    The operation has no XLA kernel, so the layer has `supports_jit = False`:
    `compile(jit_compile="auto")` trains without XLA, with or without a GPU,
    `jit_compile=True` does too after Keras's warning, and your own
    `tf.function(jit_compile=True)` around the layer fails in TensorFlow with
    an `InvalidArgumentError` that names the operation.

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
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        _checks.check_none(
            lora_rank=lora_rank,
            lora_alpha=lora_alpha,
            quantization_config=quantization_config,
        )
        self.units = _arguments.integer(
            "units", units, 1, None, "give the number of output features"
        )
        self.activation = keras.activations.get(activation)
        self.use_bias = _arguments.flag("use_bias", use_bias)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.bias_regularizer = keras.regularizers.get(bias_regularizer)
        self.kernel_constraint = keras.constraints.get(kernel_constraint)
        self.bias_constraint = keras.constraints.get(bias_constraint)
        _checks.check_constraint(self.kernel_constraint)
        self.seed = seed
        if layout is None:
            # Drawn now, as Keras's initializers do, not in order of building.
            self._drawn_seed = random.getrandbits(31) if seed is None else seed
            # Checks all that can be before the inputs are known.
            sample = BlockLayout.random(
                (1, self.units),
                block_size,
                sparsity=sparsity,
                seed=self._drawn_seed,
            )
            self.block_size = sample.block_size
            self.sparsity = float(sparsity)
        else:
            _checks.check_layout(layout, None, self.units)
            self.block_size = layout.block_size
            self.sparsity = layout.sparsity
        self._given_layout = layout
        self.blocks: Any = None
        self.bias: Any = None
        self.packed_layout: Any = None
        self.input_spec = keras.layers.InputSpec(min_ndim=2)
        self.supports_masking = True
        self.supports_jit = False

    def build(self, input_shape: Any) -> None:
        """Makes the layout and the weights for inputs of this shape."""
        _checks.check_dtype(self)
        inputs = input_shape[-1]
        if inputs is None:
            raise ValueError(
                f"input_shape: got {tuple(input_shape)}, expected a known last "
                "dimension; give the features to keras.Input"
            )
        layout = self._given_layout
        if layout is None:
            layout = BlockLayout.random(
                (inputs, self.units),
                self.block_size,
                sparsity=self.sparsity,
                seed=self._drawn_seed,
            )
            _checks.warn_of_few_blocks(self.name, layout)
        _checks.check_layout(layout, inputs, self.units)
        self.blocks = self.add_weight(
            name="blocks",
            shape=layout.blocks_shape,
            initializer=block_initializer(self.kernel_initializer, layout),
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        if self.use_bias:
            self.bias = self.add_weight(
                name="bias",
                shape=(self.units,),
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.packed_layout = self.add_weight(
            name="layout",
            shape=layout.packed.shape,
            initializer=lambda shape, dtype: keras.ops.convert_to_tensor(
                layout.packed, dtype=dtype
            ),
            dtype="int32",
            trainable=False,
            autocast=False,
        )
        self._current_layout = layout
        self.input_spec = keras.layers.InputSpec(min_ndim=2, axes={-1: inputs})
        self.built = True

    @property
    def layout(self) -> BlockLayout:
        """The `BlockLayout` in use: the one given until `build`.

        Raises:
            AttributeError: before `build`, if no layout was given.
            ValueError: if the layer's weights hold none.
            RuntimeError: in a `tf.function`, where weights have no value.
        """
        if self.built:
            if not tf.executing_eagerly():
                raise RuntimeError(
                    f"layer {self.name}: got a read of `layout` in a "
                    "tf.function, expected one outside of it; read it before, "
                    "or use the tensor `packed_layout`"
                )
            self._update_layout(self.packed_layout.numpy())
            return self._current_layout
        if self._given_layout is None:
            raise AttributeError(
                f"layer {self.name}: got no layout, expected `build` to make "
                "a random one; call the layer or build it first"
            )
        return self._given_layout

    def _update_layout(self, packed: np.ndarray) -> None:
        # Compared first: Keras reads every property when it saves and loads,
        # and reading a million blocks anew takes most of a second.
        current = self._current_layout
        if not np.array_equal(packed, current.packed):
            self._current_layout = BlockLayout.from_packed(
                packed, current.shape, current.block_size
            )

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        """The product with the blocks, the bias and the activation."""
        # As in Dense, where autocast doesn't make the two dtypes one.
        dtype = keras.backend.result_type(inputs.dtype, self.blocks.dtype)
        bias = None if self.bias is None else keras.ops.cast(self.bias, dtype)
        packed = keras.ops.convert_to_tensor(self.packed_layout)
        fused = _fused(self.activation)
        outputs = ops.matmul(
            keras.ops.convert_to_tensor(inputs, dtype, sparse=False),
            keras.ops.cast(self.blocks, dtype),
            ops.LayoutTensor(
                packed, self._current_layout.shape, self.block_size
            ),
            bias=bias,
            activation=fused,
        )
        return outputs if fused else self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> tuple[int | None, ...]:
        """The input's shape with `units` as its last size."""
        return (*input_shape[:-1], self.units)

    def load_own_variables(self, store: Any) -> None:
        """Restores blocks, bias and layout, or changes nothing and raises."""
        weights = self._named_weights()
        _checks.check_names(self.name, store, weights)
        if not self.built:
            return
        values = {name: np.asarray(store[name]) for name in weights}
        _checks.check_shapes(self.name, values, weights)
        # Raises where the file is damaged, before anything is assigned.
        self._update_layout(values["layout"])
        for name, weight in weights.items():
            weight.assign(values[name])

    def save_own_variables(self, store: Any) -> None:
        """Stores blocks, bias and layout, or nothing and raises."""
        if self.built:
            # Raises where `set_weights` or an assignment has damaged it.
            self._update_layout(self.packed_layout.numpy())
        for name, weight in self._named_weights().items():
            store[name] = weight

    def _named_weights(self) -> dict[str, Any]:
        weights = {"blocks": self.blocks, "bias": self.bias}
        weights["layout"] = self.packed_layout
        return {k: v for k, v in weights.items() if v is not None}

    def get_config(self) -> dict[str, Any]:
        """The arguments; a layout only if it was given."""
        layout = self._given_layout
        return {
            **super().get_config(),
            "units": self.units,
            "activation": keras.activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "kernel_initializer": keras.initializers.serialize(
                self.kernel_initializer
            ),
            "bias_initializer": keras.initializers.serialize(
                self.bias_initializer
            ),
            "kernel_regularizer": keras.regularizers.serialize(
                self.kernel_regularizer
            ),
            "bias_regularizer": keras.regularizers.serialize(
                self.bias_regularizer
            ),
            "kernel_constraint": keras.constraints.serialize(
                self.kernel_constraint
            ),
            "bias_constraint": keras.constraints.serialize(
                self.bias_constraint
            ),
            "block_size": list(self.block_size),
            "sparsity": self.sparsity,
            "layout": None if layout is None else _layout_config(layout),
            "seed": self.seed,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "BlockSparseDense":
        """The layer that `get_config` described."""
        layout = config.get("layout")
        if layout is not None:
            layout = BlockLayout.from_config(layout)
        return super().from_config({**config, "layout": layout})


def _fused(activation: Any) -> str | None:
    """The op's name for an activation that it applies itself."""
    # By identity: a function of that name elsewhere may be another one.
    for name in _FUSED:
        if activation is getattr(keras.activations, name):
            return name
    return None


def _layout_config(layout: BlockLayout) -> dict[str, Any]:
    config = layout.get_config()
    if len(json.dumps(config)) > _CONFIG_BYTES:
        # As many random blocks: room for the layout that the weights hold.
        config = {
            "inputs": layout.inputs,
            "outputs": layout.outputs,
            "block_size": list(layout.block_size),
            "maker": "random",
            "sparsity": layout.sparsity,
            "seed": 0,
        }
    return config
