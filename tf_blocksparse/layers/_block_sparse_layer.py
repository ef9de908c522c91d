# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What every layer with a block-sparse weight shares."""

import random
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_blocksparse import _arguments, ops
from tf_blocksparse.layers import _capture, _checks, _config, _moving
from tf_blocksparse.layers._initializers import block_initializer
from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.ops._library import HAS_XLA

# Not those that leave their input for Keras's cross-entropies, which is lost
# inside of the op: sigmoid and softmax.
_FUSED = ("relu", "gelu", "silu", "tanh")


class BlockSparseLayer(keras.layers.Layer):
    """A layer whose weight is blocks, a bias and the layout of the blocks.

    A child's `__init__` calls this one, sets its own attributes and ends with
    `_choose_layout`; its `build` calls `_add_weights`, and its `call` calls
    `_product`. What the child has to say are the attributes below.
    """

    # The name of the argument, and attribute, for the number of outputs.
    _outputs_argument: str
    # Taps of a kernel; None for a matrix.
    _taps: int | None = None
    # Equal runs of features that inputs and outputs are cut into.
    _groups = 1
    # Whether the kernel that initializers measure is [..., outputs, inputs].
    _kernel_is_transposed = False

    def __init__(
        self,
        *,
        activation: Any,
        use_bias: bool,
        kernel_initializer: Any,
        bias_initializer: Any,
        kernel_regularizer: Any,
        bias_regularizer: Any,
        activity_regularizer: Any,
        kernel_constraint: Any,
        bias_constraint: Any,
        gate: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.activation = keras.activations.get(activation)
        self.use_bias = _arguments.flag("use_bias", use_bias)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.bias_regularizer = keras.regularizers.get(bias_regularizer)
        self.kernel_constraint = keras.constraints.get(kernel_constraint)
        self.bias_constraint = keras.constraints.get(bias_constraint)
        _checks.check_constraint(self.kernel_constraint)
        self.gate = _checks.checked_gate(gate)
        self.blocks: Any = None
        self.bias: Any = None
        self.gate_mask: Any = None
        self.packed_layout: Any = None
        self.supports_jit = HAS_XLA

    @property
    def _outputs(self) -> int:
        return getattr(self, self._outputs_argument)

    def _choose_layout(
        self,
        layout: BlockLayout | None,
        block_size: int | tuple[int, int],
        sparsity: float,
        seed: int | None,
    ) -> None:
        """Takes the layout that was given, or decides how one is drawn."""
        self.seed = seed
        if layout is None:
            # Drawn now, as Keras's initializers do, not in order of building.
            self._drawn_seed = random.getrandbits(31) if seed is None else seed
            self.block_size = _arguments.block_size(block_size)
            self.sparsity = sparsity
            # Checks all that can be before the inputs are known.
            self._random_layout(None)
            self.sparsity = float(sparsity)
        else:
            self._check_layout(layout, None)
            self.block_size = layout.block_size
            self.sparsity = layout.sparsity
        self._given_layout = layout

    def _random_layout(self, inputs: int | None) -> BlockLayout:
        """A layout for so many inputs; None is any number that is right."""
        if inputs is None:
            inputs = self._groups * self.block_size[0]
        return BlockLayout.random(
            (inputs, self._outputs),
            self.block_size,
            sparsity=self.sparsity,
            seed=self._drawn_seed,
            groups=self._groups,
        )

    def _check_layout(self, layout: Any, inputs: int | None) -> None:
        """Raises unless a layout fits the layer; None is any number."""
        _checks.check_layout(
            layout, inputs, self._outputs, self._outputs_argument
        )
        _checks.check_taps(layout, self._taps)
        _checks.check_groups(layout, self._groups)

    def _blocks_shape(self, layout: BlockLayout) -> tuple[int, ...]:
        nnz, *block_size = layout.blocks_shape
        shared = [] if self._taps is None or layout.taps else [self._taps]
        return (nnz, *shared, *block_size)

    def _bias_shape(self) -> tuple[int, ...]:
        return (self._outputs,)

    def _add_weights(self, inputs: int) -> None:
        """Makes the layout and the weights for so many input features."""
        layout = self._given_layout
        if layout is None:
            layout = self._random_layout(inputs)
            _checks.warn_of_few_blocks(self.name, layout)
        self._check_layout(layout, inputs)
        self.blocks = self.add_weight(
            name="blocks",
            shape=self._blocks_shape(layout),
            initializer=block_initializer(
                self.kernel_initializer,
                layout,
                kernel_size=self.kernel_size if self._taps else None,
                kernel_is_transposed=self._kernel_is_transposed,
            ),
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        if self.use_bias:
            self.bias = self.add_weight(
                name="bias",
                shape=self._bias_shape(),
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        if self.gate == "mask":
            self.gate_mask = self.add_weight(
                name="gate",
                shape=(layout.nnz,),
                initializer=lambda shape, dtype: keras.ops.ones(shape, "bool"),
                dtype="bool",
                trainable=False,
                autocast=False,
            )
        elif self.gate is not None and not self.gate.built:
            self.gate.build(self._blocks_shape(layout))
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

    def set_layout(self, layout: BlockLayout) -> np.ndarray:
        """Puts as many blocks at other places, without a new trace.

        Blocks that the old layout has, too, keep their values and their gates;
        new ones are zero and open. An optimizer's numbers for the blocks stay
        in the old order: move them likewise by what is returned, as the
        callbacks `RigL` and `SET` do.

        Args:
            layout: `BlockLayout` with the shape, block size, taps and number
                of blocks of the one in use.

        Returns:
            int array `[nnz]`: for each new block its number among the old
            ones, -1 if it was none.

        Raises:
            ValueError: if the layout does not fit, the layer is not built or
                its gate is a layer with weights. Nothing is changed then.
            RuntimeError: in a `tf.function`.

        Example:
        >>> import numpy as np
        >>> from tf_blocksparse import BlockLayout
        >>> from tf_blocksparse.layers import BlockSparseDense
        >>> layout = BlockLayout([[1, 0], [0, 1]], block_size=2)
        >>> layer = BlockSparseDense(4, layout=layout, use_bias=False)
        >>> y = layer(np.ones((1, 4)))
        >>> layer.set_layout(BlockLayout([[1, 0], [1, 0]], block_size=2))
        array([ 0, -1])
        >>> layer.blocks[1].numpy()
        array([[0., 0.],
               [0., 0.]], dtype=float32)
        """
        if not self.built:
            raise ValueError(
                f"layer {self.name}: got set_layout before `build`, expected a "
                "built layer; build it, or pass `layout` when it is made"
            )
        old = self.layout
        self._check_layout(layout, old.inputs)
        _checks.check_replacement(self.name, old, layout, self.gate)
        source = _moving.sources(old, layout)
        blocks = _moving.move(self.blocks.numpy(), source)
        if self.gate_mask is not None:
            mask = _moving.move(self.gate_mask.numpy(), source, True)
            self.gate_mask.assign(mask)
        self.blocks.assign(blocks)
        self.packed_layout.assign(layout.packed)
        self._current_layout = layout
        return source

    def _update_layout(self, packed: np.ndarray) -> None:
        # Compared first: Keras reads every property when it saves and loads,
        # and reading a million blocks anew takes most of a second.
        current = self._current_layout
        if not np.array_equal(packed, current.packed):
            taps = [] if current.taps is None else [current.taps]
            layout = BlockLayout.from_packed(
                packed, (*taps, *current.shape), current.block_size
            )
            _checks.check_groups(layout, self._groups)
            self._current_layout = layout

    def _product(
        self, op: Callable[..., Any], inputs: Any, *arguments: Any, **names: Any
    ) -> Any:
        """An op on the inputs, the blocks and the bias; the activation."""
        # As in Dense, where autocast doesn't make the two dtypes one.
        dtype = keras.backend.result_type(inputs.dtype, self.blocks.dtype)
        bias = self._fused_bias()
        bias = None if bias is None else keras.ops.cast(bias, dtype)
        layout = ops.LayoutTensor(
            keras.ops.convert_to_tensor(self.packed_layout),
            self._current_layout.shape,
            self._current_layout.block_size,
            self._current_layout.taps,
        )
        records = _capture.active()
        activation = self._product_activation()
        fused = fused_name(activation) if records is None else None
        inputs = keras.ops.convert_to_tensor(inputs, dtype, sparse=False)
        outputs = op(
            inputs,
            keras.ops.cast(self.blocks, dtype),
            layout,
            *arguments,
            bias=bias,
            activation=fused,
            gate=self._gate_values(),
            **names,
        )
        if records is not None:
            record = self, op, inputs, outputs, arguments, names
            records.append(_capture.Record(*record))
        return outputs if fused else activation(outputs)

    def _fused_bias(self) -> Any:
        """The bias that is added to a product: `(outputs,)`, or None."""
        return self.bias

    def _product_activation(self) -> Any:
        """The activation of a product that has got its bias."""
        return self.activation

    def _gate_values(self) -> Any:
        """A number or a bool for each block; None without a gate."""
        if self.gate is None:
            return None
        if self.gate_mask is not None:
            return keras.ops.convert_to_tensor(self.gate_mask)
        return self.gate(self.blocks)

    def load_own_variables(self, store: Any) -> None:
        """Restores blocks, bias and layout, or changes nothing and raises."""
        weights = self._named_weights()
        _checks.check_names(self.name, store, weights)
        if not self.built:
            return
        values = {name: np.asarray(store[name]) for name in weights}
        _checks.check_shapes(self.name, values, weights, self._outputs_argument)
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
        weights["gate"] = self.gate_mask
        weights["layout"] = self.packed_layout
        return {k: v for k, v in weights.items() if v is not None}

    def get_config(self) -> dict[str, Any]:
        """The arguments; a layout only if it was given."""
        layout = self._given_layout
        return {
            **super().get_config(),
            **_config.of_objects(self),
            "use_bias": self.use_bias,
            "block_size": list(self.block_size),
            "sparsity": self.sparsity,
            "layout": layout and _config.of_layout(layout, self._groups),
            "seed": self.seed,
            "gate": _config.of_gate(self.gate),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "BlockSparseLayer":
        """The layer that `get_config` described."""
        layout = config.get("layout")
        if layout is not None:
            layout = BlockLayout.from_config(layout)
        gate = _config.gate_of(config.get("gate"))
        return super().from_config({**config, "layout": layout, "gate": gate})


def fused_name(activation: Any) -> str | None:
    """The op's name for an activation that it applies itself."""
    # By identity: a function of that name elsewhere may be another one.
    for name in _FUSED:
        if activation is getattr(keras.activations, name):
            return name
    return None
