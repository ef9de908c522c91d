# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Checks the CUDA kernels on the GPU of this machine, and times them.

    python benchmarks/gpu_check.py

It needs Python, the CUDA toolkit (nvcc) and a driver, no TensorFlow, and takes
less than five minutes. It compiles a program for this GPU alone; runs every
kernel against float64 on the host, with numbers drawn anew each time, outputs
that begin as NaN and memory around them that nobody may write; runs the ops, if
a TensorFlow sees the GPU; and times the products beside cuBLAS's, if that is
installed with the toolkit, TensorFlow or PyTorch. Each result that is timed is
checked. What there is no time for is named.

Progress goes to stderr, tables in Markdown to stdout, everything to a JSON file
and a picture. It ends with 0 if all is right, with 1 if a result is wrong, and
with 2 if something is missing, with a line for each thing.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import secrets
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import machine
import pictures
import table
from gpu import building, cases, finding, program, report

RIGHT, WRONG, CANNOT_CHECK = 0, 1, 2
RESULTS = pathlib.Path(__file__).resolve().parent / "results"
# Of the whole time, for what comes after the last curve.
_LAST_SECONDS = 5.0


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """What the flags say."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--minutes", type=float, default=5.0, help="all of it takes so long")
    add("--seed", type=int, help="of all numbers; drawn if not given")
    add("--jobs", type=int, help="compilers that run at once")
    add("--step", type=int, default=1, help="every so many-th case is checked")
    add("--only", default="", help="kernels with this in their name")
    add("--plant", default="", help="a kernel to make wrong: it must be found")
    add("--features", type=int, default=4096, help="inputs and outputs")
    for name, values, kind in (
        ("rows", cases.ROWS, int),
        ("products", cases.PRODUCTS, str),
        ("dtypes", cases.DTYPES, str),
        ("block_sizes", cases.BLOCK_SIZES, int),
        ("densities", cases.DENSITIES, float),
    ):
        add(f"--{name}", nargs="+", type=kind, default=list(values))
    add("--cublas", help="a libcublas; looked for if not given")
    add("--samples", type=int, default=5, help="of each time, at least")
    add("--no_ops", action="store_true", help="leaves TensorFlow out")
    add("--output", default=str(RESULTS / "gpu_check.json"))
    add("--pictures", default=str(RESULTS), help="a folder; none if empty")
    add(
        "--emulate",
        action="store_true",
        help="runs on the CPU by an emulator, to test this script; times mean "
        "nothing then. Needs Bazel, no CUDA",
    )
    return parser.parse_args(words)


def check_ops() -> dict[str, Any]:
    """The ops on TensorFlow's GPU, in a process that gives its memory back."""
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
    )
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        words = done.stderr.strip().splitlines()[-1:]
        return {
            "results": 0,
            "failures": [f"op_check.py ended with {done.returncode}: {words}"],
        }
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def run(flags: argparse.Namespace) -> dict[str, Any]:
    """Builds, checks and times.

    Raises:
      CannotCheckError: if something is missing.
    """
    start = time.monotonic()
    seed = secrets.randbits(24) if flags.seed is None else flags.seed
    cublas = flags.cublas
    if flags.emulate:
        path = building.build_emulated()
    else:
        gpu, toolkit = finding.find()
        _tell(f"{gpu.name}, compute capability {gpu.capability / 10}")
        cublas = cublas or finding.find_cublas(toolkit)
        path = building.build(toolkit, gpu.capability, flags.jobs)
    found: dict[str, Any] = {
        "machine": machine.describe(),
        "gpu": program.describe(path),
        "started": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "flags": sys.argv[1:],
        "seed": seed,
    }
    _tell(f"--seed={seed} draws the same numbers")
    options = [f"--step={flags.step}", f"--only={flags.only}"]
    checked = program.check(path, seed, *options, f"--plant={flags.plant}")
    found["correctness"] = dataclasses.asdict(checked)
    skip = "they were not asked for" if flags.no_ops else ""
    if flags.emulate:
        skip = "the emulator is no device of TensorFlow's"
    found["ops"] = {"skipped": skip} if skip else check_ops()
    left = 60 * flags.minutes - (time.monotonic() - start) - _LAST_SECONDS
    with program.Speed(path, seed, cublas, flags.samples) as speed:
        bandwidth = speed.ask("bandwidth")["bytes_per_second"]
        measured = cases.measure(
            cases.curves(
                flags.rows, flags.products, flags.dtypes, flags.block_sizes
            ),
            flags.features,
            flags.densities,
            speed.ask,
            bool(speed.dense),
            left,
        )
        found["dense"] = speed.dense
        found["no_dense"] = speed.reason or (
            "" if speed.dense else "no libcublas was found"
        )
    found["bandwidth"] = bandwidth
    found["suites"] = {"gpu": {"lines": measured.lines}}
    found["left_out"] = [dataclasses.asdict(c) for c in measured.left_out]
    found["seconds"] = round(time.monotonic() - start, 1)
    found["failures"] = [
        *checked.failures,
        *found["ops"].get("failures", []),
        *cases.errors(measured.lines),
        *([measured.ended] if measured.ended else []),
    ]
    return found


