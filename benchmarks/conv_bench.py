# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Measures block-sparse convolutions against TensorFlow's dense ones.

Those of a text file, with what is promised of them, and random ones, of which
none should be slower than dense: the suites convolutions and conv_never_slower
of `bench.py`. Prints tables in Markdown on stdout and progress on stderr, and
writes one JSON file and a picture.

    python benchmarks/conv_bench.py
    python benchmarks/conv_bench.py --cases=7x7,transposed --rounds=3
    python benchmarks/conv_bench.py --random_cases=50 --suites=conv_never_slower
"""

import secrets
from collections.abc import Sequence

import conv_shapes
import session
import settings as checks
from absl import app, flags
from settings import Settings

_NAMES = ("convolutions", "conv_never_slower")

_SUITES = flags.DEFINE_list(
    "suites",
    None,
    f"Any of {', '.join(_NAMES)}; both if neither this nor --cases is set.",
)
_SHAPES = flags.DEFINE_list(
    "shapes", [conv_shapes.DEFAULT], "Text files of convolutions."
)
_CASES = flags.DEFINE_list(
    "cases",
    None,
    "Parts of the names of those to measure, as in 7x7,1x1,stride; without "
    "random ones, unless --suites asks for these.",
)
_TAPS = flags.DEFINE_list(
    "taps",
    ["shared"],
    f"Any of {', '.join(checks.TAPS)}: whether all taps of a kernel have one "
    "layout, or each its own.",
)
_RANDOM_CASES = flags.DEFINE_integer(
    "random_cases", 25, "How many to draw.", lower_bound=1
)
_PRODUCTS = flags.DEFINE_list("products", None, "Any of forward, dx, dw.")
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
_OUTPUT = flags.DEFINE_string(
    "output",
    str(session.RESULTS / "conv_bench.json"),
    "JSON file to write; none if empty.",
)
_PICTURES = flags.DEFINE_string(
    "pictures",
    str(session.RESULTS),
    "Folder to draw a picture in; none if empty.",
)


def read_flags() -> Settings:
    """The settings that the flags describe.

    Raises:
      ValueError: if a flag says what can't be measured.
    """
    usual = _NAMES if _CASES.value is None else _NAMES[:1]
    seed = _SEED.value
    return Settings(
        suites=checks.names("suites", _SUITES.value, _NAMES) or usual,
        threads=checks.integers("threads", _THREADS.value, 1) or (),
        rounds=_ROUNDS.value,
        seed=secrets.randbits(24) if seed is None else seed,
        products=checks.products("products", _PRODUCTS.value),
        cases=_RANDOM_CASES.value,
        conv_shapes=tuple(_SHAPES.value),
        conv_cases=None if _CASES.value is None else tuple(_CASES.value),
        conv_taps=checks.names("taps", _TAPS.value, checks.TAPS) or (),
    )


def main(argv: Sequence[str]) -> None:
    """Measures, prints tables, writes JSON and draws."""
    try:
        if len(argv) > 1:
            raise ValueError(f"got {argv[1:]}, expected flags only")
        settings = read_flags()
        session.check(settings)
    except ValueError as error:
        raise app.UsageError(str(error)) from None
    session.measure(settings, _OUTPUT.value, _PICTURES.value)


if __name__ == "__main__":
    app.run(main)
