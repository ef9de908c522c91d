# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Block-sparse layers and ops for TensorFlow and Keras.

Swap `keras.layers.Dense` for `layers.BlockSparseDense`, or build on
`ops.matmul` and a `BlockLayout`, which says which blocks of a weight exist. Or
convert a trained model by `sparsify`, prune one while it trains by
`callbacks.BlockPruning` and `compact`, and look at it by `inspect`.
"""

# First: it checks TensorFlow and Keras before anything else imports them.
from tf_blocksparse import ops

# isort: split
from tf_blocksparse import (
    callbacks,
    initializers,
    inspection,
    layers,
    optimizers,
    patterns,
    regularizers,
    schedules,
)
from tf_blocksparse.conversion import compact, densify, sparsify
from tf_blocksparse.inspection import inspect
from tf_blocksparse.layout import BlockLayout, LayoutShard
from tf_blocksparse.ops import (
    LayoutTensor,
    build_info,
    library_path,
    xla_library_path,
)

__version__ = "0.1.0"

__all__ = [
    "BlockLayout",
    "LayoutShard",
    "LayoutTensor",
    "__version__",
    "build_info",
    "callbacks",
    "compact",
    "densify",
    "initializers",
    "inspect",
    "inspection",
    "layers",
    "library_path",
    "ops",
    "optimizers",
    "patterns",
    "regularizers",
    "schedules",
    "sparsify",
    "xla_library_path",
]
