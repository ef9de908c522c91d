# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`block_norms`: how large the blocks of a product are, without the product."""

from typing import Any

import tensorflow as tf

from tf_blocksparse import _arguments
from tf_blocksparse.ops import _norms


def block_norms(a: Any, b: Any, block_size: int | tuple[int, int]) -> tf.Tensor:
    """The l2 norm of every block of a^T b, summed over all rows.

    With a layer's inputs and the gradient of its preactivations, the norms of
    the dense weight's gradient: a score for growing blocks where there are
    none. The dense product is made tile by tile, of 1 MiB, and not kept.

    `norms[c, k] = sqrt(sum over block (c, k) of (a^T b)**2)`.

    Not differentiable: the result is a constant to a tape.

    Args:
      a: `[..., inputs]`, float. The number of features must be known when a
        graph is built, the others need not.
      b: `[..., outputs]`, otherwise of a's shape and dtype. Of a and b, what is
        no tensor takes the other's dtype, or float32.
      block_size: one int or `(b_in, b_out)`, each 1 to 256. Features need not
        be multiples of it.

    Returns:
      float32 `[input blocks, output blocks]`. Products and squares are added
      up in float32, of float64 in float64.

    Raises:
      ValueError: if dtypes, known shapes or the block size don't fit.
      tf.errors.InvalidArgumentError: if numbers of rows that are known only
        when the op runs differ.

    >>> a = [[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]]
    >>> b = [[3.0, 4.0], [0.0, 0.0]]
    >>> block_norms(a, b, block_size=(1, 2)).numpy()
    array([[ 5.],
           [ 0.],
           [10.]], dtype=float32)
    """
    size = _arguments.block_size(block_size)
    first, second = _norms.sides(("a", "b"), (a, b), -1)
    rows = first.value.shape[:-1], second.value.shape[:-1]
    if not rows[0].is_compatible_with(rows[1]):
        raise ValueError(
            f"a and b: got shapes {first.value.shape} and "
            f"{second.value.shape}, expected the same but for the last axis; "
            "reshape one of them"
        )
    first, second = map(_as_matrix, (first, second))

    def sample(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
        return tf.matmul(a, b, transpose_a=True)

    return _norms.of_sums([(first, second)], size, 1, sample)[0]


def _as_matrix(side: _norms.Side) -> _norms.Side:
    rows = tf.reshape(side.value, [-1, side.features])
    return side._replace(value=rows)
