# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What callbacks that move blocks share: when, how many, and their slots."""

import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from tf_blocksparse import _arguments, patterns
from tf_blocksparse.callbacks import _choice, _workers
from tf_blocksparse.callbacks._step_callback import StepCallback, check_built
from tf_blocksparse.conversion import _criteria
from tf_blocksparse.layers import _moving
from tf_blocksparse.layers._block_sparse_layer import BlockSparseLayer
from tf_blocksparse.layout import BlockLayout

Scores = npt.NDArray[Any]


class Regrowth(StepCallback):
    """Drops the lightest blocks of layers and grows as many, again and again.

    A child says by `_scores` where.
    """

    def __init__(
        self,
        *,
        fraction: float,
        frequency: int,
        end_step: int | None,
        seed: int,
        layers: Any,
    ) -> None:
        super().__init__(layers)
        self.fraction = _arguments.fraction(
            "fraction", fraction, "0.3 moves three tenths of the blocks"
        )
        self.frequency = _arguments.integer(
            "frequency", frequency, 1, None, "give a number of steps"
        )
        if end_step is not None:
            advice = "give the step from which on blocks stay"
            end_step = _arguments.integer("end_step", end_step, 1, None, advice)
        self.end_step = end_step
        self.seed = _arguments.integer(
            "seed", seed, 0, None, "it decides what is random"
        )
        self._moving_layers: dict[str, BlockSparseLayer] = {}
        self._has_updated = False

    def _scores(
        self, layers: list[BlockSparseLayer], step: int
    ) -> list[Scores] | None:
        """What a block promises at each place, in the shapes of the masks.

        None leaves everything as it is.
        """
        raise NotImplementedError

    def _begin(self, position: int) -> None:
        self._moving_layers = {
            path: layer
            for path, layer in self._block_sparse_layers()
            if layer.trainable or self.layers is not None
        }
        if not self._moving_layers:
            raise ValueError(
                f"model: got {self.model.name} without a trainable "
                "block-sparse layer, expected at least one; make the model of "
                "tf_blocksparse.layers, or convert it by sparsify"
            )
        for path, layer in self._moving_layers.items():
            check_built(path, layer)
            if not layer.trainable:
                raise ValueError(
                    f"layer {path}: got one that is not trainable, expected a "
                    "trainable one; pass other `layers`"
                )
            if layer.gate is not None:
                raise ValueError(
                    f"layer {path}: got one with a gate, expected none: gates "
                    "take blocks away, which would grow again elsewhere; pass "
                    "`layers` without it, or make a model without by compact"
                )
        end = self.end_step
        if end is not None and position >= end and not self._has_updated:
            warnings.warn(
                f"no block will move: end_step is {end}, and the optimizer has "
                f"done {position} steps; they count from its first one, so add "
                "int(model.optimizer.iterations) to end_step",
                stacklevel=2,
            )

    def _advance(self, before: int, position: int) -> None:
        # By division: several steps may have been done at once.
        if before // self.frequency < position // self.frequency and (
            self.end_step is None or position < self.end_step
        ):
            self._update(position)

    def _update(self, step: int) -> None:
        self._has_updated = True
        layers = [*self._moving_layers.values()]
        share = self._fraction_at(step)
        counts = [round(share * layer.layout.nnz) for layer in layers]
        if not any(counts):
            return
        # All of them, before the first one moves.
        for layer, layout in zip(
            layers, self._layouts(layers, counts, step), strict=True
        ):
            if layout != layer.layout:
                slots = self._slots_of(layer)
                source = layer.set_layout(layout)
                for slot in slots:
                    values = slot.variable.numpy()
                    moved = _moving.move(values, source, slot.initial)
                    slot.variable.assign(moved)

    def _layouts(
        self, layers: list[BlockSparseLayer], counts: list[int], step: int
    ) -> list[BlockLayout]:
        """What the layers are to have, on all workers the same."""
        scores = self._scores(layers, step)
        layouts = [layer.layout for layer in layers]
        if scores is not None:
            layouts = [
                _regrown(path, layer, promised, count)
                for (path, layer), promised, count in zip(
                    self._moving_layers.items(), scores, counts, strict=True
                )
            ]
        own = [layout.packed for layout in layouts]
        return [
            _unpacked(packed, layout)
            for packed, layout in zip(
                _workers.agreed(self._strategy, own), layouts, strict=True
            )
        ]

    def _fraction_at(self, step: int) -> float:
        if self.end_step is None:
            return self.fraction
        wave = math.cos(math.pi * step / self.end_step)
        return self.fraction / 2 * (1 + wave)


def _regrown(
    path: str, layer: BlockSparseLayer, scores: Scores, count: int
) -> BlockLayout:
    layout = layer.layout
    blocks = _criteria.without_padding(layer.blocks.numpy(), layout)
    weights = _criteria.block_scores(blocks, "l2", f"layer {path}")
    inside = patterns.block_diagonal(layout.grid, layer._groups)
    return _choice.regrown(layout, weights, scores, count, inside)


def _unpacked(packed: npt.NDArray[Any], own: BlockLayout) -> BlockLayout:
    """The layout of `packed`, with the sizes of this worker's own."""
    if np.array_equal(packed, own.packed):
        return own
    taps = [] if own.taps is None else [own.taps]
    return BlockLayout.from_packed(packed, (*taps, *own.shape), own.block_size)


def random_scores(shape: tuple[int, ...], *seeds: int) -> Scores:
    """Random numbers, the same on every machine."""
    words = np.random.PCG64(seeds).random_raw(math.prod(shape))
    # As many bits as float64 tells apart.
    return (words >> np.uint64(11)).astype(np.float64).reshape(shape)
