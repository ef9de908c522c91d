# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""How sparse a model is to be at which step of its training.

A schedule is called with a number of training steps, and tells at which of
them something is to be pruned. `callbacks.BlockPruning` takes one:

    >>> schedule = Polynomial(0.0, 0.9, begin_step=0, end_step=1000)
    >>> [step for step in range(301) if schedule.is_due(step)]
    [0, 100, 200, 300]
    >>> round(schedule(300), 4)
    0.5913
"""

import abc
import dataclasses
import math
import numbers
from typing import Any

from tf_blocksparse import _arguments


class Schedule(abc.ABC):
    """What all schedules have in common: they are frozen and have a config."""

    @abc.abstractmethod
    def __call__(self, step: int) -> float:
        """The sparsity, or threshold, for so many finished training steps."""

    @abc.abstractmethod
    def is_due(self, step: int) -> bool:
        """Whether something is to be pruned after so many training steps."""

    @property
    @abc.abstractmethod
    def last_step(self) -> int:
        """The last step that can be due."""

    def get_config(self) -> dict[str, Any]:
        """The arguments, as a dict that JSON can hold."""
        return dataclasses.asdict(self)  # type: ignore[call-overload]

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Schedule":
        """The schedule that `get_config` described."""
        return cls(**config)


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
        _check_steps(self, "begin_step", "end_step")
        _check_positive("power", self.power)
        _check_frequency(self.frequency)

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
        _check_steps(self, "step")

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
        _check_steps(self, "begin_step", "ramp_step", "end_step")
        if self.ramp_slope is None:
            _check_positive("start_slope", self.start_slope, or_zero=True)
            # The class is frozen for everybody else.
            object.__setattr__(self, "ramp_slope", 1.5 * self.start_slope)
        for name in ("start_slope", "ramp_slope"):
            _check_positive(name, getattr(self, name), or_zero=True)
        _check_frequency(self.frequency)

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
        _check_positive("percentile", percentile)
        _check_positive("ramp", ramp, or_zero=True)
        _check_frequency(frequency)
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


def _check_steps(schedule: Any, *names: str) -> None:
    """Raises unless the attributes are steps, each after the one before."""
    low, advice = 0, "count in training steps from 0"
    for name in names:
        _arguments.integer(name, getattr(schedule, name), low, None, advice)
        low = getattr(schedule, name) + 1
        advice = f"it comes after {name}"


def _check_frequency(frequency: object) -> None:
    _arguments.integer(
        "frequency", frequency, 1, None, "100 prunes at each 100th step"
    )


def _check_positive(name: str, value: object, or_zero: bool = False) -> None:
    valid = isinstance(value, numbers.Real) and not isinstance(value, bool)
    number = float(value) if valid else math.nan  # type: ignore[arg-type]
    if not (0 < number < math.inf or (or_zero and number == 0)):
        raise ValueError(
            f"{name}: got {_arguments.shown(value)}, expected a finite number "
            f"{'>=' if or_zero else '>'} 0; give a positive one"
        )
