# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""A callback that acts after training steps, in `fit` and in custom loops."""

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_blocksparse import _arguments, _optimizer_slots
from tf_blocksparse.inspection import _walk
from tf_blocksparse.layers._block_sparse_layer import BlockSparseLayer


class StepCallback(keras.callbacks.Callback):
    """Knows the model, its optimizer and how many steps have been trained.

    That number is the optimizer's `iterations`, which is part of checkpoints.
    A child says in `_begin` what is to be done before the first step, and in
    `_advance` what after steps, of which there are several at once where
    `steps_per_execution` is more than 1.
    """

    def __init__(self, layers: Any = None) -> None:
        super().__init__()
        if isinstance(layers, (str, keras.layers.Layer)):
            layers = [layers]
        if layers is not None and not np.iterable(layers):
            raise ValueError(
                f"layers: got {_arguments.shown(layers)}, expected layers, or "
                "patterns of names such as 'dense*'; leave it out for all"
            )
        self.layers = None if layers is None else list(layers)
        self.optimizer: Any = None
        self._strategy: Any = None
        self._position: int | None = None
        self._has_begun = False
        self._is_first_batch = False
        self._slots: dict[int, list[_optimizer_slots.Slot]] | None = None

    def start(
        self,
        model: Any,
        optimizer: Any = None,
        loss: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        """Takes a model, before the first step of a custom training loop.

        `fit` does so by itself.

        Args:
          model: a Keras model or layer.
          optimizer: the Keras optimizer that trains it; by default that with
            which the model was compiled. Its `iterations` counts the steps.
          loss: for `RigL`; not needed here.

        Raises:
          ValueError: if there is no optimizer, or the model has no layer to
            act on.
        """
        optimizer = optimizer or getattr(model, "optimizer", None)
        if optimizer is None:
            raise ValueError(
                "optimizer: got None and a model that was not compiled, "
                "expected the optimizer that trains it; pass it to start"
            )
        self.set_model(model)
        self.optimizer = _optimizer_slots.innermost(optimizer)
        # Of variables, since a layer knows no strategy, while a model does; not
        # of `iterations`, which is computed where gradients are accumulated.
        self._strategy = getattr(
            self.optimizer.variables[0].value,
            "distribute_strategy",
            tf.distribute.get_strategy(),
        )
        self._position = self._iterations()
        self._slots = None
        # A model that is built by its first step has no weights yet.
        layers = [model, *(layer for _, layer in _walk.walk(model))]
        self._has_begun = all(layer.built for layer in layers)
        if self._has_begun:
            self._begin(self._position)

    def step(
        self, x: Any = None, y: Any = None, sample_weight: Any = None
    ) -> None:
        """Acts after a training step of a custom loop.

        Args:
          x: the batch, for `RigL`; not needed here, but a loop may pass it to
            whichever callback it has.
          y: as x.
          sample_weight: as x.

        Raises:
          ValueError: if `start` was not called before.
        """
        if self._position is None:
            raise ValueError(
                "step: got no model, expected one; call start(model, "
                "optimizer) before the first step"
            )
        if not self._has_begun:
            self._has_begun = True
            self._begin(self._position)
        position = self._iterations()
        if position > self._position:
            before, self._position = self._position, position
            self._advance(before, position)

    def on_train_begin(self, logs: Any = None) -> None:
        """Starts with the model that `fit` trains."""
        self.start(self.model)
        self._is_first_batch = True

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Counts from here: callbacks have restored what they restore."""
        if self._is_first_batch:
            self._is_first_batch = False
            self._position = self._iterations()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Acts after the steps of this batch."""
        self.step()

    def _begin(self, position: int) -> None:
        """To be done before the first step; `position` are finished."""
        raise NotImplementedError

    def _advance(self, before: int, position: int) -> None:
        """To be done after steps: there were `before`, now `position`."""
        raise NotImplementedError

    def _iterations(self) -> int:
        return int(self.optimizer.iterations.numpy())

    def _slots_of(self, layer: BlockSparseLayer) -> list[_optimizer_slots.Slot]:
        """Those that have a number for each number of the blocks."""
        if not self.optimizer.built:
            return []
        if self._slots is None:  # they take long to find
            self._slots = {}
            for part in _optimizer_slots.parts(self.optimizer):
                variables = _optimizer_slots.trained(part)
                found = _optimizer_slots.slots(part, variables)
                self._slots.update(zip(map(id, variables), found, strict=True))
        slots = self._slots.get(id(layer.blocks), [])
        return [slot for slot in slots if slot.is_like_variable]

    def _block_sparse_layers(self) -> Iterator[tuple[str, BlockSparseLayer]]:
        """(path, layer) of each that was asked for, or of all."""
        found = {
            path: layer
            for path, layer in _walk.walk(self.model)
            if isinstance(layer, BlockSparseLayer)
        }
        if self.layers is None:
            yield from found.items()
            return
        for each in self.layers:
            if not any(_is_meant(each, *item) for item in found.items()):
                raise ValueError(
                    f"layers: got {_arguments.shown(each)}, expected one of "
                    f"the model's block-sparse layers, which are {[*found]}; "
                    "give layers, or patterns of names such as 'dense*'"
                )
        for item in found.items():
            if any(_is_meant(each, *item) for each in self.layers):
                yield item


def check_built(path: str, layer: BlockSparseLayer) -> None:
    """Raises if a layer has no weights yet."""
    if not layer.built:
        raise ValueError(
            f"layer {path}: got one that is not built, expected one with "
            "weights; call the model on an input first, or pass other `layers`"
        )


def _is_meant(each: Any, path: str, layer: Any) -> bool:
    if isinstance(each, str):
        return fnmatchcase(path, each) or fnmatchcase(layer.name, each)
    return each is layer
