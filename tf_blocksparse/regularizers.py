# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Penalties that make whole blocks small, or zero.

As `kernel_regularizer` of a block-sparse layer, which sees the blocks:

    >>> from tf_blocksparse.layers import BlockSparseDense
    >>> layer = BlockSparseDense(64, kernel_regularizer=GroupLasso(1e-4))

or of a Keras layer that is to become block-sparse:

    >>> regularizer = GroupLasso(1e-4, block_size=16)
    >>> dense = keras.layers.Dense(64, kernel_regularizer=regularizer)
"""

import math
from typing import Any

import keras

from tf_blocksparse import _arguments


@keras.saving.register_keras_serializable(package="tf_blocksparse")
class GroupLasso(keras.regularizers.Regularizer):
    """Penalty on the norm of each block, which drives whole blocks to zero.

    Use it to train a model into blocks that can be left out: what the l1 norm
    does to single weights, this does to blocks. The penalty is

        factor * sum over blocks w of sqrt(n) * ||w||_2

    with n = b_in * b_out, the number of weights of a block; times the taps
    where they share a block. It is computed in float32, or in float64 for
    weights of that dtype. The gradient of a block of zeros is 0.

    Gradient steps make blocks small but hardly ever zero. `proximal` does:
    `callbacks.ProximalStep` applies it after each training step, in place of
    the penalty, and `compact(model, drop_zero=True)` leaves out such blocks.

    Args:
      factor: weight of the penalty, a finite number >= 0.
      block_size: None for block-sparse layers, whose weight is blocks
        `[nnz, b_in, b_out]` or `[nnz, taps, b_in, b_out]` already. For a
        kernel `[..., inputs, outputs]` of a Keras layer one int or the sizes
        along its last two axes, each 1 to 256; blocks at the edge are filled
        up with zeros. A kernel's taps have blocks of their own.
      shared_taps: with `block_size`, whether all taps of a kernel make one
        block.

    Raises:
      ValueError: if an argument is none of these; on call, if the weight has
        less than two axes, or without `block_size` less than three.

    Sources: Yuan and Lin, "Model selection and estimation in regression with
    grouped variables", Journal of the Royal Statistical Society B 68, 2006;
    of blocks: Narang, Undersander and Diamos, arXiv:1711.02782, 2017.

    >>> blocks = keras.ops.convert_to_tensor([[[3.0, 4.0]], [[0.0, 0.0]]])
    >>> float(GroupLasso(0.5)(blocks))  # 0.5 * sqrt(2) * 5
    3.535533905029297
    >>> kernel = keras.ops.ones((4, 4))
    >>> float(GroupLasso(1.0, block_size=2)(kernel))  # 4 * sqrt(4) * 2
    16.0
    """

    def __init__(
        self,
        factor: float = 0.01,
        *,
        block_size: int | tuple[int, int] | None = None,
        shared_taps: bool = False,
    ) -> None:
        advice = "the size of blocks is block_size=..."
        self.factor = _arguments.real(
            "factor", factor, advice, low=0, or_low=True
        )
        self.block_size = (
            None if block_size is None else _arguments.block_size(block_size)
        )
        self.shared_taps = _arguments.flag("shared_taps", shared_taps)

    def __call__(self, x: Any) -> Any:
        """The penalty on blocks, or on a kernel."""
        x = _in_full(keras.ops.convert_to_tensor(x))
        groups = self._groups(x)
        squares = keras.ops.sum(
            keras.ops.square(groups), axis=self._axes(groups)
        )
        # The root's derivative is infinite at 0, also where it isn't taken.
        is_zero = squares == 0
        norms = keras.ops.sqrt(keras.ops.where(is_zero, 1.0, squares))
        norms = keras.ops.where(is_zero, 0.0, norms)
        return self.factor * self._root(groups) * keras.ops.sum(norms)

    def proximal(self, x: Any, step_size: Any = 1.0) -> Any:
        """The proximal operator: the norm of each block falls, to 0 at least.

            w * max(0, 1 - step_size * factor * sqrt(n) / ||w||_2)

        It solves min over v of ||v - w||^2 / 2 + step_size * penalty(v). With
        the learning rate as step size, after a step of gradient descent on the
        loss alone, it minimizes loss plus penalty.

        Args:
          x: blocks or a kernel, as for the penalty.
          step_size: number >= 0, as a rule the learning rate.

        Returns:
          A tensor of x's shape and dtype.

        Source: Parikh and Boyd, "Proximal Algorithms", Foundations and Trends
        in Optimization 1(3), 2014, section 6.5.

        >>> blocks = keras.ops.convert_to_tensor([[[6.0, 8.0]], [[1.0, 1.0]]])
        >>> GroupLasso(5.0 / 2**0.5).proximal(blocks).numpy().round(6).tolist()
        [[[3.0, 4.0]], [[0.0, 0.0]]]
        """
        x = keras.ops.convert_to_tensor(x)
        groups = self._groups(_in_full(x))
        squares = keras.ops.sum(
            keras.ops.square(groups), axis=self._axes(groups), keepdims=True
        )
        limit = keras.ops.cast(step_size, groups.dtype)
        limit = limit * self.factor * self._root(groups)
        # As a comparison, so that what is to be 0 is exactly 0.
        norms = keras.ops.sqrt(squares)
        stays = norms > limit
        scale = 1.0 - limit / keras.ops.where(stays, norms, 1.0)
        scale = keras.ops.where(stays, scale, 0.0)
        return keras.ops.cast(self._ungrouped(groups * scale, x.shape), x.dtype)

    def get_config(self) -> dict[str, Any]:
        """The arguments."""
        return {
            "factor": self.factor,
            "block_size": self.block_size and list(self.block_size),
            "shared_taps": self.shared_taps,
        }

    def _groups(self, x: Any) -> Any:
        """Blocks `[n, ...]`; kernels `[taps, rows, b_in, columns, b_out]`."""
        if self.block_size is None:
            if len(x.shape) < 3:
                raise ValueError(
                    f"x: got a weight of shape {tuple(x.shape)}, expected "
                    "blocks [nnz, b_in, b_out]; for the kernel of a Keras "
                    "layer give block_size to GroupLasso"
                )
            return x
        if len(x.shape) < 2:
            raise ValueError(
                f"x: got a weight of shape {tuple(x.shape)}, expected a kernel "
                "[..., inputs, outputs]; use another regularizer here"
            )
        *taps, inputs, outputs = x.shape
        b_in, b_out = self.block_size
        x = keras.ops.reshape(x, (math.prod(taps), inputs, outputs))
        padding = [(0, 0), (0, -inputs % b_in), (0, -outputs % b_out)]
        x = keras.ops.pad(x, padding)
        _, rows, columns = x.shape
        return keras.ops.reshape(
            x, (-1, rows // b_in, b_in, columns // b_out, b_out)
        )

    def _ungrouped(self, groups: Any, shape: Any) -> Any:
        if self.block_size is None:
            return groups
        taps, rows, b_in, columns, b_out = groups.shape
        full = keras.ops.reshape(groups, (taps, rows * b_in, columns * b_out))
        return keras.ops.reshape(full[:, : shape[-2], : shape[-1]], shape)

    def _root(self, groups: Any) -> float:
        """sqrt(n) for n weights in a block."""
        sizes = [groups.shape[axis] for axis in self._axes(groups)]
        return math.sqrt(math.prod(sizes))

    def _axes(self, groups: Any) -> tuple[int, ...]:
        """The axes of groups that make one block."""
        if self.block_size is None:
            return tuple(range(1, len(groups.shape)))
        return (0, 2, 4) if self.shared_taps else (2, 4)


def _in_full(x: Any) -> Any:
    """In float32, or float64: squares of 16 bits would over- and underflow."""
    if keras.backend.standardize_dtype(x.dtype) == "float64":
        return x
    return keras.ops.cast(x, "float32")
