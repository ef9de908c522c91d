# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Sparsity that rises as a polynomial."""

import dataclasses

from tf_blocksparse import _arguments
from tf_blocksparse.schedules._checks import (
    check_frequency,
    check_positive,
    check_steps,
)
from tf_blocksparse.schedules._schedule import Schedule


@dataclasses.dataclass(frozen=True)
class Polynomial(Schedule):
    """Sparsity that rises fast at first, and slowly towards its end.

    Use it to prune a model while it trains: blocks are many at first, and few
    of the rest can be spared.

        s(t) = s_f + (s_i - s_f) * (1 - (t - t_0) / (t_1 - t_0))^power

    from step t_0 = `begin_step`, where it is s_i = `initial_sparsity`, to t_1
    = `end_step`, where it is s_f = `final_sparsity`; 0 before, s_f after.
    Due are `begin_step`, each `frequency`-th step from there, and `end_step`.

    Args:
      initial_sparsity: share of all places for blocks that are empty at first.
      final_sparsity: the same at the end; not less.
      begin_step: training step, >= 0.
      end_step: training step, > `begin_step`.
      power: > 0; 1 is a straight line, 3 the paper's.
      frequency: steps between prunings, >= 1. Time to get over each counts.

    Raises:
      ValueError: if an argument is out of range.

    Source: Zhu and Gupta, "To prune, or not to prune: exploring the efficacy
    of pruning for model compression", arXiv:1710.01878, 2017.

    >>> schedule = Polynomial(0.5, 0.9, begin_step=1000, end_step=3000)
    >>> [round(schedule(step), 3) for step in (0, 1000, 2000, 3000, 4000)]
    [0.0, 0.5, 0.85, 0.9, 0.9]
    """

    initial_sparsity: float
    final_sparsity: float
    begin_step: int
    end_step: int
    power: float = 3
    frequency: int = 100

    def __post_init__(self) -> None:
        advice = "0.9 leaves a tenth of the blocks"
        for name in ("initial_sparsity", "final_sparsity"):
            _arguments.fraction(name, getattr(self, name), advice)
        if self.final_sparsity < self.initial_sparsity:
            raise ValueError(
                f"final_sparsity: got {self.final_sparsity}, expected at least "
                f"initial_sparsity, which is {self.initial_sparsity}; pruned "
                "blocks don't come back: for that, use callbacks.RigL"
            )
        check_steps(self, "begin_step", "end_step")
        check_positive("power", self.power)
        check_frequency(self.frequency)

    def __call__(self, step: int) -> float:
        """The sparsity after so many training steps."""
        if step < self.begin_step:
            return 0.0
        if step >= self.end_step:
            return float(self.final_sparsity)
        span = self.end_step - self.begin_step
        rest = (1.0 - (step - self.begin_step) / span) ** self.power
        # As a mean of both: never above the final one by rounding.
        return self.initial_sparsity * rest + self.final_sparsity * (1.0 - rest)

    def is_due(self, step: int) -> bool:
        """Whether something is to be pruned after so many training steps."""
        if not self.begin_step <= step <= self.end_step:
            return False
        return (
            step == self.end_step
            or (step - self.begin_step) % self.frequency == 0
        )

    @property
    def last_step(self) -> int:
        """The last step that can be due."""
        return self.end_step
