# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What the functions that convert models check first."""

from typing import Any

import keras

from tf_blocksparse import _arguments


def check_model(model: Any) -> None:
    """Raises unless it is a model, or a layer."""
    if not isinstance(model, keras.layers.Layer):
        raise ValueError(
            f"model: got {_arguments.shown(model)}, expected a Keras model or "
            "layer; read a file by keras.models.load_model"
        )
