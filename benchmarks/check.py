# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Whether the result of a product is the dense one, within rounding."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from tf_blocksparse import BlockLayout, testing

# Some of every tile; float64 products take their time.
_ROWS = 16
_BLOCKS = 1000
_FLOPS = 2e9


class Oracle:
    """The dense product in float64 of some rows, or of some blocks.

    Always with the first and the last of them, others evenly between.
    """

    def __init__(
        self, product: str, blocks: tf.Tensor, layout: BlockLayout
    ) -> None:
        self._layout = layout
        self._product = product
        if product != "dw":
            dense = layout.to_dense(_float64(blocks))
            self._right = dense.T if product == "dx" else dense
            self._magnitude = abs(self._right)

    def check(self, actual: tf.Tensor, arguments: Sequence[tf.Tensor]) -> None:
        """Raises an AssertionError if a result is not what it should be."""
        if self._product == "dw":
            self._check_blocks(actual, *map(_float64, arguments))
            return
        (left,) = arguments
        chosen = _spread(left.shape[0], _ROWS)
        left = _float64(tf.gather(left, chosen))
        testing.assert_close(
            tf.gather(actual, chosen),
            left @ self._right,
            left.shape[1],
            abs(left) @ self._magnitude,
        )

    def _check_blocks(
        self,
        actual: tf.Tensor,
        a: npt.NDArray[np.float64],
        b: npt.NDArray[np.float64],
    ) -> None:
        height, width = self._layout.block_size
        # Blocks are ordered by output, then by input.
        outputs, inputs = np.nonzero(self._layout.mask.T)
        flops = 4.0 * len(a) * height * width
        most = int(np.clip(_FLOPS / flops, 8, _BLOCKS))
        chosen = _spread(self._layout.nnz, most)
        expected = np.zeros((2, len(chosen), height, width))
        for i, block in enumerate(chosen):
            rows = a[:, inputs[block] * height :][:, :height]
            columns = b[:, outputs[block] * width :][:, :width]
            inside = np.s_[i, : rows.shape[1], : columns.shape[1]]
            expected[0][inside] = rows.T @ columns
            expected[1][inside] = abs(rows.T) @ abs(columns)
        testing.assert_close(
            tf.gather(actual, chosen), expected[0], len(a), expected[1]
        )


def _float64(tensor: tf.Tensor) -> npt.NDArray[np.float64]:
    return np.asarray(tensor, np.float64)


def _spread(count: int, most: int) -> npt.NDArray[np.int64]:
    return np.unique(np.linspace(0, max(count - 1, 0), most, dtype=np.int64))[
        :count
    ]
