# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Pruning of blocks while a model trains."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from tf_blocksparse import _arguments, schedules
from tf_blocksparse.callbacks import _workers
from tf_blocksparse.callbacks._step_callback import StepCallback, check_built
from tf_blocksparse.conversion import _criteria, _distribution
from tf_blocksparse.patterns.block_count import keep_count


class BlockPruning(StepCallback):
    """Closes the lightest blocks as training goes on, by a schedule.

    Acts on layers made with `gate="mask"`. On each step that is due, blocks
    are closed until as many are left as the schedule's sparsity says:

        round(places * (1 - sparsity)), at least 1 unless the sparsity is 1

    where `places` are all the places for blocks of the layer's weight, so that
    a layer with sparsity 0.5 has nothing to lose before the schedule is there.
    Of equally heavy blocks the last are closed. With `schedules.Threshold`
    blocks are closed that are lighter than it.

    A closed block stays closed. Its values are set to 0 and its slots of the
    optimizer (moments, accumulators) to what a new one would hold. Forward and
    backward pass skip it at once, so steps become faster; the memory is free
    after `compact`, which can be called between two `fit` or at the end.

    Steps are counted by `optimizer.iterations`, which checkpoints hold as they
    do the gates: training that was interrupted goes on as if it had not been.
    The logs of each epoch get a number `sparsity`, that of all layers at hand.

    Args:
      schedule: one of `schedules`, or a function that gives the sparsity after
        so many steps.
      criterion: what makes a block heavy: "l2", its norm, or "max", its
        largest absolute value. None is "max" for `schedules.Threshold`, as in
        the paper, else "l2".
      scope: "layer" makes each layer as sparse as the schedule says; "global"
        all of them together: the lightest blocks of the model go first, but
        not the last one of a layer, which would cut the model; for "l2" blocks
        of several sizes compare by their root mean square.
      layers: layers, names or patterns of names or paths such as
        "encoder/*"; None is all that have a mask.
      frequency: for a function: steps between prunings; 100 by default.

    Raises:
      ValueError: if an argument is none of these; and from `start` or `fit`,
        if no layer has a mask, or the schedule has ended before.

    Sources: Zhu and Gupta, arXiv:1710.01878, 2017; Narang, Undersander and
    Diamos, arXiv:1711.02782, 2017.

    Example:
    >>> import keras, numpy as np
    >>> from tf_blocksparse import schedules
    >>> from tf_blocksparse.callbacks import BlockPruning
    >>> from tf_blocksparse.layers import BlockSparseDense
    >>> layer = BlockSparseDense(32, block_size=8, sparsity=0.0, gate="mask")
    >>> model = keras.Sequential([layer, keras.layers.Dense(1)])
    >>> model.compile("adam", "mse")
    >>> schedule = schedules.Polynomial(0, 0.75, 0, 8, frequency=2)
    >>> x, y = np.ones((64, 32)), np.ones((64, 1))
    >>> _ = model.fit(x, y, 8, verbose=0, callbacks=[BlockPruning(schedule)])
    >>> int(layer.gate_mask.numpy().sum())
    4

    In a custom loop, call `start` once and `step` after each training step:
    >>> pruner = BlockPruning(schedules.OneShot(0.9, step=9))
    >>> pruner.start(model)
    >>> _ = model.train_on_batch(x, y)
    >>> pruner.step()
    >>> int(layer.gate_mask.numpy().sum())
    2
    """

    def __init__(
        self,
        schedule: schedules.Schedule | Callable[[int], float],
        *,
        criterion: str | None = None,
        scope: str = "layer",
        layers: Any = None,
        frequency: int | None = None,
    ) -> None:
        super().__init__(layers)
        if not callable(schedule):
            raise ValueError(
                f"schedule: got {_arguments.shown(schedule)}, expected one of "
                "tf_blocksparse.schedules, or a function of the step; for a "
                "fixed sparsity use schedules.OneShot(sparsity, step)"
            )
        self.schedule = schedule
        self.by_threshold = isinstance(schedule, schedules.Threshold)
        default = "max" if self.by_threshold else "l2"
        self.criterion = _criteria.check_criterion(criterion or default)
        if scope not in ("layer", "global"):
            raise ValueError(
                f"scope: got {_arguments.shown(scope)}, expected 'layer' or "
                "'global'; 'layer' makes all layers equally sparse"
            )
        self.scope = scope
        if isinstance(schedule, schedules.Schedule):
            if frequency is not None:
                raise ValueError(
                    f"frequency: got {_arguments.shown(frequency)}, expected "
                    "None, since the schedule has its own; give it to the "
                    "schedule"
                )
        else:
            frequency = _arguments.integer(
                "frequency",
                100 if frequency is None else frequency,
                1,
                None,
                "100 prunes at each 100th step",
            )
        self.frequency = frequency
        self._pruned: dict[str, Any] = {}

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Adds the sparsity to the logs."""
        if logs is not None:
            logs["sparsity"] = self.sparsity()

    def sparsity(self) -> float:
        """The share of places without an open block, of all layers at hand.

        Raises:
          ValueError: before `start` or `fit`.
        """
        if not self._pruned:
            raise ValueError(
                "sparsity: got no model yet, expected one; call start(model) "
                "or fit first"
            )
        layers = self._pruned.values()
        count = sum(int(np.sum(_mask(layer))) for layer in layers)
        return 1.0 - count / sum(_places(layer) for layer in layers)

    def _begin(self, position: int) -> None:
        self._pruned = {
            path: layer
            for path, layer in self._block_sparse_layers()
            if layer.gate == "mask"
        }
        if not self._pruned:
            raise ValueError(
                f"model: got {self.model.name} without a layer to prune, "
                "expected block-sparse layers with gate='mask'; convert a "
                "dense model by sparsify(model, 0.0, gate='mask'), and use "
                "keep_gate=True in compact"
            )
        for path, layer in self._pruned.items():
            check_built(path, layer)
        self._check_not_over(position)
        # Once more after a restart, which changes nothing.
        if self._is_due(position):
            self._close(self._masks_to_close(position))

    def _check_not_over(self, position: int) -> None:
        """Raises if the schedule lies in the past and was not followed."""
        if not isinstance(self.schedule, schedules.Schedule):
            return
        last = self.schedule.last_step
        if position <= last or not all(
            np.all(_mask(layer)) for layer in self._pruned.values()
        ):
            return
        # No block is closed, but compact may have taken closed ones away. What
        # a threshold has left can have become lighter since.
        if self.by_threshold:
            was_followed = self.sparsity() > 0
        else:
            was_followed = not self._masks_to_close(last)
        if not was_followed:
            raise ValueError(
                f"schedule: got one that ends with step {last}, expected a "
                f"later one, since the optimizer has done {position} steps and "
                "no block is closed; add int(optimizer.iterations) to the "
                "steps of the schedule, or compile with a new optimizer"
            )

    def _advance(self, before: int, position: int) -> None:
        # The latest of several steps that were done at once.
        for step in range(position, before, -1):
            if self._is_due(step):
                self._close(self._masks_to_close(step))
                return

    def _is_due(self, step: int) -> bool:
        if self.frequency is not None:
            return step % self.frequency == 0
        return self.schedule.is_due(step)  # type: ignore[union-attr]

    def _masks_to_close(self, step: int) -> dict[str, Any]:
        """The new masks, by path, of the layers that lose blocks."""
        limit = self.schedule(step)
        masks = {path: _mask(layer) for path, layer in self._pruned.items()}
        scores = {path: self._scores(path) for path in self._pruned}
        for path, mask in masks.items():
            scores[path][~mask] = -np.inf
        if self.by_threshold:
            kept = {path: each >= limit for path, each in scores.items()}
        elif self.scope == "layer":
            kept = {
                path: _kept(each, _places(self._pruned[path]), limit)
                for path, each in scores.items()
            }
        else:
            places = sum(_places(layer) for layer in self._pruned.values())
            ranking = _distribution.global_ranking(
                [scores[path][mask] for path, mask in masks.items()],
                [limit] * len(masks),
                keep_count(places, limit),
            )
            kept = {path: mask.copy() for path, mask in masks.items()}
            for (path, mask), each in zip(masks.items(), ranking, strict=True):
                kept[path][mask] = each
        own = [mask & kept[path] for path, mask in masks.items()]
        open_masks = _workers.agreed(self._strategy, own)
        return {
            path: is_open
            for (path, mask), is_open in zip(
                masks.items(), open_masks, strict=True
            )
            if np.any(mask & ~is_open)
        }

    def _scores(self, path: str) -> _criteria.Scores:
        layer = self._pruned[path]
        blocks = layer.blocks.numpy()
        return _criteria.block_scores(
            _criteria.without_padding(blocks, layer.layout),
            self.criterion,
            f"layer {path}",
            mean=self.scope == "global" and not self.by_threshold,
        )

    def _close(self, masks: dict[str, Any]) -> None:
        """Assigns masks; what is closed is set to zero, with its slots."""
        for path, mask in masks.items():
            layer = self._pruned[path]
            layer.gate_mask.assign(mask)
            _set_closed(layer.blocks, mask, 0.0)
            for slot in self._slots_of(layer):
                _set_closed(slot.variable, mask, slot.initial)


def _mask(layer: Any) -> Any:
    # A copy: what TensorFlow gives cannot be written.
    return np.array(layer.gate_mask.numpy())


def _places(layer: Any) -> int:
    return _criteria.places(layer.layout, layer._groups)


def _kept(scores: _criteria.Scores, places: int, sparsity: float) -> Any:
    """True for the blocks that stay open; closed ones have score -inf."""
    is_open = scores > -np.inf
    count = keep_count(places, sparsity)
    count = min(count, int(np.count_nonzero(is_open)))
    return _criteria.heaviest(scores, count)


def _set_closed(variable: Any, mask: Any, value: float) -> None:
    ones = (1,) * (len(variable.shape) - 1)
    is_open = keras.ops.convert_to_tensor(mask.reshape(-1, *ones))
    fill = keras.ops.cast(value, variable.dtype)
    variable.assign(keras.ops.where(is_open, variable, fill))
