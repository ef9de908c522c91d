# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The ramped threshold of block-sparse RNN pruning."""

import dataclasses

from tf_blocksparse import _arguments
from tf_blocksparse.schedules._checks import (
    check_frequency,
    check_positive,
    check_steps,
)
from tf_blocksparse.schedules._schedule import Schedule


@dataclasses.dataclass(frozen=True)
class Threshold(Schedule):
    """A rising threshold: blocks with only smaller weights are pruned.

    Unlike the sparsity of the other schedules, it lets each layer become as
    sparse as its weights allow. After t training steps a block is pruned if
    its largest absolute weight is less than

        epsilon(t) = theta * (t - start + 1) / frequency           if t < ramp
        epsilon(t) = (theta * (ramp - start + 1)
                      + phi * (t - ramp + 1)) / frequency          else

    with theta = `start_slope`, phi = `ramp_slope`, start = `begin_step` and
    ramp = `ramp_step`. Due are the multiples of `frequency` between
    `begin_step` and `end_step`, both excluded; epsilon is 0 up to the one, and
    stays what it is at the other.

    Args:
      begin_step: training step, >= 0; the paper's start: in the second epoch.
      ramp_step: training step from which the threshold rises faster, >
        `begin_step`; the paper's: at a quarter of all epochs.
      end_step: training step, > `ramp_step`; the paper's: at 20 to 50 % of all
        epochs, so that what remains can be trained.
      start_slope: theta >= 0, what is added each `frequency` steps; see
        `for_weights`.
      ramp_slope: phi >= 0; 1.5 * `start_slope` by default.
      frequency: steps between prunings, >= 1.

    Raises:
      ValueError: if an argument is out of range.

    Source: Narang, Undersander and Diamos, "Block-Sparse Recurrent Neural
    Networks", arXiv:1711.02782, 2017; the formula is that of Narang, Elsen,
    Diamos and Sengupta, "Exploring Sparsity in Recurrent Neural Networks",
    ICLR 2017.

    >>> schedule = Threshold(100, 300, 500, start_slope=0.1, frequency=100)
    >>> [round(schedule(step), 4) for step in (100, 200, 300, 400)]
    [0.0, 0.101, 0.2025, 0.3525]
    >>> [step for step in range(600) if schedule.is_due(step)]
    [200, 300, 400]
    """

    begin_step: int
    ramp_step: int
    end_step: int
    start_slope: float
    ramp_slope: float | None = None
    frequency: int = 100

    def __post_init__(self) -> None:
        check_steps(self, "begin_step", "ramp_step", "end_step")
        if self.ramp_slope is None:
            check_positive("start_slope", self.start_slope, or_zero=True)
            # The class is frozen for everybody else.
            object.__setattr__(self, "ramp_slope", 1.5 * self.start_slope)
        for name in ("start_slope", "ramp_slope"):
            check_positive(name, getattr(self, name), or_zero=True)
        check_frequency(self.frequency)

    @classmethod
    def for_weights(
        cls,
        percentile: float,
        begin_step: int,
        ramp_step: int,
        end_step: int,
        *,
        block_elements: int = 1,
        ramp: float = 1.5,
        frequency: int = 100,
    ) -> "Threshold":
        """The paper's slopes for weights of a known size.

            theta = N^(1/4) * 2 * q * frequency
                    / (2 * (ramp_step - begin_step)
                       + 3 * (end_step - ramp_step))
            phi = ramp * theta

        Args:
          percentile: q > 0, the 90th percentile of the absolute weights of a
            dense model that was trained without pruning.
          begin_step: as above.
          ramp_step: as above.
          end_step: as above.
          block_elements: N, the number of weights of a block, b_in * b_out,
            since the largest of many is larger than one.
          ramp: phi / theta; the paper's are 1.5 to 2.
          frequency: as above.

        Raises:
          ValueError: if an argument is out of range.

        >>> Threshold.for_weights(0.25, 0, 100, 200, block_elements=256,
        ...                       frequency=10)
        ... # doctest: +NORMALIZE_WHITESPACE
        Threshold(begin_step=0, ramp_step=100, end_step=200, start_slope=0.04,
                  ramp_slope=0.06, frequency=10)
        """
        check_positive("percentile", percentile)
        check_positive("ramp", ramp, or_zero=True)
        check_frequency(frequency)
        _arguments.integer(
            "block_elements", block_elements, 1, None, "give b_in * b_out"
        )
        # Checks the steps, too, before their differences are used.
        cls(begin_step, ramp_step, end_step, 0.0)
        span = 2 * (ramp_step - begin_step) + 3 * (end_step - ramp_step)
        slope = block_elements**0.25 * 2 * percentile * frequency / span
        return cls(
            begin_step, ramp_step, end_step, slope, ramp * slope, frequency
        )

    def __call__(self, step: int) -> float:
        """The threshold after so many training steps."""
        step = min(step, self.end_step)
        if step <= self.begin_step:
            return 0.0
        slope = float(self.start_slope)
        if step < self.ramp_step:
            return slope * (step - self.begin_step + 1) / self.frequency
        rise = slope * (self.ramp_step - self.begin_step + 1)
        rise += float(self.ramp_slope or 0.0) * (step - self.ramp_step + 1)
        return rise / self.frequency

    def is_due(self, step: int) -> bool:
        """Whether something is to be pruned after so many training steps."""
        inside = self.begin_step < step < self.end_step
        return inside and step % self.frequency == 0

    @property
    def last_step(self) -> int:
        """The last step that can be due."""
        return self.end_step - 1
