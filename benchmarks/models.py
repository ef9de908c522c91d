# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The models whose training is measured."""

import keras
import numpy as np
import tensorflow as tf

from tf_blocksparse.layers import BlockSparseDense

_OUTPUTS = 16


def make(
    features: int, hidden: int, block_size: int | None, sparsity: float
) -> keras.Model:
    """Hidden layers as wide as the input, and a small dense one.

    Args:
      features: of the input and of each hidden layer.
      hidden: how many hidden layers there are.
      block_size: of block-sparse layers; None makes dense ones.
      sparsity: share of the blocks that is left out.
    """

    def layer() -> keras.layers.Layer:
        if block_size is None:
            return keras.layers.Dense(features, "relu")
        return BlockSparseDense(
            features, "relu", block_size=block_size, sparsity=sparsity
        )

    return keras.Sequential(
        [
            keras.Input((features,)),
            *(layer() for _ in range(hidden)),
            keras.layers.Dense(_OUTPUTS),
        ]
    )


def examples(count: int, features: int) -> tuple[tf.Tensor, tf.Tensor]:
    """What there is to learn: nothing."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((count, features), np.float32)
    y = rng.standard_normal((count, _OUTPUTS), np.float32)
    return tf.constant(x), tf.constant(y)
