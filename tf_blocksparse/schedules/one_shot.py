# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Sparsity that is there at once."""

import dataclasses

from tf_blocksparse import _arguments
from tf_blocksparse.schedules._checks import check_steps
from tf_blocksparse.schedules._schedule import Schedule


@dataclasses.dataclass(frozen=True)
class OneShot(Schedule):
    """All at once.

    0 before a step, `sparsity` from there on; due is that step alone.

    Args:
      sparsity: share of all places for blocks that are to be empty.
      step: training step, >= 0.

    Raises:
      ValueError: if an argument is out of range.

    >>> schedule = OneShot(0.9, step=500)
    >>> [schedule(step) for step in (499, 500, 501)]
    [0.0, 0.9, 0.9]
    """

    sparsity: float
    step: int

    def __post_init__(self) -> None:
        _arguments.fraction(
            "sparsity", self.sparsity, "0.9 leaves a tenth of the blocks"
        )
        check_steps(self, "step")

    def __call__(self, step: int) -> float:
        """The sparsity after so many training steps."""
        return float(self.sparsity) if step >= self.step else 0.0

    def is_due(self, step: int) -> bool:
        """Whether something is to be pruned after so many training steps."""
        return step == self.step

    @property
    def last_step(self) -> int:
        """The last step that can be due."""
        return self.step
