# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Times functions in turns, so that a busy machine is busy for all of them."""

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

# A function that applies an op, and its arguments.
Application = tuple[Callable[..., tf.Tensor], Sequence[tf.Tensor]]

# A call takes tens of microseconds besides the work of its ops.
_CALL_SECONDS = 20e-3
# And a round should be over while the machine is as it was.
_LONGEST_CALL_SECONDS = 0.25
_FEWEST, _MOST = 8, 64  # applications
# Outputs are kept until the last is there.
_OUTPUT_BYTES = 2**28


@dataclasses.dataclass(frozen=True)
class Turn:
    """A function to time.

    Attributes:
      call: does the work and returns its results.
      count: how often a call does the work.
    """

    call: Callable[[], Any]
    count: int = 1

    def seconds(self) -> float:
        """Of the work done once, now."""
        start = time.perf_counter()
        results = self.call()
        seconds = time.perf_counter() - start
        del results  # off the clock
        return seconds / self.count


def use_threads(threads: int) -> None:
    """Sets TensorFlow's threads; only possible before it starts any."""
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def in_graph(
    function: Callable[..., tf.Tensor],
    argument: Callable[[int], Sequence[tf.Tensor]],
    call_seconds: float = _CALL_SECONDS,
    fewest: int = _FEWEST,
) -> Turn:
    """A graph function that applies an op to several inputs, one by one.

    The inputs differ and every output is returned: TensorFlow merges equal ops
    and drops those whose output nobody reads. The inputs are captured, since
    Python spends microseconds on each argument of a call. There are several,
    unless they take longer than a quarter of a second or their outputs more
    than 256 MB: the next input and output are not in the cache, as in a model.

    Args:
      function: applies the op.
      argument: the arguments of the i-th application.
      call_seconds: how long a call should take at least.
      fewest: applications that should be in a call at least.
    """
    single = _concrete([(function, argument(0))])
    first = Turn(single)
    first.seconds()
    seconds = min(first.seconds() for _ in range(2))
    size = sum(each.shape.num_elements() * each.dtype.size for each in single())
    wanted = max(fewest, math.ceil(call_seconds / seconds))
    count = min(
        wanted,
        _MOST,
        max(1, int(_LONGEST_CALL_SECONDS / seconds)),
        max(1, _OUTPUT_BYTES // max(size, 1)),
    )
    return through([(function, argument(i)) for i in range(count)])


def through(
    applications: Sequence[
        tuple[Callable[..., tf.Tensor], Sequence[tf.Tensor]]
    ],
) -> Turn:
    """A graph function that applies each function to its arguments, in turn."""
    return Turn(_concrete(applications), len(applications))


def take(
    turns: Sequence[Turn],
    rounds: int,
    *,
    seconds: float = math.inf,
    between: Callable[[], None] = lambda: None,
) -> list[list[float]]:
    """The times of each turn: one for each round, of the work done once.

    Args:
      turns: taken one after the other, in every round.
      rounds: how many there are.
      seconds: after so many the rounds end, but not before the third.
      between: called after each round.
    """
    for turn in turns:  # fills the caches, and the pools of memory
        turn.seconds()
    times: list[list[float]] = [[] for _ in turns]
    end = time.perf_counter() + seconds
    for done in range(rounds):
        if done >= 3 and time.perf_counter() > end:
            break
        for turn, found in zip(turns, times, strict=True):
            found.append(turn.seconds())
        between()
    return times


def _concrete(
    applications: Sequence[
        tuple[Callable[..., tf.Tensor], Sequence[tf.Tensor]]
    ],
) -> Callable[[], list[tf.Tensor]]:
    # There is nothing for AutoGraph to do, which takes as long as measuring.
    @tf.function(autograph=False)
    def run() -> list[tf.Tensor]:
        outputs: list[tf.Tensor] = []
        for function, arguments in applications:
            with tf.control_dependencies(outputs[-1:]):
                outputs.append(function(*arguments))
        return outputs

    return run.get_concrete_function()
