# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`SET`: blocks move to random places during training."""

from typing import Any

from tf_blocksparse.callbacks._regrowth import Regrowth, Scores, random_scores
from tf_blocksparse.layers._block_sparse_layer import BlockSparseLayer


class SET(Regrowth):
    """Moves the lightest blocks to random places, every so many steps.

    Sparse evolutionary training: the layout takes part in learning while the
    number of blocks, and so the time of a step, stays as it is. Nothing is
    traced anew. It needs no data; `RigL` asks the gradient for places.

    At step t, if it is a multiple of `frequency` before `end_step`, in each
    layer the `round(f(t) * nnz)` blocks with the smallest l2 norm are dropped,
    and as many grow at random among the empty places, those of the blocks just
    dropped included, with

        f(t) = fraction / 2 * (1 + cos(pi * t / end_step))

    or, without `end_step`, f(t) = fraction. Blocks that were not there before
    start at zero, as do an optimizer's numbers for them (Adagrad's at their
    first value); a block that grows where it was dropped is as it was. Blocks
    of groups stay inside of their groups.

    With `steps_per_execution`, blocks move after executions with such a step.
    Steps are counted by the optimizer's `iterations`, and randomness depends
    on the seed, the step and the layer: a training that goes on from a file
    with the optimizer does as one that was not interrupted. Put it before
    callbacks that save. In a loop of one's own, call `start(model)` first and
    `step()` after each training step.

    Args:
      fraction: share of the blocks that move, 0 to 1.
      frequency: steps from one update to the next.
      end_step: the step from which on blocks stay; None for no end.
      seed: integer >= 0.
      layers: layers, names or patterns of names or paths such as
        "encoder/*"; None is all that are trainable.

    Raises:
      ValueError: if an argument is out of range or, when the training starts,
        if there are no layers, or one has a gate.

    Source: Mocanu et al., Scalable training of artificial neural networks with
    adaptive sparse connectivity inspired by network science (2018); the
    decreasing fraction is that of `RigL`.

    >>> import keras
    >>> import numpy as np
    >>> from tf_blocksparse.layers import BlockSparseDense
    >>> model = keras.Sequential([
    ...     keras.Input((64,)),
    ...     BlockSparseDense(64, "relu", block_size=8, sparsity=0.75, seed=0),
    ...     keras.layers.Dense(1),
    ... ])
    >>> model.compile("adam", "mse")
    >>> before = model.layers[0].layout
    >>> x, y = np.ones((96, 64)), np.ones((96, 1))
    >>> evolution = SET(frequency=2, end_step=10, seed=1)
    >>> history = model.fit(x, y, callbacks=[evolution], verbose=0)
    >>> model.layers[0].layout == before
    False
    >>> model.layers[0].layout.nnz == before.nnz
    True
    """

    def __init__(
        self,
        *,
        fraction: float = 0.3,
        frequency: int = 100,
        end_step: int | None = None,
        seed: int = 0,
        layers: Any = None,
    ) -> None:
        super().__init__(
            fraction=fraction,
            frequency=frequency,
            end_step=end_step,
            seed=seed,
            layers=layers,
        )

    def _scores(
        self, layers: list[BlockSparseLayer], step: int
    ) -> list[Scores]:
        return [
            random_scores(layer.layout.mask.shape, self.seed, step, index)
            for index, layer in enumerate(layers)
        ]
