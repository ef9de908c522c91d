# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What a block-sparse layer refuses, and how it says so."""

import warnings
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from tf_blocksparse import _arguments, patterns
from tf_blocksparse.layout import BlockLayout

DTYPES = ("float32", "float64", "bfloat16", "float16")


def check_none(**arguments: Any) -> None:
    """Raises if one of `Dense`'s unsupported arguments is used."""
    for name, value in arguments.items():
        if value is not None:
            raise ValueError(
                f"{name}: got {_arguments.shown(value)}, expected None; "
                "block-sparse layers have no LoRA and no quantization"
            )


def check_constraint(constraint: Any) -> None:
    """Raises if a constraint works along an axis of the weight."""
    if getattr(constraint, "axis", None) is not None:
        raise ValueError(
            f"kernel_constraint: got {type(constraint).__name__} with axis="
            f"{constraint.axis}, expected one without an axis, such as NonNeg; "
            "rows and columns of the weight are spread over several blocks"
        )


def checked_gate(gate: Any) -> Any:
    """`gate` if it is None, "mask" or a layer; raises otherwise."""
    if gate is None or gate == "mask" or isinstance(gate, keras.layers.Layer):
        return gate
    raise ValueError(
        f"gate: got {_arguments.shown(gate)}, expected None, 'mask' or a layer "
        "that makes a number for each block; pass 'mask' for pruning"
    )


def check_dtype(layer: keras.layers.Layer) -> None:
    """Raises if the ops do not compute in the dtype of the layer."""
    if layer.quantization_mode or layer.compute_dtype not in DTYPES:
        raise ValueError(
            f"dtype: got {layer.dtype_policy.name}, expected "
            f"{', '.join(DTYPES)} or a mixed policy of these"
        )


def check_layout(
    layout: Any, inputs: int | None, outputs: int, outputs_argument: str
) -> None:
    """Raises unless `layout` is of `(inputs, outputs)`; None is any number."""
    if not isinstance(layout, BlockLayout):
        raise ValueError(
            f"layout: got {_arguments.shown(layout)}, expected a BlockLayout; "
            "make one by BlockLayout(mask, block_size), or of a pattern by "
            "BlockLayout.from_pattern(name, (inputs, outputs), block_size)"
        )
    expected = (layout.inputs if inputs is None else inputs, outputs)
    if layout.shape != expected:
        raise ValueError(
            f"layout: got one of shape {layout.shape}, expected (inputs, "
            f"{outputs_argument}) = {expected}; make it for the sizes of this "
            "layer"
        )


def check_taps(layout: BlockLayout, taps: int | None) -> None:
    """Raises unless `layout` is of a matrix, or has so many taps."""
    if layout.taps not in (None, taps):
        expected = (
            "one of a matrix; make it from a mask of two axes"
            if taps is None
            else f"one of {taps} taps, the product of kernel_size, or one of a "
            "matrix, which all taps share; make it for this kernel"
        )
        raise ValueError(
            f"layout: got one of {layout.taps} taps, expected {expected}"
        )


def check_groups(layout: BlockLayout, groups: int) -> None:
    """Raises unless each block has inputs and outputs of one group."""
    if groups == 1:
        return
    _arguments.groups(groups, layout.shape, layout.block_size)
    wrong = np.argwhere(
        layout.mask & ~patterns.block_diagonal(layout.grid, groups)
    )
    if wrong.size:
        c, k = wrong[0][-2:]
        raise ValueError(
            f"layout: got the block ({c}, {k}), whose inputs and outputs are "
            f"of two of the {groups} groups, expected none such; make it by "
            "BlockLayout.random(..., groups=groups), or leave out groups"
        )


def check_replacement(
    layer_name: str, old: BlockLayout, new: BlockLayout, gate: Any
) -> None:
    """Raises unless all weights of a layer can be those of a new layout."""
    if isinstance(gate, keras.layers.Layer) and gate.variables:
        raise ValueError(
            f"layer {layer_name}: got the gate {gate.name}, whose weights "
            "belong to the blocks, expected none; set the layout of a layer "
            "without such a gate"
        )
    for name in ("block_size", "taps", "nnz"):
        got, expected = getattr(new, name), getattr(old, name)
        if got != expected:
            raise ValueError(
                f"layer {layer_name}: got a layout with {name} {got}, expected "
                f"{expected}; weights cannot change their shape: make a new "
                "layer for this layout"
            )


def warn_of_few_blocks(layer_name: str, layout: BlockLayout) -> None:
    """Warns if inputs are not read, or outputs constant, for lack of blocks."""
    if 0 < layout.nnz < max(layout.grid):
        warnings.warn(
            f"layer {layer_name}: {layout.nnz} of {layout.grid[0]} x "
            f"{layout.grid[1]} blocks leave inputs unread or outputs constant; "
            "use a smaller block_size or sparsity for a weight of "
            f"{layout.inputs} x {layout.outputs}",
            stacklevel=2,
        )


def check_names(
    layer_name: str, store: Any, weights: Mapping[str, Any]
) -> None:
    """Raises unless a weights file holds the weights of the layer."""
    names = sorted(store.keys())
    if names != sorted(weights):
        advice = (
            "build the layer with the arguments and the inputs of the saved one"
            if names
            else "the file is of a model with other layers; for blocks of a "
            "Dense or Conv layer's kernel, use ops.from_dense"
        )
        raise ValueError(
            f"layer {layer_name}: got a file with the weights {names}, "
            f"expected {sorted(weights)}; {advice}"
        )


def check_shapes(
    layer_name: str,
    values: Mapping[str, np.ndarray],
    weights: Mapping[str, Any],
    outputs_argument: str,
) -> None:
    """Raises unless the values of a weights file fit the weights."""
    got, expected = values["blocks"].shape, tuple(weights["blocks"].shape)
    if got != expected:
        names = (
            "nnz, b_in, b_out" if len(got) == 3 else "nnz, taps, b_in, b_out"
        )
        raise ValueError(
            f"layer {layer_name}: got a file with blocks of shape {got}, that "
            f"is ({names}), expected {expected}; make the layer with "
            "the block_size and the sparsity, or the layout, of the saved one"
        )
    for name, value in values.items():
        expected = tuple(weights[name].shape)
        if value.shape != expected:
            raise ValueError(
                f"layer {layer_name}: got a file with {name} of shape "
                f"{value.shape}, expected {expected}; make the layer with the "
                f"{outputs_argument} and the inputs of the saved one"
            )
