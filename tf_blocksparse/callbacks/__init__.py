# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Keras callbacks that change, or show, block-sparse layers during training."""

from tf_blocksparse.callbacks.block_pruning import BlockPruning
from tf_blocksparse.callbacks.layout_images import LayoutImages
from tf_blocksparse.callbacks.proximal_step import ProximalStep
from tf_blocksparse.callbacks.rigl import RigL
from tf_blocksparse.callbacks.set import SET

__all__ = ["SET", "BlockPruning", "LayoutImages", "ProximalStep", "RigL"]