def tell(found: dict[str, Any]) -> None:
    """Prints the report."""
    gpu, checked, ops = found["gpu"], found["correctness"], found["ops"]
    lines = found["suites"]["gpu"]["lines"]
    print(f"## {gpu['name']}\n")
    print(
        table.paragraph(
            f"Compute capability {gpu['capability'] / 10:.1f}, "
            f"{gpu['multiprocessors']:.0f} multiprocessors; driver for CUDA "
            f"{_version(gpu['driver'])}, toolkit {_version(gpu['runtime'])}; "
            f"revision {found['machine']['revision']}; copies at "
            f"{found['bandwidth'] / 1e9:.0f} GB/s; seed {found['seed']}; "
            f"{found['seconds']:.0f} seconds."
        )
    )
    print(
        f"\n{checked['kernels']} kernels on {checked['cases']} cases, "
        f"{len(checked['failures'])} of them wrong."
    )
    if "skipped" in ops:
        print(f"No ops were run: {ops['skipped']}.")
    else:
        print(f"{ops['results']} results of ops, {len(ops['failures'])} wrong.")
    if lines:
        _tell_times(found, lines)
    if found["left_out"]:
        print(
            f"\nNo time was left for {len(found['left_out'])} rows of this "
            "table; --minutes gives more."
        )
    for failure in found["failures"]:
        print(f"\nWRONG: {failure}")


def _tell_times(found: dict[str, Any], lines: list[dict[str, Any]]) -> None:
    size = f"{lines[0]['features']} x {lines[0]['features']}"
    if found["no_dense"]:
        print(f"\nThere is no dense product beside: {found['no_dense']}.")
    else:
        print(
            f"\nDensity at which sparse and dense ({found['dense']}) take as "
            f"long, weights of {size}:\n"
        )
        print(report.crossings(lines))
    compared = (
        ""
        if found["no_dense"]
        else " / share of the dense rate / times as fast as dense"
    )
    print(f"\nTFLOP/s / share of the copy bandwidth{compared}:\n")
    print(report.rates(lines, found["bandwidth"]))


def _version(number: float) -> str:
    return f"{number // 1000:.0f}.{number % 1000 // 10:.0f}"


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(words: Sequence[str] | None = None) -> int:
    """Runs all of it and returns how it ends."""
    flags = arguments(words)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found = run(flags)
    except finding.CannotCheckError as error:
        _tell(f"nothing was checked:\n{error}")
        return CANNOT_CHECK
    tell(found)
    if flags.output:
        path = pathlib.Path(flags.output)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found, indent=1) + "\n")
        _tell(f"wrote {path}")
    if flags.pictures:
        pictures.save(found, pathlib.Path(flags.pictures))
    return WRONG if found["failures"] else RIGHT


if __name__ == "__main__":
    sys.exit(main())
