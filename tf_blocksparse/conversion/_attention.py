# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Attention layers, which are replaced as a whole."""

from collections.abc import Mapping
from typing import Any

import keras

from tf_blocksparse.conversion._config_copy import config_copy
from tf_blocksparse.layers import (
    BlockSparseGroupQueryAttention,
    BlockSparseMultiHeadAttention,
)
from tf_blocksparse.layers._sparse_projections import SparseProjections

_TWINS = (
    (keras.layers.MultiHeadAttention, BlockSparseMultiHeadAttention),
    (keras.layers.GroupQueryAttention, BlockSparseGroupQueryAttention),
)


def is_attention(layer: Any) -> bool:
    """Whether a layer makes projections in `build`, as attention does."""
    return any(isinstance(layer, dense) for dense, _ in _TWINS)


def is_sparse(layer: Any) -> bool:
    """Whether it is attention of this library."""
    return isinstance(layer, SparseProjections)


def obstacle(layer: Any) -> str | None:
    """Why its projections cannot be sparse; None if they can."""
    if any(type(layer) in twins for twins in _TWINS):
        return None if layer.built else "not built"
    dense, _ = _twins_of(layer)
    return f"a class of its own, made from {dense.__name__}"


def _twins_of(layer: Any) -> tuple[Any, Any]:
    return next(twins for twins in _TWINS if isinstance(layer, twins[0]))


def with_layouts(
    layer: Any, layouts: Mapping[str, Any], gate: str | None
) -> Any:
    """Attention like `layer` with these layouts, not built.

    Args:
      layer: of Keras, or block-sparse.
      layouts: for each of its projections a layout, or "dense".
      gate: None or "mask".
    """
    return config_copy(
        layer,
        kind=_twins_of(layer)[1],
        # Not in Keras's config. Private: it can only be given.
        flash_attention=layer._flash_attention or None,
        layouts={
            name: layout if isinstance(layout, str) else layout.get_config()
            for name, layout in layouts.items()
        },
        gate=gate,
    )


def dense_twin(layer: Any) -> Any:
    """Attention of Keras like a block-sparse one, not built."""
    return config_copy(
        layer,
        kind=_twins_of(layer)[0],
        leave_out=(
            "block_size",
            "sparsity",
            "layouts",
            "layout_seed",
            "gate",
        ),
        flash_attention=layer._flash_attention or None,
    )
