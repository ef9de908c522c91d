# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What of a model is block-sparse: as a table, as pictures, as numbers."""

from tf_blocksparse.inspection._images import layout_image, norm_image
from tf_blocksparse.inspection._inspection import Inspection, inspect
from tf_blocksparse.inspection._layer import LayerInspection

__all__ = [
    "Inspection",
    "LayerInspection",
    "inspect",
    "layout_image",
    "norm_image",
]
