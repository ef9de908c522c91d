# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Attention layers, which are replaced as a whole."""

from collections.abc import Mapping
from typing import Any

import keras

from tf_blocksparse.conversion._config_copy import config_copy
from tf_blocksparse.layers import BlockSparseMultiHeadAttention

_Keras = keras.layers.MultiHeadAttention


def is_attention(layer: Any) -> bool:
    """Whether a layer makes projections in `build`, as attention does."""
    return isinstance(layer, (_Keras, keras.layers.GroupQueryAttention))


def obstacle(layer: Any) -> str | None:
    """Why its projections cannot be sparse; None if they can."""
    if type(layer) in (_Keras, BlockSparseMultiHeadAttention):
        return None if layer.built else "not built"
    if isinstance(layer, _Keras):
        return "a class of its own, made from MultiHeadAttention"
    return f"no block-sparse twin of {type(layer).__name__}"


def projections(layer: Any) -> dict[str, Any]:
    """The layers that project query, key, value and the result."""
    if isinstance(layer, BlockSparseMultiHeadAttention):
        return layer.projections()
    # Private: a layer with `use_gate` tells all others but that one.
    gate = getattr(layer, "_gate_dense", None)
    found = (
        layer.query_dense,
        layer.key_dense,
        layer.value_dense,
        gate,
        layer.output_dense,
    )
    return {each.name: each for each in found if each is not None}


def with_layouts(
    layer: Any, layouts: Mapping[str, Any], gate: str | None
) -> BlockSparseMultiHeadAttention:
    """Attention like `layer` with these layouts, not built.

    Args:
      layer: of Keras, or block-sparse.
      layouts: for each name of `projections` a layout, or "dense".
      gate: None or "mask".
    """
    return config_copy(
        layer,
        kind=BlockSparseMultiHeadAttention,
        # Not in Keras's config. Private: it can only be given.
        flash_attention=layer._flash_attention or None,
        layouts={
            name: layout if isinstance(layout, str) else layout.get_config()
            for name, layout in layouts.items()
        },
        gate=gate,
    )


def dense_twin(layer: BlockSparseMultiHeadAttention) -> Any:
    """Attention of Keras like a block-sparse one, not built."""
    return config_copy(
        layer,
        kind=_Keras,
        leave_out=(
            "block_size",
            "sparsity",
            "layouts",
            "layout_seed",
            "gate",
        ),
        flash_attention=layer._flash_attention or None,
    )
