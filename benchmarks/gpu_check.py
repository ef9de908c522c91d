# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Checks the CUDA kernels on the GPU of this machine, and times them.

    python benchmarks/gpu_check.py

It needs Python 3.10 or later, the CUDA toolkit (nvcc) and a driver, no
TensorFlow. It takes five minutes (--minutes), or longer where compiling a
program for this GPU alone, which it does once, takes more than half of them. It
runs every kernel against float64 on the host, with numbers drawn anew each
time, outputs that begin as NaN and memory around them that nobody may write;
runs the ops, if a TensorFlow sees the GPU; and times the products beside
cuBLAS's, if that is installed with the toolkit, TensorFlow or PyTorch, and
convolutions beside cuDNN's, if there is a PyTorch. Each result of a kernel that
is timed is checked. What there is no time for is told.

Progress goes to stderr, tables in Markdown to stdout, everything to a JSON file
and a picture. It ends with 0 if all is right, with 1 if a result is wrong or a
kernel does not end, and with 2 if something is missing, with a line for each
thing.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import secrets
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

import machine
import pictures
from gpu import building, cases, finding, flags, program, report

RIGHT, WRONG, CANNOT_CHECK = 0, 1, 2
# Shares of the whole time: of cases, and of ops, which need as long to begin.
_CASES_SHARE, _OPS_SHARE = 0.4, 0.3
_LEAST_OPS_SECONDS = 60.0
# Of the whole time, however long building takes.
_LEAST_SHARE = 0.5
# For what comes after the last curve.
_LAST_SECONDS = 5.0


def check_ops(seconds: float) -> dict[str, Any]:
    """The ops on TensorFlow's GPU, in a process that gives its memory back."""
    try:
        done = subprocess.run(
            [sys.executable, "benchmarks/gpu/op_check.py"],
            cwd=building.ROOT,
            env={
                **os.environ,
                "PYTHONPATH": str(building.ROOT),
                "TF_FORCE_GPU_ALLOW_GROWTH": "true",
                "TF_CPP_MIN_LOG_LEVEL": "2",
            },
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return _no_results(
            f"op_check.py did not end in {seconds:.0f} seconds; --minutes "
            "gives more, --no_ops leaves it out"
        )
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        words = done.stderr.strip().splitlines()[-1:]
        return _no_results(f"op_check.py ended with {done.returncode}: {words}")
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def _no_results(failure: str) -> dict[str, Any]:
    return {"results": 0, "failures": [failure]}


def time_products(
    asked: Namespace, path: str, seed: int, cublas: str | None, seconds: float
) -> dict[str, Any]:
    """What is timed, with as much of it as there is time for."""
    found: dict[str, Any] = {"bandwidth": None, "failures": []}
    found |= {"dense": "", "no_dense": "", "dense_conv": ""}
    found["no_dense_conv"] = "the emulator is no device of PyTorch's"
    kinds = (asked.products, asked.dtypes, asked.block_sizes)
    first, *others = asked.rows
    wanted = [
        *cases.curves([first], asked.features, 0, *kinds),
        *cases.curves([asked.images], asked.channels, asked.side, *kinds),
        *cases.curves(others, asked.features, 0, *kinds),
    ]
    measured = cases.Measured([], wanted)
    end = time.monotonic() + seconds
    try:
        with contextlib.ExitStack() as stack:
            speed = stack.enter_context(
                program.speed(path, seed, cublas, asked.samples)
            )
            askers = {cases.DENSE: speed.ask} if speed.dense else {}
            found["dense"] = speed.dense
            if not speed.dense:
                found["no_dense"] = speed.reason or "no libcublas was found"
            if not asked.emulate:
                conv = stack.enter_context(program.DenseConv())
                found["dense_conv"] = conv.dense
                found["no_dense_conv"] = conv.reason
                askers |= {cases.DENSE_CONV: conv.ask} if conv.dense else {}
            found["bandwidth"] = speed.ask("bandwidth")["bytes_per_second"]
            measured = cases.measure(
                wanted,
                asked.densities,
                lambda *words: askers.get(words[0], speed.ask)(*words),
                askers,
                end - time.monotonic(),
            )
    except finding.CannotCheckError as error:
        found["failures"].append(str(error))
    found["suites"] = {
        "gpu": {"lines": [x for x in measured.lines if not x["side"]]},
        "gpu_conv": {"lines": [x for x in measured.lines if x["side"]]},
    }
    found["left_out"] = [dataclasses.asdict(c) for c in measured.left_out]
    found["failures"] += cases.errors(measured.lines)
    found["failures"] += [measured.ended] if measured.ended else []
    return found


def run(asked: Namespace) -> dict[str, Any]:
    """Builds, checks and times.

    Raises:
      CannotCheckError: if something is missing.
    """
    start = time.monotonic()
    seed = secrets.randbits(24) if asked.seed is None else asked.seed
    cublas = asked.cublas
    if asked.emulate:
        path = building.build_emulated()
    else:
        gpu, toolkit = finding.find()
        _tell(f"{gpu.name}, compute capability {gpu.capability / 10}")
        cublas = cublas or finding.find_cublas(toolkit)
        path = building.build(toolkit, gpu.capability, asked.jobs)
    built = time.monotonic()
    seconds = max(
        60 * asked.minutes - (built - start), _LEAST_SHARE * 60 * asked.minutes
    )
    found: dict[str, Any] = {
        "machine": machine.describe(),
        "gpu": program.describe(path),
        "started": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "flags": sys.argv[1:],
        "seed": seed,
    }
    _tell(f"--seed={seed} draws the same numbers")
    options = [f"--step={asked.step}", f"--only={asked.only}"]
    checked = program.check(
        path,
        seed,
        int(_CASES_SHARE * seconds),
        *options,
        f"--plant={asked.plant}",
    )
    found["correctness"] = dataclasses.asdict(checked)
    skip = "they were not asked for" if asked.no_ops else ""
    if asked.emulate:
        skip = "the emulator is no device of TensorFlow's"
    found["ops"] = (
        {"skipped": skip}
        if skip
        else check_ops(max(_OPS_SHARE * seconds, _LEAST_OPS_SECONDS))
    )
    left = seconds - (time.monotonic() - built) - _LAST_SECONDS
    found |= time_products(asked, path, seed, cublas, left)
    found["seconds"] = round(time.monotonic() - start, 1)
    failures = [*checked.failures, *found["ops"].get("failures", [])]
    if asked.plant and not any(asked.plant in each for each in failures):
        failures.append(f"{asked.plant} was made wrong, and nobody noticed")
    found["failures"] = failures + found["failures"]
    return found


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(words: Sequence[str] | None = None) -> int:
    """Runs all of it and returns how it ends."""
    asked = flags.read(__doc__, words)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found = run(asked)
    except finding.CannotCheckError as error:
        _tell(f"nothing was checked:\n{error}")
        return CANNOT_CHECK
    print(report.told(found))
    if asked.output:
        path = pathlib.Path(asked.output)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found, indent=1) + "\n")
        _tell(f"wrote {path}")
    if asked.pictures:
        pictures.save(found, pathlib.Path(asked.pictures))
    return WRONG if found["failures"] else RIGHT


if __name__ == "__main__":
    sys.exit(main())
