# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The parts of a layer's config that are objects, as data."""

import json
from typing import Any

import keras

from tf_blocksparse.layout import BlockLayout

# The attributes of layers that are objects of Keras, and what writes them.
_WRITERS: dict[str, Any] = {
    "activation": keras.activations,
    "kernel_initializer": keras.initializers,
    "gain_initializer": keras.initializers,
    "bias_initializer": keras.initializers,
    "kernel_regularizer": keras.regularizers,
    "gain_regularizer": keras.regularizers,
    "bias_regularizer": keras.regularizers,
    "kernel_constraint": keras.constraints,
    "gain_constraint": keras.constraints,
    "bias_constraint": keras.constraints,
}
# A layout that is larger than this as JSON stays out of the config.
_BYTES = 64 * 1024


def of_objects(layer: Any) -> dict[str, Any]:
    """Those attributes that are objects and that the layer has."""
    return {
        name: writer.serialize(getattr(layer, name))
        for name, writer in _WRITERS.items()
        if hasattr(layer, name)
    }


def of_gate(gate: Any) -> Any:
    """A layer's gate; "mask" and None as they are."""
    if gate is None or gate == "mask":
        return gate
    return keras.saving.serialize_keras_object(gate)


def gate_of(config: Any) -> Any:
    """The gate that `of_gate` wrote."""
    if isinstance(config, dict):
        return keras.saving.deserialize_keras_object(config)
    return config


def of_layout(layout: BlockLayout, groups: int) -> dict[str, Any]:
    """A config of the layout, or, where it is large, of one like it."""
    config = layout.get_config()
    if len(json.dumps(config)) > _BYTES:
        # As many random blocks: room for the layout that the weights hold.
        config = {
            "inputs": layout.inputs,
            "outputs": layout.outputs,
            "block_size": list(layout.block_size),
            "maker": "random",
            "sparsity": layout.sparsity,
            "seed": 0,
        }
        if layout.taps is not None:
            config["taps"] = layout.taps
        if groups > 1:
            config["groups"] = groups
            config["sparsity"] = 1.0 - layout.density * groups
    return config
