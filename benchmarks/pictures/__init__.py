# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Draws what was measured; each module draws one picture of a run."""

import importlib
import pathlib
import sys
from typing import Any

# Each has `draw(run)`, which returns a figure, or None where the run
# has too little for a picture.
NAMES = (
    "speed_up",
    "sparsity",
    "peak",
    "rows",
    "constant_parameters",
    "convolutions",
    "gpu",
)


def save(run: dict[str, Any], folder: pathlib.Path) -> None:
    """Writes every picture that a run has the numbers for.

    Says that there are no pictures where matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError:
        print(
            f"no pictures in {folder}: run `pip install matplotlib` for some",
            file=sys.stderr,
        )
        return
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    for name in NAMES:
        figure = importlib.import_module(f"pictures.{name}").draw(run)
        if figure is not None:
            folder.mkdir(parents=True, exist_ok=True)
            figure.savefig(folder / f"{name}.png", dpi=100)
            plt.close(figure)
            print(f"wrote {folder / name}.png", file=sys.stderr)


def lines(run: dict[str, Any], suite: str) -> list[dict[str, Any]]:
    """The lines of a suite; none if it was not run."""
    found: list[dict[str, Any]] = run["suites"].get(suite, {}).get("lines", [])
    return found


def panels(rows: int, columns: int, height: float, **shared: bool) -> Any:
    """A figure and its axes, as rows of panels that are `height` inches high.

    Args:
      **shared: `sharex`, `sharey` of `matplotlib.pyplot.subplots`.
    """
    import matplotlib.pyplot as plt

    return plt.subplots(
        rows,
        columns,
        figsize=(1 + 4.5 * columns, 1 + height * rows),
        squeeze=False,
        layout="constrained",
        **shared,
    )
