# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The flags of gpu_check.py."""

import argparse
import pathlib
from collections.abc import Callable, Sequence

from gpu import cases

_RESULTS = pathlib.Path(__file__).resolve().parents[1] / "results"


def read(
    description: str | None, words: Sequence[str] | None = None
) -> argparse.Namespace:
    """What the flags say; ends the program if they say nothing sound."""
    parser = argparse.ArgumentParser(
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "--minutes",
        type=_positive(float),
        default=5.0,
        help="all takes so long, building with it: what there is no time for "
        "is left out; half of it is left however long building takes",
    )
    add("--seed", type=int, help="of all numbers; drawn if not given")
    add("--jobs", type=_positive(int), help="compilers that run at once")
    add(
        "--step",
        type=_positive(int),
        default=1,
        help="every so many-th case is checked",
    )
    add("--only", default="", help="kernels with this in their name")
    add("--plant", default="", help="a kernel to make wrong: it must be found")
    for name, default, text in (
        ("features", 4096, "inputs and outputs of products"),
        ("images", 32, "of convolutions of 3 x 3 pixels"),
        ("side", 14, "of images"),
        ("channels", 256, "of images, in and out"),
    ):
        add(f"--{name}", type=_positive(int), default=default, help=text)
    add("--rows", nargs="+", type=_positive(int), default=list(cases.ROWS))
    for name, values in (
        ("products", cases.PRODUCTS),
        ("dtypes", cases.DTYPES),
    ):
        add(f"--{name}", nargs="+", choices=values, default=list(values))
    add(
        "--block_sizes",
        nargs="+",
        type=_positive(int),
        default=list(cases.BLOCK_SIZES),
    )
    add(
        "--densities",
        nargs="+",
        type=_positive(float),
        default=list(cases.DENSITIES),
    )
    add("--cublas", help="a libcublas; looked for if not given")
    add(
        "--samples",
        type=_positive(int),
        default=5,
        help="of each time, at least",
    )
    add("--no_ops", action="store_true", help="leaves TensorFlow out")
    add("--output", default=str(_RESULTS / "gpu_check.json"))
    add("--pictures", default=str(_RESULTS), help="a folder; none if empty")
    add(
        "--emulate",
        action="store_true",
        help="runs on the CPU by an emulator, to test this script; times mean "
        "nothing then. Needs Bazel, no CUDA",
    )
    flags = parser.parse_args(words)
    for size in flags.block_sizes:
        for name in ("features", "channels"):
            if size > 256 or getattr(flags, name) % size:
                parser.error(
                    f"--block_sizes: got {size}, expected at most 256 and a "
                    f"divisor of --{name}={getattr(flags, name)}"
                )
    if max(flags.densities) > 1:
        parser.error(
            f"--densities: got {max(flags.densities)}, expected at most 1"
        )
    return flags


def _positive(kind: type[int] | type[float]) -> Callable[[str], float]:
    """A type of flags: a number above 0."""

    def read_number(text: str) -> float:
        number = kind(text)
        if number > 0:
            return number
        raise argparse.ArgumentTypeError(f"got {text}, expected more than 0")

    read_number.__name__ = kind.__name__  # for argparse's own complaints
    return read_number
