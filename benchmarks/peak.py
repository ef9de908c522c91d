# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The FMA peak of this machine, asked between the rounds of a benchmark.

It moves with the clock and with what else runs, so a share of it says more
about a kernel than a share of a number from a data sheet.
"""

import pathlib
import subprocess
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "cc/bazel"))

import bazel_command  # noqa: E402


class FmaPeak:
    """A program that multiplies and adds in registers when told to."""

    def __init__(self, threads: int) -> None:
        self._process: Any = subprocess.Popen(
            [_build(), str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        # The instruction set that the library uses here, too.
        self.isa = self._read()

    def measure(self) -> float:
        """float32 GFLOP/s of all threads together, now."""
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._read())

    def __enter__(self) -> "FmaPeak":
        return self

    def __exit__(self, *_) -> None:
        self._process.communicate()

    def _read(self) -> str:
        line = self._process.stdout.readline().strip()
        if not line:
            raise RuntimeError("fma_peak: it ended early, see its line above")
        return line


def _build() -> pathlib.Path:
    target = "//cc/benchmarks:fma_peak"
    try:
        bazel = bazel_command.find_bazel()
    except bazel_command.CannotBuildError as error:
        sys.exit(f"error: {error}")
    done = subprocess.run(
        [bazel, "build", target], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{done.stderr}error: {bazel} could not build {target}")
    return ROOT / ".bazel/bin" / target.lstrip("/").replace(":", "/")
