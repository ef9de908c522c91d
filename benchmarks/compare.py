# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Sets two results of the benchmark side by side, the worst line first.

    python benchmarks/compare.py OLD.json NEW.json

Every line that both have is compared by its suite's time or memory: a ratio
above 1 is slower, or larger, than before. "Dense" is the same ratio of what was
measured in turns with it: where it differs from 1, the machine does, too.
"""

import json
import math
import pathlib
import statistics
from collections.abc import Sequence
from typing import Any

import suites
import table
from absl import app, flags

_SUITES = flags.DEFINE_list("suites", None, "Those to compare; all if not set.")
_WORST = flags.DEFINE_integer(
    "worst", None, "How many lines to show; all if not set.", lower_bound=1
)

# What moves from run to run on the same machine.
_PASSING = ("load_before",)
# What goes without saying.
_USUAL = {
    "x_dtype": "float32",
    "blocks_dtype": "float32",
    "layout": "balanced",
    "transposed": False,
    "strides": 1,
    "dilation": 1,
    "per_tap": False,
    "padding": "same",
}


def main(argv: Sequence[str]) -> None:
    """Prints what differs between the machines, and a table."""
    try:
        if len(argv) != 3:
            raise ValueError(f"got {argv[1:]}, expected OLD.json NEW.json")
        old, new = (read(path) for path in argv[1:])
        unknown = set(_SUITES.value or ()) - set(suites.NAMES)
        if unknown:
            raise ValueError(
                f"--suites: got {', '.join(sorted(unknown))}, expected "
                f"{', '.join(suites.NAMES)}"
            )
        print(compare(old, new, _SUITES.value or suites.NAMES, _WORST.value))
    except ValueError as error:
        raise app.UsageError(str(error)) from None


def read(path: str) -> dict[str, Any]:
    """A result of the benchmark.

    Raises:
      ValueError: if the file is none.
    """
    advice = "give files that make bench has written, see its --output"
    try:
        run = json.loads(pathlib.Path(path).read_text())
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: {error}; {advice}") from None
    if not isinstance(run, dict) or not {"machine", "suites"} <= run.keys():
        raise ValueError(f"{path}: got other JSON; {advice}")
    return run


def compare(
    old: dict[str, Any],
    new: dict[str, Any],
    names: Sequence[str],
    worst: int | None = None,
) -> str:
    """The report on two results."""
    parts = machines(old["machine"], new["machine"])
    if old["rounds"] != new["rounds"]:
        parts.append(f"rounds: {old['rounds']}, now {new['rounds']}")
    rows, ratios, alone = [], [], [0, 0]
    for name in names:
        suite = suites.load(name)
        before, after = (_lines(run, name) for run in (old, new))
        alone[0] += len(before.keys() - after.keys())
        alone[1] += len(after.keys() - before.keys())
        for key in before:
            if key not in after:
                continue
            lines = before[key], after[key]
            ratio = _ratio(lines, suite.METRIC)
            if not math.isfinite(ratio):
                continue
            ratios.append(ratio)
            dense = "-"
            if suite.BASELINE:
                dense = f"{_ratio(lines, suite.BASELINE):.2f}"
            values = [f"{line[suite.METRIC]:.3g}" for line in lines]
            unit = suite.METRIC.rpartition("_")[2]
            rows.append((ratio, [name, *_describe(key), unit, *values, dense]))
    if not rows:
        raise ValueError("the files have no line in common; measure the same")
    rows.sort(key=lambda row: -row[0])
    parts.append(
        f"{len(rows)} lines in both, {alone[0]} only in the old file, "
        f"{alone[1]} only in the new one; new / old on average "
        f"{statistics.geometric_mean(ratios):.3f}, from {min(ratios):.2f} to "
        f"{max(ratios):.2f}."
    )
    titles = ["suite", "line", "threads", "unit", "old", "new", "dense"]
    cells = [[*row, f"{ratio:.2f}"] for ratio, row in rows[:worst]]
    text = "\n".join(parts)
    return f"{text}\n\n{table.table([*titles, 'new / old'], cells, texts=4)}"


def machines(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """A line for everything that is not the same."""
    return [
        f"{name}: {old.get(name, 'unknown')}, now {new.get(name, 'unknown')}"
        for name in dict.fromkeys([*old, *new])
        if name not in _PASSING and old.get(name) != new.get(name)
    ]


def _lines(run: dict[str, Any], name: str) -> dict[str, dict[str, Any]]:
    lines = run["suites"].get(name, {}).get("lines", [])
    return {
        json.dumps([line["case"], line["threads"]], sort_keys=True): line
        for line in lines
    }


def _ratio(lines: Sequence[dict[str, Any]], metric: str) -> float:
    old, new = (line.get(metric, math.nan) for line in lines)
    return float(new / old) if old > 0 else math.nan


def _describe(key: str) -> list[str]:
    """What tells a line from others, in words."""
    case, threads = json.loads(key)
    words = []
    if {"rows", "inputs", "outputs"} <= case.keys():
        sizes = [str(case.pop(k)) for k in ("rows", "inputs", "outputs")]
        words.append("x".join(sizes))
    words += [
        f"{name} {value}"
        for name, value in case.items()
        if _USUAL.get(name) != value
    ]
    return [", ".join(words), str(threads)]


if __name__ == "__main__":
    app.run(main)
