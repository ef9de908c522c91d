# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Measures what this library promises, on this machine.

Suites, each chosen by --suites: products against TensorFlow's dense ones and
the FMA peak; random cases, none of which should be slower than dense; time over
the number of rows; weights that no cache holds; training steps; their memory;
older instruction sets; other libraries. Prints tables in Markdown on stdout and
progress on stderr, and writes one JSON file and pictures.

Flags other than --suites replace a suite's own sizes. With any of --shapes,
--products, --block_sizes, --sparsities and --dtypes, the suite of products
measures all of their combinations, and what is not given is 64x4096x4096, every
product, blocks of 8 to 64, 0.9 and float32.

    make bench ARGS="--suites=products --shapes=64x1024x1024 --threads=1"
"""

import dataclasses
import json
import os
import pathlib
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import machine
import native
import pictures
import runner
import settings as checks
import suites
from absl import app, flags
from settings import Settings
from task import Task

RESULTS = pathlib.Path(__file__).resolve().parent / "results"

_SUITES = flags.DEFINE_list(
    "suites", list(suites.NAMES), f"Any of {', '.join(suites.NAMES)}."
)
_THREADS = flags.DEFINE_list(
    "threads", "1,2", "Numbers of threads; each is a process of its own."
)
_ROUNDS = flags.DEFINE_integer(
    "rounds", 11, "How often each line is timed.", lower_bound=1
)
_SEED = flags.DEFINE_integer(
    "seed",
    None,
    "Seed of layouts, numbers and random cases; drawn if not set.",
    lower_bound=0,
)
_SHAPES = flags.DEFINE_list(
    "shapes",
    None,
    "Sizes as ROWSxINPUTSxOUTPUTS (products, instruction_sets, others).",
)
_PRODUCTS = flags.DEFINE_list(
    "products",
    None,
    "Any of forward, dx, dw (products, never_slower, rows, instruction_sets).",
)
_BLOCK_SIZES = flags.DEFINE_list(
    "block_sizes", None, "Sides of the square blocks (all suites)."
)
_SPARSITIES = flags.DEFINE_list(
    "sparsities",
    None,
    "Shares of the blocks to leave out (all suites; rows, cold_weights, "
    "training_step and others take the first).",
)
_DTYPES = flags.DEFINE_list(
    "dtypes",
    None,
    "Types of x and blocks, or of each, as in float32:bfloat16 (products, "
    "cold_weights).",
)
_ROWS = flags.DEFINE_list(
    "rows", None, "Numbers of rows (never_slower, rows, cold_weights)."
)
_FEATURES = flags.DEFINE_integer(
    "features",
    4096,
    "Inputs and outputs (rows, cold_weights, training_step; never_slower at "
    "most so many; memory twice as many).",
    lower_bound=16,
)
_BATCH = flags.DEFINE_integer(
    "batch", 128, "Rows (training_step, memory).", lower_bound=1
)
_CASES = flags.DEFINE_integer(
    "cases", 40, "How many to draw (never_slower).", lower_bound=1
)
_MEGABYTES = flags.DEFINE_integer(
    "megabytes",
    512,
    "Of weights that rotate (cold_weights).",
    lower_bound=1,
)
_INSTRUCTION_SETS = flags.DEFINE_list(
    "instruction_sets", "avx2", "avx2, portable or avx512 (instruction_sets)."
)
_OTHER_PYTHON = flags.DEFINE_string(
    "other_python",
    sys.executable,
    "A Python that has other libraries (others).",
)
_OUTPUT = flags.DEFINE_string(
    "output", str(RESULTS / "bench.json"), "JSON file to write; none if empty."
)
_PICTURES = flags.DEFINE_string(
    "pictures", str(RESULTS), "Folder to draw pictures in; none if empty."
)


def read_flags() -> Settings:
    """The settings that the flags describe.

    Raises:
      ValueError: if a flag says what can't be measured.
    """
    seed = _SEED.value
    return Settings(
        suites=checks.names("suites", _SUITES.value, suites.NAMES),
        threads=checks.integers("threads", _THREADS.value, 1),
        rounds=_ROUNDS.value,
        seed=secrets.randbits(24) if seed is None else seed,
        shapes=checks.shapes("shapes", _SHAPES.value),
        products=checks.products("products", _PRODUCTS.value),
        block_sizes=checks.integers("block_sizes", _BLOCK_SIZES.value, 1, 256),
        sparsities=checks.fractions("sparsities", _SPARSITIES.value),
        dtypes=checks.dtypes("dtypes", _DTYPES.value),
        rows=checks.integers("rows", _ROWS.value, 1),
        features=_FEATURES.value,
        batch=_BATCH.value,
        cases=_CASES.value,
        megabytes=_MEGABYTES.value,
        instruction_sets=checks.names(
            "instruction_sets",
            _INSTRUCTION_SETS.value,
            ("avx2", "portable", "avx512"),
        ),
        other_python=_OTHER_PYTHON.value,
    )


def check_other_python(python: str) -> None:
    """Raises a ValueError if it can't run the libraries' products."""
    found = shutil.which(python)
    command = [found or python, "-c", "import numpy"]
    if not found or subprocess.run(command, capture_output=True).returncode:
        raise ValueError(
            f"--other_python: got {python}, expected a Python that has NumPy; "
            "name another, or install NumPy there"
        )


def run_suites(
    settings: Settings,
    tasks: dict[str, list[Task]],
    programs: dict[str, str],
    run: dict[str, Any],
) -> None:
    """Runs the tasks, reports each suite when it is done, and fills in run."""
    left = sum(task.seconds for each in tasks.values() for task in each)
    for name in settings.suites:
        start = time.perf_counter()
        lines = []
        for task in tasks[name]:
            tell(f"{task.title}: {minutes(left)} to go")
            result = runner.run(task, programs)
            left -= task.seconds
            lines += result["lines"]
            run["machine"].update(result["versions"])
        run["suites"][name] = {
            "lines": [line for line in lines if "skipped" not in line],
            "skipped": [line for line in lines if "skipped" in line],
            "seconds": round(time.perf_counter() - start, 1),
        }
        report(name, run)
        write(run, _OUTPUT.value)


def report(name: str, run: dict[str, Any]) -> None:
    """Prints a suite's part of the report."""
    suite = suites.load(name)
    result = run["suites"][name]
    print(f"## {suite.TITLE}\n")
    for each in result["skipped"]:
        tell(f"skipped {each['skipped']}: {each['reason']}")
    if result["lines"]:
        print(suite.markdown(result["lines"], run))
    print(flush=True)


