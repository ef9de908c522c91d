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

from tf_blocksparse.schedules._schedule import Schedule
from tf_blocksparse.schedules.one_shot import OneShot
from tf_blocksparse.schedules.polynomial import Polynomial
from tf_blocksparse.schedules.threshold import Threshold

__all__ = ["OneShot", "Polynomial", "Schedule", "Threshold"]
