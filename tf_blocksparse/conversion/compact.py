# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Models without the blocks that pruning has closed."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tf_blocksparse import _arguments
from tf_blocksparse.conversion import _attention, _criteria, _parts
from tf_blocksparse.conversion._config_copy import config_copy
from tf_blocksparse.conversion._model_argument import check_model
from tf_blocksparse.conversion._rebuild import Replacement, rebuild
from tf_blocksparse.layers._block_sparse_layer import BlockSparseLayer
from tf_blocksparse.layout import BlockLayout


def compact(
    model: Any, *, keep_gate: bool = False, drop_zero: bool = False
) -> Any:
    """A new model from which blocks that do nothing are gone.

    Use it after pruning, or between two calls of `fit` while it goes on: a
    closed block takes no time, but still memory, in the weight and in each
    slot of the optimizer. In the new model the layouts name only the blocks
    that are left:

    - Of a layer with `gate="mask"` those whose mask is true.
    - Of a layer with a layer as gate, such as `layers.ConcreteGate`, those
      whose number at inference is not 0; the others are multiplied by theirs.
      The slots of the optimizer are left as they are.
    - With `drop_zero` not those that have only zeros, as the group lasso with
      `callbacks.ProximalStep` makes them.

    Outputs equal those of the given model, and so does, with a mask, further
    training: the new model is compiled as the given one was, with the moments
    of the blocks that are left, and the iterations. Layers that lose nothing
    and have no gate are copied, as are all others. A layer may lose all of its
    blocks; its output then is its bias.

    Args:
      model: a built Keras model, of whatever kind, or a layer. It is left as
        it is.
      keep_gate: gives each layer that had a gate a mask, all open, so that
        pruning can go on.
      drop_zero: whether zero blocks are left out, too.

    Returns:
      The new model, of the same kind.

    Raises:
      ValueError: if the model is none, or not built, or a part of it cannot be
        made from its config.

    >>> import keras
    >>> import tf_blocksparse as tfbs
    >>> layer = tfbs.layers.BlockSparseDense(
    ...     64, block_size=16, sparsity=0.0, gate="mask"
    ... )
    >>> model = keras.Sequential([keras.Input((32,)), layer])
    >>> layer.gate_mask.assign([True, False] * 4) is not None
    True
    >>> small = compact(model)
    >>> [tuple(m.layers[0].blocks.shape) for m in (model, small)]
    [(8, 16, 16), (4, 16, 16)]
    >>> x = np.ones((1, 32))
    >>> bool(np.allclose(model(x), small(x)))
    True
    """
    check_model(model)
    keep_gate = _arguments.flag("keep_gate", keep_gate)
    drop_zero = _arguments.flag("drop_zero", drop_zero)

    def convert(layer: Any) -> Replacement | None:
        if not layer.built:
            return None
        if isinstance(layer, BlockSparseLayer):
            return _smaller(layer, keep_gate, drop_zero)
        if _attention.is_sparse(layer):
            return _smaller_attention(layer, keep_gate, drop_zero)
        return None

    return rebuild(model, convert)


class _Part(NamedTuple):
    """What is left of a layer."""

    layout: BlockLayout
    values: dict[str, Any]
    slot_maps: dict[str, Any]
    is_smaller: bool  # or without the gate that it had


def _smaller(
    layer: BlockSparseLayer, keep_gate: bool, drop_zero: bool
) -> Replacement | None:
    """A layer without closed blocks; None if there is nothing to change."""
    part = _part(layer, keep_gate, drop_zero)
    if not part.is_smaller:
        return None
    new = config_copy(
        layer,
        layout=part.layout.get_config(),
        gate="mask" if keep_gate and layer.gate is not None else None,
    )
    return Replacement(new, part.values, part.slot_maps)


def _smaller_attention(
    layer: Any, keep_gate: bool, drop_zero: bool
) -> Replacement | None:
    """The same of attention, whose `build` makes its block-sparse layers."""
    projections = layer.projections()
    parts = {
        name: _part(each, keep_gate, drop_zero)
        for name, each in projections.items()
        if isinstance(each, BlockSparseLayer)
    }
    if not any(part.is_smaller for part in parts.values()):
        return None
    new = config_copy(
        layer,
        layouts={
            name: parts[name].layout.get_config() if name in parts else "dense"
            for name in projections
        },
        gate="mask" if keep_gate and layer.gate is not None else None,
    )
    values = {}
    slot_maps = {}
    for name, part in parts.items():
        values.update({f"{name}/{k}": v for k, v in part.values.items()})
        for key, (old, change) in part.slot_maps.items():
            slot_maps[f"{name}/{key}"] = f"{name}/{old}", change
    return Replacement(new, values, slot_maps)


def _part(layer: BlockSparseLayer, keep_gate: bool, drop_zero: bool) -> _Part:
    blocks, kept = _open_blocks(layer)
    if drop_zero:
        real = _criteria.without_padding(blocks, layer.layout)
        kept = kept & real.any(axis=tuple(range(1, real.ndim)))
    layout = _parts.subset(layer.layout, kept)
    values: dict[str, Any] = {"blocks": blocks[kept]}
    if keep_gate and layer.gate is not None:
        values["gate"] = np.ones(layout.nnz, np.bool_)
    return _Part(
        layout,
        values,
        {"blocks": ("blocks", lambda array: array[kept])},
        layer.gate is not None or not kept.all(),
    )


def _open_blocks(
    layer: BlockSparseLayer,
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """The blocks times their gates, and which are open."""
    blocks = layer.blocks.numpy()
    if layer.gate is None:
        return blocks, np.ones(len(blocks), np.bool_)
    if layer.gate_mask is not None:
        return blocks, layer.gate_mask.numpy()
    gate = np.asarray(layer.gate(layer.blocks, training=False), np.float32)
    wide = np.float64 if blocks.dtype == np.float64 else np.float32
    ones = (1,) * (blocks.ndim - 1)
    product = blocks.astype(wide) * gate.reshape(-1, *ones)
    return product.astype(blocks.dtype), gate != 0
