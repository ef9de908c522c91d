# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Small programs in C++ that tell what the machine can do at this moment.

They are asked between the rounds of a benchmark: what a machine can do moves
with its clock and with what else runs, so a share of it says more about a
kernel than a share of a number from a data sheet.
"""

import pathlib
import subprocess
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = ("fma_peak", "read_bandwidth")


def build() -> dict[str, str]:
    """Builds the programs with Bazel and returns their paths."""
    sys.path.insert(0, str(ROOT / "cc/bazel"))
    import bazel_command

    targets = [f"//cc/benchmarks:{name}" for name in PROGRAMS]
    try:
        bazel = bazel_command.find_bazel()
    except bazel_command.CannotBuildError as error:
        sys.exit(f"error: {error}")
    done = subprocess.run(
        [bazel, "build", *targets], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{done.stderr}error: {bazel} could not build {targets}")
    folder = ROOT / ".bazel/bin/cc/benchmarks"
    return {name: str(folder / name) for name in PROGRAMS}


class Program:
    """A running program that answers each empty line with a number."""

    def __init__(self, path: str, *arguments: int) -> None:
        self._name = pathlib.Path(path).name
        self._process: Any = subprocess.Popen(
            [path, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.greeting = self._read()

    def measure(self) -> float:
        """What it measures now."""
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._read())

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def _read(self) -> str:
        line = self._process.stdout.readline().strip()
        if not line:
            raise RuntimeError(
                f"{self._name}: it ended early, see its line above"
            )
        return line


def fma_peak(path: str, threads: int) -> Program:
    """float32 GFLOP/s of all threads together.

    Its greeting is the instruction set that the library uses here, too.
    """
    return Program(path, threads)


def read_bandwidth(path: str, threads: int, megabytes: int) -> Program:
    """GB/s at which all threads together read so many megabytes."""
    return Program(path, threads, megabytes)
