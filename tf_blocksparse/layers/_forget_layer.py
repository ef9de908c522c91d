# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Takes a layer out of those that another one counts as its own."""

from typing import Any


def forget_layer(holder: Any, layer: Any) -> None:
    """Call it before the attribute with `layer` is set to another one.

    Keras would go on counting the old one: its weights would be saved.
    """
    # Private. Keras untracks what leaves a list that is an attribute, but a
    # SavedModel then wants that attribute for ever.
    holder._tracker.untrack(layer)
