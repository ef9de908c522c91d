# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""From a block-sparse model back to a dense one."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tf_blocksparse.conversion import _attention, _parts, _twins
from tf_blocksparse.conversion._model_argument import check_model
from tf_blocksparse.conversion._rebuild import Replacement, rebuild


def densify(model: Any) -> Any:
    """A new model of Keras's own layers, with zeros where no block exists.

    Use it to export a model to where this library is not: LiteRT, ONNX, a
    server without the op library. Each block-sparse layer becomes `Dense`,
    `EinsumDense`, `Conv1D` and so on, or attention, with the weight
    that `ops.to_dense` gives; blocks are multiplied by their gates. Slots of
    the optimizer are carried over, with zeros where no block exists, and the
    new model is compiled as the given one was. Outputs are the same to
    rounding. The given model is left as it is.

    Args:
      model: a built Keras model, or a layer.

    Returns:
      The new model.

    Raises:
      ValueError: if a layer's arguments are none that Keras knows (padding by
        numbers, strides and dilations together), the model is not built, or a
        part of it cannot be made from its config.

    >>> import keras
    >>> import tf_blocksparse as tfbs
    >>> layer = tfbs.layers.BlockSparseDense(64, block_size=16, sparsity=0.5)
    >>> model = keras.Sequential([keras.Input((32,)), layer])
    >>> dense = tfbs.densify(model)
    >>> type(dense.layers[0]).__name__
    'Dense'
    >>> x = np.ones((1, 32))
    >>> bool(np.allclose(model(x), dense(x), atol=1e-6))
    True
    """
    check_model(model)

    def convert(layer: Any) -> Replacement | None:
        if not layer.built:
            return None
        if _attention.is_sparse(layer):
            return _dense_attention(layer)
        if _twins.is_sparse(layer):
            change = _kernel_of(layer)
            return Replacement(
                _twins.dense_twin(layer),
                {"kernel": change(_gated(layer))},
                {"kernel": ("blocks", change)},
            )
        return None

    return rebuild(model, convert)


def _kernel_of(layer: Any) -> Callable[[Any], Any]:
    """Keras's kernel from an array like the blocks."""
    part = _parts.part_of(layer)
    return lambda array: part.keras_kernel(part.kernel(np.asarray(array)))


def _gated(layer: Any) -> Any:
    """The blocks times their gates."""
    blocks = np.asarray(layer.blocks)
    if layer.gate is None:
        return blocks
    if layer.gate_mask is not None:
        gate = np.asarray(layer.gate_mask)
    else:
        # As at inference: a gate may be random in training.
        arguments = layer.gate.call_signature_parameters
        names = {"training": False} if "training" in arguments else {}
        gate = np.asarray(layer.gate(layer.blocks, **names))
    product = blocks * gate.reshape(-1, *[1] * (blocks.ndim - 1))
    return product.astype(blocks.dtype)


def _dense_attention(layer: Any) -> Replacement:
    values = {}
    slot_maps = {}
    for name, each in layer.projections().items():
        if _twins.is_sparse(each):
            change = _kernel_of(each)
            values[f"{name}/kernel"] = change(_gated(each))
            slot_maps[f"{name}/kernel"] = (f"{name}/blocks", change)
    return Replacement(_attention.dense_twin(layer), values, slot_maps)
