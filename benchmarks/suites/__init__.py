# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The parts of `make bench`, a module each, in the order of the report.

A suite has

- `TITLE`: its heading in the report,
- `METRIC` and `BASELINE`: what `compare.py` compares of two lines, less being
  better, and what to compare it with, or None,
- `plan(settings)`: its tasks, without a look at TensorFlow,
- `measure(task, progress)`: the lines of a task, in a process of its own; a
  line is a dict of "case" (a dict that tells it from others), "threads" and
  numbers, or of "skipped" and why,
- `markdown(lines, run)`: its part of the report.
"""

import importlib
from typing import Any

NAMES = (
    "products",
    "never_slower",
    "rows",
    "small_layer",
    "cold_weights",
    "training_step",
    "constant_parameters",
    "memory",
    "instruction_sets",
    "others",
    "convolutions",
    "conv_never_slower",
    "xla",
)


def load(name: str) -> Any:
    """The module of a suite."""
    return importlib.import_module(f"suites.{name}")
