# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Why a layer cannot be made block-sparse."""

from typing import Any

import keras

from tf_blocksparse.conversion import _twins
from tf_blocksparse.layers import _checks, _einsum


def of_layer(layer: Any) -> str | None:
    """The reason why a layer has no block-sparse twin; None if it has."""
    twins = _twins.twins_of(layer)
    if twins is None:
        for each in _twins.TWINS:
            if isinstance(layer, (each.dense, each.sparse)):
                parent = next(
                    kind
                    for kind in (each.sparse, each.dense)
                    if isinstance(layer, kind)
                )
                return f"a class of its own, made from {parent.__name__}"
        return f"no block-sparse twin of {type(layer).__name__}"
    if not layer.built:
        return "not built"
    if _twins.is_sparse(layer):
        if isinstance(layer.gate, keras.layers.Layer):
            return "has a layer as gate: use compact first"
        return None
    return _of_dense(layer)


def _of_dense(layer: Any) -> str | None:
    if getattr(layer, "lora_enabled", False):
        return "LoRA is not supported"
    if layer.quantization_mode is not None:
        return f"quantized to {layer.quantization_mode}"
    if layer.compute_dtype not in _checks.DTYPES:
        return f"dtype {layer.compute_dtype} is not supported"
    constraint = layer.kernel_constraint
    if getattr(constraint, "axis", None) is not None:
        return f"kernel_constraint {type(constraint).__name__} has an axis"
    if hasattr(layer, "equation"):
        try:
            _einsum.parse(layer.equation)
        except ValueError:
            return f"the kernel of {layer.equation} is no matrix"
    return None


def of_size(
    layer: Any,
    inputs: int,
    outputs: int,
    groups: int,
    block_size: tuple[int, int],
) -> str | None:
    """The reason why blocks of this size do not fit a dense weight."""
    if _twins.is_sparse(layer):
        return None
    b_in, b_out = block_size
    if inputs // groups < b_in or outputs // groups < b_out:
        of = " of a group" if groups > 1 else ""
        return (
            f"{inputs // groups} x {outputs // groups}{of} is smaller than a "
            f"block of {b_in} x {b_out}"
        )
    if groups > 1 and (inputs // groups % b_in or outputs // groups % b_out):
        return f"{groups} groups are not of whole blocks"
    return None
