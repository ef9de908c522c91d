# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Functions on block-sparse weights, differentiable to any order.

`matmul` and `sampled_matmul` are the two products from which all layers and
gradients are made, `conv` (with `conv_transpose`) and `conv_sampled` the same
of convolutions; `to_dense` and `from_dense` convert. `block_norms` and
`conv_block_norms` tell how much blocks that don't exist yet would help.
"""

from tf_blocksparse.ops._library import (
    build_info,
    library_path,
    xla_library_path,
)
from tf_blocksparse.ops.block_norms import block_norms
from tf_blocksparse.ops.conv import conv
from tf_blocksparse.ops.conv_block_norms import conv_block_norms
from tf_blocksparse.ops.conv_sampled import conv_sampled
from tf_blocksparse.ops.conv_transpose import conv_transpose
from tf_blocksparse.ops.dense import from_dense, to_dense
from tf_blocksparse.ops.edge_bias import edge_bias, edge_bias_patterns
from tf_blocksparse.ops.l2_normalize import l2_normalize
from tf_blocksparse.ops.layout_tensor import LayoutTensor
from tf_blocksparse.ops.matmul import matmul
from tf_blocksparse.ops.sampled_matmul import sampled_matmul

__all__ = [
    "LayoutTensor",
    "block_norms",
    "build_info",
    "conv",
    "conv_block_norms",
    "conv_sampled",
    "conv_transpose",
    "edge_bias",
    "edge_bias_patterns",
    "from_dense",
    "l2_normalize",
    "library_path",
    "matmul",
    "sampled_matmul",
    "to_dense",
    "xla_library_path",
]
