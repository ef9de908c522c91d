# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Talks to the program of cc/gpu_check, and to others that answer as it does.

Nothing here waits forever: a kernel may never end, and a driver hang.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from progress import Progress

from gpu.finding import CannotCheckError

CANNOT_RUN = 2
# Of one case, or to begin: far longer than any takes on a GPU.
_LONGEST_SECONDS = 240.0


@dataclasses.dataclass(frozen=True)
class Correctness:
    """What the program found.

    Attributes:
      kernels: how many were checked, those that are chosen counting, too.
      cases: of all of them.
      left_out: cases that there was no time for, at most.
      failures: a line for each kernel that is wrong.
      seed: of the operands.
    """

    kernels: int
    cases: int
    left_out: int
    failures: list[str]
    seed: int


def describe(program: str) -> dict[str, Any]:
    """What CUDA tells of the GPU."""
    try:
        done = subprocess.run(
            [program, "device"],
            capture_output=True,
            text=True,
            timeout=_LONGEST_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise CannotCheckError(
            f"CUDA does not tell of the GPU in {_LONGEST_SECONDS:.0f} seconds: "
            "check nvidia-smi"
        ) from None
    if done.returncode:
        raise CannotCheckError(done.stderr.strip() or f"{program} does not run")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def check(program: str, seed: int, seconds: int, *options: str) -> Correctness:
    """Runs every kernel on its cases.

    Args:
      seed: of the operands.
      seconds: after which each kernel has one case only.
      *options: flags of the program.

    Raises:
      CannotCheckError: if it could not begin.
    """
    command = [program, "correctness", f"--seed={seed}"]
    command += [f"--seconds={seconds}", *options]
    progress = None
    kernels = cases = left_out = 0
    failures = []
    last = "the first one"
    with (
        # A pipe that nobody reads would be full of many wrong kernels' words.
        tempfile.TemporaryFile("w+") as words,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=words, text=True
        ) as process,
        _ended(process, seconds + _LONGEST_SECONDS) as too_long,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            told = json.loads(line)
            if "kernels" in told:
                progress = Progress("checking", max(1, int(told["kernels"])))
            elif "ended" in told:
                failures.append(f"{told['ended']}: nothing ran after that")
            else:
                kernels += 1
                cases += int(told["cases"])
                left_out += int(told["left_out"])
                last = f"the one after {told['kernel']}"
                if told["failure"]:
                    failures.append(f"{told['kernel']}: {told['failure']}")
                if progress:
                    progress()
        process.wait()
        words.seek(0)
        said = words.read().strip()
    if too_long:
        failures.append(f"a kernel did not end: {last}")
    elif process.returncode == CANNOT_RUN:
        raise CannotCheckError(said)
    elif process.returncode and not failures:
        failures.append(
            f"the program ended with {process.returncode} in {last}: {said}"
        )
    return Correctness(kernels, cases, left_out, failures, seed)


class Timer:
    """A running program, which times what it is asked for.

    Attributes:
      dense: what is dense of it; empty if there is nothing.
      reason: why there is nothing, as far as it is known.
    """

    def __init__(
        self, name: str, command: Sequence[str], env: dict[str, str]
    ) -> None:
        self._name = name
        self._process: Any = subprocess.Popen(
            command,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=sys.stderr,
            text=True,
        )
        try:
            told = self._read()
        except CannotCheckError:
            self.__exit__()
            raise
        self.dense: str = told["dense"]
        self.reason: str = told["reason"]

    def ask(self, *words: Any) -> dict[str, Any]:
        """The answer to a line.

        Raises:
          CannotCheckError: if there is none.
        """
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(" ".join(map(str, words)) + "\n")
            self._process.stdin.flush()
        return self._read()

    def __enter__(self) -> "Timer":
        return self

    def __exit__(self, *_: object) -> None:
        with _ended(self._process, _LONGEST_SECONDS):
            self._process.communicate()

    def _read(self) -> dict[str, Any]:
        with _ended(self._process, _LONGEST_SECONDS) as too_long:
            line = self._process.stdout.readline()
        if too_long:
            raise CannotCheckError(f"{self._name} did not answer")
        if not line:
            raise CannotCheckError(f"{self._name} ended early, see above")
        found: dict[str, Any] = json.loads(line)
        return found


def speed(program: str, seed: int, cublas: str | None, samples: int) -> Timer:
    """The program of cc/gpu_check as a timer."""
    command = [program, "speed", f"--seed={seed}", f"--samples={samples}"]
    env = dict(os.environ)
    if cublas:
        command.append(f"--cublas={cublas}")
        # It loads another library, which lies beside it.
        folders = [os.path.dirname(cublas), env.get("LD_LIBRARY_PATH", "")]
        env["LD_LIBRARY_PATH"] = ":".join(filter(None, folders))
    return Timer("gpu_check", command, env)


class DenseConv:
    """PyTorch's convolutions as a Timer whose failures are no failure of ours.

    Attributes:
      dense: by what; empty if there is nothing.
      reason: why there is nothing.
    """

    def __init__(self) -> None:
        path = pathlib.Path(__file__).with_name("dense_conv.py")
        self._timer: Timer | None = None
        self.dense = ""
        try:
            self._timer = Timer(
                path.name, [sys.executable, str(path)], dict(os.environ)
            )
        except CannotCheckError as error:
            self.reason = str(error)
        else:
            self.dense = self._timer.dense
            self.reason = self._timer.reason

    def ask(self, *words: Any) -> dict[str, Any]:
        """The answer to a line, with None for seconds if there is none."""
        assert self._timer is not None
        try:
            return self._timer.ask(*words)
        except CannotCheckError:
            return {"seconds": None, "flops": None, "error": ""}

    def __enter__(self) -> "DenseConv":
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.__exit__()


@contextlib.contextmanager
def _ended(process: Any, seconds: float) -> Iterator[list[bool]]:
    """Kills a process after so long; yields a list that has something then."""
    too_long: list[bool] = []

    def end() -> None:
        too_long.append(True)
        process.kill()

    timer = threading.Timer(seconds, end)
    timer.start()
    try:
        yield too_long
    finally:
        timer.cancel()