def write(run: dict[str, Any], path: str) -> None:
    """Writes JSON, if a path is given."""
    if path:
        pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(path).write_text(json.dumps(run, indent=1) + "\n")


def tell(text: str) -> None:
    """Prints a line of progress."""
    print(text, file=sys.stderr, flush=True)


def minutes(seconds: float) -> str:
    """A duration in words."""
    if seconds < 90:
        return f"about {max(seconds, 1):.0f} seconds"
    return f"about {seconds / 60:.0f} minutes"


def main(argv: Sequence[str]) -> None:
    """Measures, prints tables, writes JSON and draws."""
    try:
        if len(argv) > 1:
            raise ValueError(f"got {argv[1:]}, expected flags only")
        settings = read_flags()
        # Complain before anything is built or measured.
        for name in settings.suites:
            suites.load(name).plan(settings)
        if "others" in settings.suites:
            check_other_python(settings.other_python)
    except ValueError as error:
        raise app.UsageError(str(error)) from None
    described = machine.describe()
    programs = native.build()
    with native.fma_peak(programs["fma_peak"], 1) as peak:
        described["isa"] = peak.greeting
        settings = dataclasses.replace(settings, peak_gflops=peak.measure())
    tasks = {name: suites.load(name).plan(settings) for name in settings.suites}
    run: dict[str, Any] = {
        "machine": described,
        "started": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "flags": sys.argv[1:],
        "settings": dataclasses.asdict(settings),
        "rounds": settings.rounds,
        "seed": settings.seed,
        "suites": {},
    }
    whole = sum(task.seconds for each in tasks.values() for task in each)
    tell(f"{minutes(whole)}; --seed={settings.seed} makes the same layouts")
    if os.getloadavg()[0] > 0.5:
        tell("this machine is busy with other work, too: expect noise")
    run_suites(settings, tasks, programs, run)
    if _PICTURES.value:
        pictures.save(run, pathlib.Path(_PICTURES.value))


if __name__ == "__main__":
    app.run(main)
