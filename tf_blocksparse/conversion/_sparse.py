# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Block-sparse layers in the places of others, by a plan."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tf_blocksparse.conversion import _attention, _twins
from tf_blocksparse.conversion._plan import Weight
from tf_blocksparse.conversion._rebuild import Replacement
from tf_blocksparse.layers._sparse_projections import projections_of


def replacement(
    layer: Any, weights: Sequence[Weight], gate: str | None
) -> Replacement:
    """The block-sparse layer with the chosen blocks of its weights."""
    if _attention.is_attention(layer):
        return _sparse_attention(layer, weights, gate)
    return _sparse_layer(layer, weights[0], gate)


def gate_of(layer: Any, gate: str | None) -> str | None:
    """A prunable layer stays so."""
    return gate or getattr(layer, "gate", None)


def _blocks_of(weight: Weight) -> Callable[[Any], Any]:
    """The blocks that are kept, from an array like the old weight."""
    part, layout = weight.part, weight.layout
    return lambda array: layout.gather(part.kernel(np.asarray(array)))


def _sparse_layer(layer: Any, weight: Weight, gate: str | None) -> Replacement:
    new = _twins.sparse_twin(layer, weight.layout, gate_of(layer, gate))
    blocks = _blocks_of(weight)
    values = {"blocks": blocks(weight.part.weight())}
    if new.gate == "mask":
        values["gate"] = np.ones(weight.layout.nnz, np.bool_)
    return Replacement(
        new, values, {"blocks": (weight.part.weight_name, blocks)}
    )


def _sparse_attention(
    layer: Any, weights: Sequence[Weight], gate: str | None
) -> Replacement:
    layouts: dict[str, Any] = {}
    values: dict[str, Any] = {}
    slot_maps = {}
    gate = gate_of(layer, gate)
    changed = {weight.name: weight for weight in weights}
    for name, each in projections_of(layer).items():
        weight = changed.get(name)
        if weight is None:
            sparse = _twins.is_sparse(each)
            layouts[name] = each.layout if sparse else "dense"
            continue
        blocks = _blocks_of(weight)
        layouts[name] = weight.layout
        values[f"{name}/blocks"] = blocks(weight.part.weight())
        slot_maps[f"{name}/blocks"] = (
            f"{name}/{weight.part.weight_name}",
            blocks,
        )
        if gate == "mask":
            values[f"{name}/gate"] = np.ones(weight.layout.nnz, np.bool_)
    new = _attention.with_layouts(layer, layouts, gate)
    return Replacement(new, values, slot_maps)
