# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The layers of a model, however deep they are."""

from collections.abc import Iterator
from typing import Any

from tf_blocksparse.layers._block_sparse_layer import BlockSparseLayer


def walk(layer: Any) -> Iterator[tuple[str, Any]]:
    """Yields (path, layer) of every layer inside of a model or a layer, once.

    In the order in which they were made part of what holds them. A path is the
    names from below the outermost one on, joined by slashes. What a
    block-sparse layer holds, as its gate, is a part of it.
    """
    seen = {id(layer)}

    def inside(outer: Any, path: str) -> Iterator[tuple[str, Any]]:
        # Keras names only the layers of models in public, not those that a
        # layer holds.
        for inner in outer._flatten_layers(include_self=False, recursive=False):
            if id(inner) in seen:
                continue
            seen.add(id(inner))
            yield path + inner.name, inner
            if not isinstance(inner, BlockSparseLayer):
                yield from inside(inner, f"{path}{inner.name}/")

    if isinstance(layer, BlockSparseLayer):
        yield layer.name, layer
    else:
        yield from inside(layer, "")
