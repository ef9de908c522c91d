# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Which block-sparse layer belongs to which of Keras, and how to make it."""

from typing import Any, NamedTuple

import keras

from tf_blocksparse import layers
from tf_blocksparse.layers._block_sparse_layer import BlockSparseLayer
from tf_blocksparse.layout import BlockLayout

_OF_EVERY = (
    "activation",
    "kernel_initializer",
    "bias_initializer",
    "kernel_regularizer",
    "bias_regularizer",
    "activity_regularizer",
    "kernel_constraint",
    "bias_constraint",
)
_OF_TRANSPOSED = (
    *_OF_EVERY,
    "use_bias",
    "filters",
    "kernel_size",
    "strides",
    "padding",
    "data_format",
    "dilation_rate",
    "output_padding",
)
_OF_CONV = (*_OF_TRANSPOSED[:-1], "groups")


class Twins(NamedTuple):
    """A layer of Keras, its block-sparse twin, and arguments of both."""

    dense: Any
    sparse: Any
    arguments: tuple[str, ...]


TWINS = (
    Twins(
        keras.layers.Dense,
        layers.BlockSparseDense,
        (*_OF_EVERY, "use_bias", "units"),
    ),
    Twins(
        keras.layers.EinsumDense,
        layers.BlockSparseEinsumDense,
        (*_OF_EVERY, "equation", "partial_output_shape", "bias_axes"),
    ),
    Twins(keras.layers.Conv1D, layers.BlockSparseConv1D, _OF_CONV),
    Twins(keras.layers.Conv2D, layers.BlockSparseConv2D, _OF_CONV),
    Twins(keras.layers.Conv3D, layers.BlockSparseConv3D, _OF_CONV),
    Twins(
        keras.layers.Conv1DTranspose,
        layers.BlockSparseConv1DTranspose,
        _OF_TRANSPOSED,
    ),
    Twins(
        keras.layers.Conv2DTranspose,
        layers.BlockSparseConv2DTranspose,
        _OF_TRANSPOSED,
    ),
    Twins(
        keras.layers.Conv3DTranspose,
        layers.BlockSparseConv3DTranspose,
        _OF_TRANSPOSED,
    ),
)


def twins_of(layer: Any) -> Twins | None:
    """The pair that a layer is one of; None if it is of another class.

    A child of these classes is: it may compute something else.
    """
    for twins in TWINS:
        if type(layer) in (twins.dense, twins.sparse):
            return twins
    return None


def is_transposed(layer: Any) -> bool:
    """Whether Keras's kernel has outputs before inputs."""
    twins = twins_of(layer)
    return twins is not None and twins.arguments is _OF_TRANSPOSED


def is_sparse(layer: Any) -> bool:
    """Whether a layer has blocks."""
    return isinstance(layer, BlockSparseLayer)


def sparse_twin(layer: Any, layout: BlockLayout, gate: Any) -> Any:
    """A block-sparse layer with the arguments of another one, not built."""
    twins = twins_of(layer)
    if twins is None:
        raise ValueError(f"layer {layer.name}: got a {type(layer).__name__}")
    return twins.sparse(**_arguments(layer, twins), layout=layout, gate=gate)


def dense_twin(layer: Any) -> Any:
    """The layer of Keras for a block-sparse one, not built.

    Raises:
      ValueError: if Keras has none with these arguments.
    """
    twins = twins_of(layer)
    if twins is None:
        raise ValueError(
            f"layer {layer.name}: got a {type(layer).__name__}, a class of its "
            "own, expected a block-sparse layer of this library; Keras has no "
            "layer like it"
        )
    arguments = _arguments(layer, twins)
    if hasattr(layer.kernel_initializer, "initialize_blocks"):
        # It knows blocks only; the values are replaced.
        arguments["kernel_initializer"] = "zeros"
    padding = arguments.get("padding", "valid")
    if padding not in ("valid", "same", "causal"):
        raise ValueError(
            f"layer {layer.name}: got padding={padding!r}, expected 'valid', "
            "'same' or 'causal', as Keras has no other; pad by a layer before"
        )
    return twins.dense(**arguments)


def _arguments(layer: Any, twins: Twins) -> dict[str, Any]:
    arguments = {name: getattr(layer, name) for name in twins.arguments}
    if "partial_output_shape" in arguments:
        arguments["output_shape"] = arguments.pop("partial_output_shape")
    return {
        **arguments,
        "name": layer.name,
        "dtype": layer.dtype_policy,
        "trainable": layer.trainable,
        "autocast": layer.autocast,
    }
