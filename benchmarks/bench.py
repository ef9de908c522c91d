# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Measures what this library promises, on this machine.

Suites, each chosen by --suites: products against TensorFlow's dense ones and
the FMA peak; random cases, none of which should be slower than dense; time over
the number of rows; weights that no cache holds; training steps; layers that are
wider and sparser; the memory of a step; older instruction sets; other
libraries; convolutions against TensorFlow's dense ones, of given and of random
sizes. Prints tables in Markdown on stdout and progress on stderr, and writes
one JSON file and pictures.

Flags other than --suites replace a suite's own sizes. With any of --shapes,
--products, --block_sizes, --sparsities and --dtypes, the suite of products
measures all of their combinations, and what is not given is 64x4096x4096, every
product, blocks of 8 to 64, 0.9 and float32.

    make bench ARGS="--suites=products --shapes=64x1024x1024 --threads=1"
"""

import secrets
import shutil
import subprocess
import sys
from collections.abc import Sequence

import session
import settings as checks
import suites
from absl import app, flags
from settings import LOWER_INSTRUCTION_SET, Settings

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
    "Any of forward, dx, dw (products, never_slower, rows, instruction_sets, "
    "convolutions, conv_never_slower).",
)
_BLOCK_SIZES = flags.DEFINE_list(
    "block_sizes",
    None,
    "Sides of the square blocks (all suites but convolutions).",
)
_SPARSITIES = flags.DEFINE_list(
    "sparsities",
    None,
    "Shares of the blocks to leave out (all suites but convolutions; rows, "
    "cold_weights, training_step and others take the first).",
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
    "most so many; memory twice as many; constant_parameters from five eighths "
    "to five times as many).",
    lower_bound=16,
)
_BATCH = flags.DEFINE_integer(
    "batch",
    128,
    "Rows (training_step, memory; constant_parameters half as many).",
    lower_bound=1,
)
_CASES = flags.DEFINE_integer(
    "cases",
    40,
    "How many to draw (never_slower, conv_never_slower).",
    lower_bound=1,
)
_MEGABYTES = flags.DEFINE_integer(
    "megabytes",
    512,
    "Of weights that rotate (cold_weights).",
    lower_bound=1,
)
_INSTRUCTION_SETS = flags.DEFINE_list(
    "instruction_sets",
    LOWER_INSTRUCTION_SET,
    "avx2, portable, avx512 or neon (instruction_sets).",
)
_OTHER_PYTHON = flags.DEFINE_string(
    "other_python",
    sys.executable,
    "A Python that has other libraries (others).",
)
_OUTPUT = flags.DEFINE_string(
    "output",
    str(session.RESULTS / "bench.json"),
    "JSON file to write; none if empty.",
)
_PICTURES = flags.DEFINE_string(
    "pictures",
    str(session.RESULTS),
    "Folder to draw pictures in; none if empty.",
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
            ("avx2", "portable", "avx512", "neon"),
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


def main(argv: Sequence[str]) -> None:
    """Measures, prints tables, writes JSON and draws."""
    try:
        if len(argv) > 1:
            raise ValueError(f"got {argv[1:]}, expected flags only")
        settings = read_flags()
        session.check(settings)
        if "others" in settings.suites:
            check_other_python(settings.other_python)
    except ValueError as error:
        raise app.UsageError(str(error)) from None
    session.measure(settings, _OUTPUT.value, _PICTURES.value)


if __name__ == "__main__":
    app.run(main)
