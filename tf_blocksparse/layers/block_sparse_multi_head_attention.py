# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""MultiHeadAttention with block-sparse projections."""

from collections.abc import Mapping
from typing import Any

import keras

from tf_blocksparse import _arguments
from tf_blocksparse.layers import _config
from tf_blocksparse.layers.block_sparse_einsum_dense import (
    BlockSparseEinsumDense,
)
from tf_blocksparse.layout import BlockLayout

# The attributes of Keras's layer by the names of the layers that they hold.
# They are private, and `query_dense` and so on can only be read.
_ATTRIBUTES = {
    "query": "_query_dense",
    "key": "_key_dense",
    "value": "_value_dense",
    "gate": "_gate_dense",
    "attention_output": "_output_dense",
}


@keras.saving.register_keras_serializable(package="tf_blocksparse")
class BlockSparseMultiHeadAttention(keras.layers.MultiHeadAttention):
    """MultiHeadAttention of which only some blocks of the projections exist.

    Use it where the projections of `keras.layers.MultiHeadAttention` take the
    time, which they do unless sequences are long: attention itself is computed
    by Keras as ever. All of Keras's arguments and calls mean the same.

    Each of `query_dense`, `key_dense`, `value_dense` and `output_dense` is a
    `BlockSparseEinsumDense`, whose weight is a matrix: (features,
    heads * key_dim) for the first two, (features, heads * value_dim) for the
    third, and (heads * value_dim, features) for the last.

    Example:
    >>> import keras
    >>> from tf_blocksparse.layers import BlockSparseMultiHeadAttention
    >>> layer = BlockSparseMultiHeadAttention(
    ...     4, 16, block_size=16, sparsity=0.5
    ... )
    >>> x = keras.ops.ones((2, 10, 64))
    >>> tuple(layer(x, x).shape)
    (2, 10, 64)
    >>> tuple(layer.query_dense.blocks.shape)
    (8, 16, 16)

    Args:
        num_heads, key_dim, ...: as for `keras.layers.MultiHeadAttention`;
            initializers, regularizers and constraints are those of the
            blocks, as in `BlockSparseDense`. `seed` is that of the dropout.
        block_size: Integer or pair `(b_in, b_out)`, from 1 to 256.
        sparsity: Float from 0 to 1, the share of blocks to leave out of each
            projection that `layouts` does not name.
        layouts: Dict of a `BlockLayout`, or `"dense"` for a projection that
            stays as Keras makes it, by the names `"query"`, `"key"`,
            `"value"`, `"attention_output"` and, with `use_gate`, `"gate"`.
        layout_seed: Integer that fixes random layouts; each projection's is
            that plus its place in the list of names above.
        gate: None, or `"mask"` for prunable projections, as in
            `BlockSparseDense`. (Keras's `use_gate` is another thing.)
        **kwargs: as for Keras's layer.

    Call arguments, input shape, output shape:
        As for Keras's layer.

    Raises:
        ValueError: an argument or a weights file that does not fit; the text
            says what was got, what was expected and what to do.
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
        if gate not in (None, "mask"):
            raise ValueError(
                f"gate: got {_arguments.shown(gate)}, expected None or 'mask'; "
                "other gates belong to one projection: set them there"
            )
        self.gate = gate
        self.supports_jit = False

    def build(
        self, query_shape: Any, value_shape: Any, key_shape: Any = None
    ) -> None:
        """Makes the projections for inputs of these shapes."""
        super().build(query_shape, value_shape, key_shape)
        for number, (name, attribute) in enumerate(_ATTRIBUTES.items()):
            dense = getattr(self, attribute, None)
            if dense is not None and self.layouts.get(name) != "dense":
                sparse = self._sparse_like(dense, number)
                shape = dense.get_build_config()["input_shape"]
                self._replace(attribute, dense, sparse)
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

    def _replace(self, attribute: str, dense: Any, sparse: Any) -> None:
        # Keras goes on counting a layer whose attribute is set to another,
        # unless it was in a list and is taken out.
        self.layers_to_forget = [dense]
        self.layers_to_forget.clear()
        del self.layers_to_forget
        setattr(self, attribute, sparse)

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
        return {
            name: getattr(self, attribute)
            for name, attribute in _ATTRIBUTES.items()
            if getattr(self, attribute, None) is not None
        }

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
    def from_config(
        cls, config: dict[str, Any]
    ) -> "BlockSparseMultiHeadAttention":
        """The layer that `get_config` described."""
        layouts = {
            name: layout
            if isinstance(layout, str)
            else BlockLayout.from_config(layout)
            for name, layout in (config.get("layouts") or {}).items()
        }
        return super().from_config({**config, "layouts": layouts})


def _checked_layouts(layouts: Mapping[str, Any]) -> dict[str, Any]:
    for name, layout in layouts.items():
        if name not in _ATTRIBUTES:
            raise ValueError(
                f"layouts: got one for {name!r}, expected names of "
                f"{', '.join(_ATTRIBUTES)}"
            )
        if layout != "dense" and not isinstance(layout, BlockLayout):
            raise ValueError(
                f"layouts: got {_arguments.shown(layout)} for {name}, expected "
                "a BlockLayout or 'dense'"
            )
    return dict(layouts)
