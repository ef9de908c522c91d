# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What attention layers with block-sparse projections have in common."""

from collections.abc import Mapping
from typing import Any

import keras

from tf_blocksparse import _arguments
from tf_blocksparse.layers import _config
from tf_blocksparse.layers._forget_layer import forget_layer
from tf_blocksparse.layers.block_sparse_einsum_dense import (
    BlockSparseEinsumDense,
)
from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.ops._library import HAS_XLA

# The attributes of Keras's layers by the names of the layers that they hold.
# They are private, and `query_dense` and so on can only be read.
ATTRIBUTES = {
    "query": "_query_dense",
    "key": "_key_dense",
    "value": "_value_dense",
    "gate": "_gate_dense",
    "attention_output": "_output_dense",
}


class SparseProjections(keras.layers.Layer):
    """Before one of Keras's attention layers among the bases of a class.

    Keras's `build` makes the projections; this one puts others in their place.
    """

    def __init__(
        self,
        *args: Any,
        block_size: int | tuple[int, int] = 32,
        sparsity: float = 0.9,
        layouts: Mapping[str, BlockLayout | str] | None = None,
        layout_seed: int | None = None,
        gate: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.block_size = _arguments.block_size(block_size)
        self.sparsity = _arguments.fraction(
            "sparsity", sparsity, "0.9 leaves a tenth of the blocks"
        )
        self.layouts = _checked_layouts(layouts or {})
        self.layout_seed = layout_seed
        if layout_seed is not None:
            self.layout_seed = _arguments.integer(
                "layout_seed", layout_seed, 0, None, "any will do"
            )
        if gate not in (None, "mask"):
            raise ValueError(
                f"gate: got {_arguments.shown(gate)}, expected None or 'mask'; "
                "other gates belong to one projection: set them there"
            )
        self.gate = gate
        self.supports_jit = HAS_XLA

    def build(
        self, query_shape: Any, value_shape: Any, key_shape: Any = None
    ) -> None:
        """Makes the projections for inputs of these shapes."""
        super().build(query_shape, value_shape, key_shape)
        for number, (name, attribute) in enumerate(ATTRIBUTES.items()):
            dense = getattr(self, attribute, None)
            if dense is not None and self.layouts.get(name) != "dense":
                sparse = self._sparse_like(dense, number)
                shape = dense.get_build_config()["input_shape"]
                forget_layer(self, dense)
                setattr(self, attribute, sparse)
                sparse.build(shape)

    def _sparse_like(self, dense: Any, number: int) -> Any:
        seed = self.layout_seed
        return BlockSparseEinsumDense(
            dense.equation,
            dense.partial_output_shape,
            dense.activation,
            dense.bias_axes,
            dense.kernel_initializer,
            dense.bias_initializer,
            dense.kernel_regularizer,
            dense.bias_regularizer,
            dense.kernel_constraint,
            dense.bias_constraint,
            activity_regularizer=dense.activity_regularizer,
            name=dense.name,
            dtype=dense.dtype_policy,
            trainable=dense.trainable,
            layout=self.layouts.get(dense.name),
            block_size=self.block_size,
            sparsity=self.sparsity,
            seed=None if seed is None else seed + number,
            gate=self.gate,
        )

    def projections(self) -> dict[str, Any]:
        """The projections by their names; some may be `EinsumDense`.

        Raises:
            ValueError: before `build`.
        """
        if not self.built:
            raise ValueError(
                f"layer {self.name}: got `projections` before `build`, "
                "expected a built layer; call the layer or build it first"
            )
        return projections_of(self)

    def get_config(self) -> dict[str, Any]:
        """The arguments; layouts only those that were given."""
        return {
            **super().get_config(),
            "block_size": list(self.block_size),
            "sparsity": self.sparsity,
            "layouts": {
                name: layout
                if isinstance(layout, str)
                else _config.of_layout(layout, 1)
                for name, layout in self.layouts.items()
            },
            "layout_seed": self.layout_seed,
            "gate": self.gate,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The layer that `get_config` described."""
        layouts = {
            name: layout
            if isinstance(layout, str)
            else BlockLayout.from_config(layout)
            for name, layout in (config.get("layouts") or {}).items()
        }
        return super().from_config({**config, "layouts": layouts})


def projections_of(attention: Any) -> dict[str, Any]:
    """The projections of a built attention layer, block-sparse or Keras's."""
    found = {
        name: getattr(attention, attribute, None)
        for name, attribute in ATTRIBUTES.items()
    }
    return {name: each for name, each in found.items() if each is not None}


def _checked_layouts(layouts: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(layouts, Mapping):
        raise ValueError(
            f"layouts: got {_arguments.shown(layouts)}, expected a dict; name "
            "the projections"
        )
    for name, layout in layouts.items():
        if name not in ATTRIBUTES:
            raise ValueError(
                f"layouts: got one for {name!r}, expected names of "
                f"{', '.join(ATTRIBUTES)}"
            )
        if layout != "dense" and not isinstance(layout, BlockLayout):
            raise ValueError(
                f"layouts: got {_arguments.shown(layout)} for {name}, expected "
                "a BlockLayout or 'dense'"
            )
    return dict(layouts)
