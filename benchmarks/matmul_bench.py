# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Block-sparse products against TensorFlow's dense ones, on this machine.

For every combination of the flags it times `ops.matmul` (forward and dx) or
`ops.sampled_matmul` (dw) in turns with `tf.matmul` of the same shape and with
the FMA peak, checks the result, and prints the table that the README shows.

    make bench ARGS="--shapes=64x1024x1024 --block_sizes=16,32 --threads=1"
"""

import dataclasses
import itertools
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

import peak
import picture
import table
from absl import app, flags
from case import FEWEST_NUMBERS, PRODUCTS, Case, Measured

RESULTS = pathlib.Path(__file__).resolve().parent / "results"

_SHAPES = flags.DEFINE_list(
    "shapes", "64x4096x4096", "Sizes as ROWSxINPUTSxOUTPUTS."
)
_PRODUCTS = flags.DEFINE_list(
    "products", list(PRODUCTS), "Any of forward, dx, dw."
)
_BLOCK_SIZES = flags.DEFINE_list(
    "block_sizes", "8,16,32,64", "Sides of the square blocks."
)
_SPARSITIES = flags.DEFINE_list(
    "sparsities", "0.9", "Shares of the blocks to leave out."
)
_DTYPES = flags.DEFINE_list(
    "dtypes",
    "float32",
    "Types of x and blocks, or of each, as in float32:bfloat16.",
)
_THREADS = flags.DEFINE_list(
    "threads", "1,2", "Numbers of threads; each is a process of its own."
)
_ROUNDS = flags.DEFINE_integer(
    "rounds", 15, "How often each line is timed.", lower_bound=1
)
_SEED = flags.DEFINE_integer("seed", 1, "Seed of layouts and numbers.")
_OUTPUT = flags.DEFINE_string(
    "output", str(RESULTS / "matmul.json"), "JSON file to write; none if empty."
)
_PICTURE = flags.DEFINE_string(
    "picture", str(RESULTS / "matmul.png"), "Picture to draw; none if empty."
)
_WORKER = flags.DEFINE_bool(
    "worker", False, "Internal: measure one number of threads, print JSON."
)


def cases() -> list[Case]:
    """Every combination of the flags, as the table lists them."""
    found = []
    for shape, product, sparsity, block_size, dtypes in itertools.product(
        _SHAPES.value,
        _PRODUCTS.value,
        _SPARSITIES.value,
        _BLOCK_SIZES.value,
        _DTYPES.value,
    ):
        sizes = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)x([1-9]\d*)", shape)
        if sizes is None:
            raise app.UsageError(
                f"--shapes: got {shape}, expected sizes as in 64x4096x4096"
            )
        if product not in PRODUCTS:
            raise app.UsageError(
                f"--products: got {product}, expected {', '.join(PRODUCTS)}"
            )
        x_dtype, _, blocks_dtype = dtypes.partition(":")
        if product == "dw" and blocks_dtype:
            continue  # its blocks are of x's dtype
        rows, inputs, outputs = map(int, sizes.groups())
        if rows * min(inputs, outputs) < FEWEST_NUMBERS:
            raise app.UsageError(
                f"--shapes: got {shape}, expected rows of at least "
                f"{FEWEST_NUMBERS} numbers together on either side"
            )
        found.append(
            Case(
                rows=rows,
                inputs=inputs,
                outputs=outputs,
                product=product,
                block_size=int(block_size),
                sparsity=float(sparsity),
                x_dtype=x_dtype,
                blocks_dtype=blocks_dtype or x_dtype,
            )
        )
    return found


class Progress:
    """A bar on stderr: drawn over on a terminal, a few lines in a log."""

    def __init__(self, title: str, steps: int) -> None:
        self._title = title
        self._steps = steps
        self._done = 0
        self._shown = -1
        self._terminal = sys.stderr.isatty()

    def __call__(self) -> None:
        """Counts a step."""
        self._done += 1
        part = (100 if self._terminal else 5) * self._done // self._steps
        if part == self._shown:
            return
        self._shown = part
        share = self._done / self._steps
        print(
            f"{self._title} [{'=' * int(40 * share):<40}]{share:5.0%}",
            end="\n" if not self._terminal or share == 1 else "\r",
            file=sys.stderr,
            flush=True,
        )


def measure(threads: int) -> dict[str, Any]:
    """All cases with one number of threads, in this process."""
    # Here, since only the processes that measure need TensorFlow.
    import tensorflow as tf
    import timing

    import tf_blocksparse

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    todo = cases()
    name = f"{threads} thread{'s' * (threads > 1)}"
    progress = Progress(name, len(todo) * _ROUNDS.value)
    lines = []
    with peak.FmaPeak(threads) as fma_peak:
        for case in todo:
            measured = timing.measure(
                case, threads, _ROUNDS.value, _SEED.value, fma_peak, progress
            )
            lines.append(dataclasses.asdict(measured))
        versions = {
            "tensorflow": tf.__version__,
            "tf_blocksparse": tf_blocksparse.__version__,
            "isa": fma_peak.isa,
        }
    return {"machine": {**machine(), **versions}, "lines": lines}


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
    cpu = pathlib.Path("/proc/cpuinfo").read_text()
    told = dict(re.findall(r"^([\w ]+?)\s*: (.*)$", cpu, re.MULTILINE))
    processor = told.get("model name", platform.machine())
    if "model" in told:
        processor += f" (family {told['cpu family']}, model {told['model']})"
    onednn = os.environ.get("TF_ENABLE_ONEDNN_OPTS", "1") != "0"
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "onednn": "on" if onednn else "off",
        "rounds": _ROUNDS.value,
        "flags": sys.argv[1:],
    }


def measure_in_processes() -> dict[str, Any]:
    """A process for each number of threads, which cannot change in one."""
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for threads in _THREADS.value:
            file = pathlib.Path(folder, f"{threads}.json")
            done = subprocess.run(
                [
                    sys.executable,
                    *sys.argv,
                    "--worker",
                    f"--threads={threads}",
                    f"--output={file}",
                ],
                check=False,
            )
            if done.returncode:
                sys.exit(f"error: no result for {threads} threads, see above")
            results.append(json.loads(file.read_text()))
    machine_of_all = {**results[0]["machine"], "flags": sys.argv[1:]}
    lines = [line for result in results for line in result["lines"]]
    return {"machine": machine_of_all, "lines": lines}


def write(result: dict[str, Any], path: str) -> None:
    """Writes JSON, if a path is given."""
    if path:
        pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(path).write_text(json.dumps(result, indent=1) + "\n")


def main(argv: Sequence[str]) -> None:
    """Measures, prints the table, writes JSON and draws."""
    if len(argv) > 1:
        raise app.UsageError(f"got {argv[1:]}, expected flags only")
    cases()  # complains before anything is measured
    if _WORKER.value:
        write(measure(int(_THREADS.value[0])), _OUTPUT.value)
        return
    result = measure_in_processes()
    write(result, _OUTPUT.value)
    measured = [
        Measured(**{**line, "case": Case(**line["case"])})
        for line in result["lines"]
    ]
    print(table.markdown(result["machine"], measured))
    if _PICTURE.value:
        path = pathlib.Path(_PICTURE.value)
        path.parent.mkdir(parents=True, exist_ok=True)
        picture.save(measured, path)


if __name__ == "__main__":
    app.run(main)
