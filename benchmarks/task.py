# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What a process is to measure: the unit that suites are cut into.

A number of threads or an environment variable of TensorFlow holds for a whole
process, so each needs one of its own.
"""

import dataclasses
import sys
from typing import Any


@dataclasses.dataclass(frozen=True)
class Task:
    """What one process measures, as JSON can hold it.

    Attributes:
      suite: the name of the suite whose `measure` gets it.
      title: what progress shows.
      threads: what TensorFlow is set to.
      work: the suite's own description of what to measure.
      steps: how often progress will be told of one.
      seconds: how long it will take, about.
      rounds: how often each line is timed.
      seed: of layouts and numbers.
      environment: variables to set.
      python: the Python to run it with.
      programs: paths of the programs of `native`.
    """

    suite: str
    title: str
    threads: int
    work: list[dict[str, Any]]
    steps: int
    seconds: float
    rounds: int
    seed: int
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    python: str = sys.executable
    programs: dict[str, str] = dataclasses.field(default_factory=dict)


def threads_title(threads: int) -> str:
    """The words for a number of threads."""
    return f"{threads} thread{'s' * (threads > 1)}"
