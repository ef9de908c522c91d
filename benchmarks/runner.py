# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Runs tasks one after the other, each in a process of its own."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

from task import Task

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_WORKER = pathlib.Path(__file__).resolve().parent / "worker.py"


def run(task: Task, programs: dict[str, str]) -> dict[str, Any]:
    """Returns what a task measured: its "lines", and "versions" of packages.

    Ends the program if the task fails, after it has said why.
    """
    with tempfile.TemporaryDirectory(prefix="bench_") as folder:
        files = [pathlib.Path(folder, name) for name in ("task", "result")]
        whole = dataclasses.replace(task, programs=programs)
        files[0].write_text(json.dumps(dataclasses.asdict(whole)))
        said = pathlib.Path(folder, "said")
        with said.open("w") as said_file:
            done = subprocess.run(
                [task.python, str(_WORKER), *map(str, files)],
                env={**_environment(), **task.environment},
                stdout=sys.stderr,
                # TensorFlow greets each process with some lines.
                stderr=said_file,
                check=False,
            )
        if done.returncode:
            print(said.read_text(), file=sys.stderr)
            sys.exit(f"error: no result of {task.title}, see above")
        result: dict[str, Any] = json.loads(files[1].read_text())
        return result


def _environment() -> dict[str, str]:
    """That of this process, in which this repository's package is found."""
    paths = [os.environ.get("PYTHONPATH"), str(_ROOT)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
