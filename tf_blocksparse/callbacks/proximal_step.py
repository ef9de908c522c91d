# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Group lasso by proximal steps: blocks become zero while a model trains."""

from typing import Any

import keras

from tf_blocksparse import _arguments
from tf_blocksparse.callbacks._step_callback import StepCallback, check_built
from tf_blocksparse.regularizers import GroupLasso


class ProximalStep(StepCallback):
    """Shrinks each block after each training step, light ones to zero.

    Use it in place of `kernel_regularizer=GroupLasso(...)`: gradients of that
    penalty make blocks small, this makes them exactly zero, so that
    `compact(model, drop_zero=True)` leaves them out. After each step

        blocks = regularizer.proximal(blocks, step_size)

    for all block-sparse layers that are trained, with the optimizer's learning
    rate as step size: proximal gradient descent, if the optimizer is SGD. With
    others, such as Adam, it is the same shrinking beside their steps, as
    decoupled weight decay is. Where `fit` does several steps at once, one
    shrinking follows them, with as many times the step size.

    A zero block is not closed: it can grow again. The logs of each epoch get a
    number `zero_blocks`, the share of the layers' blocks that are zero.

    Args:
      regularizer: `regularizers.GroupLasso` without `block_size`.
      layers: layers, names or patterns of names or paths; None is all.
      step_size: number >= 0; None is the learning rate.

    Raises:
      ValueError: if an argument is none of these; and from `start` or `fit`,
        if there is no layer, or one has a `GroupLasso` penalty, too.

    Source: Parikh and Boyd, "Proximal Algorithms", 2014, section 4.2.

    Example:
    >>> import keras, numpy as np
    >>> from tf_blocksparse import callbacks, layers, regularizers
    >>> layer = layers.BlockSparseDense(32, block_size=8, sparsity=0.0)
    >>> model = keras.Sequential([keras.Input((32,)), layer])
    >>> model.compile("sgd", "mse")
    >>> x, y = np.ones((64, 32)), np.zeros((64, 32))
    >>> step = callbacks.ProximalStep(regularizers.GroupLasso(3.0))
    >>> history = model.fit(x, y, epochs=4, verbose=0, callbacks=[step])
    >>> history.history["zero_blocks"][-1]
    1.0
    """

    def __init__(
        self,
        regularizer: GroupLasso,
        *,
        layers: Any = None,
        step_size: float | None = None,
    ) -> None:
        super().__init__(layers)
        if (
            not isinstance(regularizer, GroupLasso)
            or regularizer.block_size is not None
        ):
            raise ValueError(
                f"regularizer: got {_arguments.shown(regularizer)}, expected "
                "GroupLasso(factor) without block_size; layers have blocks"
            )
        self.regularizer = regularizer
        if step_size is not None:
            advice = "None is the learning rate"
            step_size = _arguments.real(
                "step_size", step_size, advice, low=0, or_low=True
            )
        self.step_size = step_size
        self._shrunk: list[Any] = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Adds the share of zero blocks to the logs."""
        if logs is not None:
            logs["zero_blocks"] = self.zero_blocks()

    def zero_blocks(self) -> float:
        """The share of the layers' blocks that are zero."""
        zero = [_is_zero(layer.blocks).numpy() for layer in self._shrunk]
        return float(sum(each.sum() for each in zero)) / max(
            sum(each.size for each in zero), 1
        )

    def _begin(self, position: int) -> None:
        if self.step_size is None and hasattr(self.optimizer, "optimizers"):
            raise ValueError(
                f"step_size: got None and {self.optimizer.name}, which has "
                "several learning rates, expected a number; give step_size"
            )
        self._shrunk = []
        for path, layer in self._block_sparse_layers():
            check_built(path, layer)
            if not layer.blocks.trainable:
                continue
            if isinstance(layer.kernel_regularizer, GroupLasso):
                raise ValueError(
                    f"layer {path}: got kernel_regularizer=GroupLasso, "
                    "expected none, since ProximalStep takes its place; leave "
                    "one of them out"
                )
            self._shrunk.append(layer)
        if not self._shrunk:
            raise ValueError(
                f"model: got {self.model.name} without a block-sparse layer "
                "to train, expected one; convert a dense model by "
                "sparsify(model, 0.0, skip_unprofitable=False)"
            )

    def _advance(self, before: int, position: int) -> None:
        step_size = self.step_size
        if step_size is None:
            step_size = self.optimizer.learning_rate
        step_size = keras.ops.cast(step_size, "float32") * (position - before)
        for layer in self._shrunk:
            blocks = layer.blocks
            blocks.assign(self.regularizer.proximal(blocks, step_size))


def _is_zero(blocks: Any) -> Any:
    axes = tuple(range(1, len(blocks.shape)))
    return keras.ops.logical_not(keras.ops.any(blocks, axis=axes))
