# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Talks to the program of cc/gpu_check."""

import dataclasses
import json
import pathlib
import subprocess
import sys
from typing import Any

from progress import Progress

from gpu.finding import CannotCheckError

CANNOT_RUN = 2


@dataclasses.dataclass(frozen=True)
class Correctness:
    """What the program found.

    Attributes:
      kernels: how many were checked, those that are chosen counting, too.
      cases: of all of them.
      failures: a line for each kernel that is wrong.
      seed: of the operands.
    """

    kernels: int
    cases: int
    failures: list[str]
    seed: int


def describe(program: str) -> dict[str, Any]:
    """What CUDA tells of the GPU."""
    command = [program, "device"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise CannotCheckError(done.stderr.strip() or f"{program} does not run")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def check(program: str, seed: int, *options: str) -> Correctness:
    """Runs every kernel on its cases.

    Args:
      seed: of the operands.
      *options: flags of the program.

    Raises:
      CannotCheckError: if it could not begin.
    """
    command = [program, "correctness", f"--seed={seed}", *options]
    progress = None
    kernels = cases = 0
    failures = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            told = json.loads(line)
            if "kernels" in told:
                progress = Progress("checking", max(1, int(told["kernels"])))
            elif "ended" in told:
                failures.append(f"{told['ended']}: nothing ran after that")
            else:
                kernels += 1
                cases += int(told["cases"])
                if told["failure"]:
                    failures.append(f"{told['kernel']}: {told['failure']}")
                if progress:
                    progress()
        words = process.stderr.read().strip()
    if process.returncode == CANNOT_RUN:
        raise CannotCheckError(words)
    if process.returncode and not failures:
        failures.append(f"the program ended with {process.returncode}: {words}")
    return Correctness(kernels, cases, failures, seed)


class Speed:
    """The running program, which times what it is asked for."""

    def __init__(
        self, program: str, seed: int, cublas: str | None, samples: int
    ) -> None:
        command = [program, "speed", f"--seed={seed}", f"--samples={samples}"]
        if cublas:
            command.append(f"--cublas={cublas}")
        self._name = pathlib.Path(program).name
        self._process: Any = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=sys.stderr,
            text=True,
        )
        told = self._read()
        self.dense: str = told["dense"]
        self.reason: str = told["reason"]

    def ask(self, *words: Any) -> dict[str, Any]:
        """The answer to a line.

        Raises:
          CannotCheckError: if there is none.
        """
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        return self._read()

    def __enter__(self) -> "Speed":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def _read(self) -> dict[str, Any]:
        line = self._process.stdout.readline()
        if not line:
            raise CannotCheckError(f"{self._name} ended early, see above")
        found: dict[str, Any] = json.loads(line)
        return found
