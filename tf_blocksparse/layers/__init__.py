# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Keras layers with block-sparse weights."""

from tf_blocksparse.layers.block_sparse_conv import (
    BlockSparseConv1D,
    BlockSparseConv2D,
    BlockSparseConv3D,
)
from tf_blocksparse.layers.block_sparse_conv_transpose import (
    BlockSparseConv1DTranspose,
    BlockSparseConv2DTranspose,
    BlockSparseConv3DTranspose,
)
from tf_blocksparse.layers.block_sparse_dense import BlockSparseDense
from tf_blocksparse.layers.block_sparse_einsum_dense import (
    BlockSparseEinsumDense,
)
from tf_blocksparse.layers.block_sparse_multi_head_attention import (
    BlockSparseGroupQueryAttention,
    BlockSparseMultiHeadAttention,
)
from tf_blocksparse.layers.concrete_gate import ConcreteGate
from tf_blocksparse.layers.edge_bias import EdgeBias

__all__ = [
    "BlockSparseConv1D",
    "BlockSparseConv1DTranspose",
    "BlockSparseConv2D",
    "BlockSparseConv2DTranspose",
    "BlockSparseConv3D",
    "BlockSparseConv3DTranspose",
    "BlockSparseDense",
    "BlockSparseEinsumDense",
    "BlockSparseGroupQueryAttention",
    "BlockSparseMultiHeadAttention",
    "ConcreteGate",
    "EdgeBias",
]
