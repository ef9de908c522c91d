# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Measures one task in a process of its own; `bench.py` starts it.

    python worker.py TASK.json RESULT.json

It needs no more than Python itself: other libraries are measured in an
environment that may have neither TensorFlow nor absl.
"""

import importlib
import importlib.metadata
import json
import pathlib
import sys

from progress import Progress
from task import Task

_PACKAGES = (
    "tensorflow",
    "tensorflow_cpu",
    "keras",
    "numpy",
    "torch",
    "scipy",
    "mkl",
    "sparse_dot_mkl",
)


def versions() -> dict[str, str]:
    """Of the packages here that were imported."""
    found = {}
    for name in _PACKAGES:
        if name.removesuffix("_cpu") in sys.modules or name == "mkl":
            try:
                version = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                continue
            found[name.removesuffix("_cpu")] = version
    if ours := sys.modules.get("tf_blocksparse"):
        found["tf_blocksparse"] = ours.__version__
    return found


def main(task_file: str, result_file: str) -> None:
    """Reads a task, writes the lines of the result."""
    task = Task(**json.loads(pathlib.Path(task_file).read_text()))
    suite = importlib.import_module(f"suites.{task.suite}")
    lines = suite.measure(task, Progress(task.title, task.steps))
    result = {"lines": lines, "versions": versions()}
    pathlib.Path(result_file).write_text(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
