# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Keras layers with block-sparse weights."""

from tf_blocksparse.layers.block_sparse_dense import BlockSparseDense

__all__ = ["BlockSparseDense"]
