# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""From a dense model to a block-sparse one, and back."""

from tf_blocksparse.conversion.compact import compact
from tf_blocksparse.conversion.densify import densify
from tf_blocksparse.conversion.report import (
    LayerReport,
    SparsifyReport,
    Times,
)
from tf_blocksparse.conversion.sparsify import sparsify

__all__ = [
    "LayerReport",
    "SparsifyReport",
    "Times",
    "compact",
    "densify",
    "sparsify",
]
