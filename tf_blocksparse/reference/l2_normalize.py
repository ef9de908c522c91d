# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`l2_normalize` of a whole weight."""

from typing import Any

import tensorflow as tf

from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.ops.layout_tensor import LayoutTensor
from tf_blocksparse.reference.dense import from_dense, to_dense


def l2_normalize(
    blocks: Any,
    layout: BlockLayout | LayoutTensor,
    gain: Any = None,
    epsilon: float = 1e-12,
) -> tf.Tensor:
    """Blocks whose outputs have norm 1; see `ops.l2_normalize`.

    >>> layout = BlockLayout([[1, 0], [1, 1]], block_size=1)
    >>> l2_normalize([[[3.0]], [[4.0]], [[5.0]]], layout).numpy().ravel()
    array([0.6, 0.8, 1. ], dtype=float32)
    """
    blocks = tf.convert_to_tensor(blocks)
    taps = blocks.shape[1] if blocks.shape.rank == 4 else layout.taps
    w = to_dense(blocks, layout, kernel_size=taps)
    sums = tf.reduce_sum(w * w, list(range(w.shape.rank - 1)))
    w /= tf.sqrt(tf.maximum(sums, tf.cast(epsilon, w.dtype)))
    return from_dense(w if gain is None else w * gain, layout)
