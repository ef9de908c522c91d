# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Wider layers of as many weights: the sparser, the wider.

The table of Gray, Radford and Kingma, "GPU Kernels for Block-Sparse Weights"
(2017): a hidden layer of 2560 is widened up to eight times, at densities that
keep its 6.55 million weights. A layer's time should hardly grow.
"""

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import table
from settings import Settings
from task import Task, threads_title

TITLE = "Constant parameters"
METRIC = "ms"
BASELINE = "narrow_ms"

_BLOCK_SIZES = (16, 32)
# Of the widths 1x to 8x, in per cent, as in the paper.
_DENSITIES = (100, 25.62, 11.25, 6.56, 4.25, 2.71, 1.96, 1.41)
_PASSES = ("forward", "training")
# Times the time of width 1x that no width shall exceed.
MOST = 1.5
# Of the flags, whose defaults are 4096 and 128: 2560 and 64.
_FEATURES_SHARE = 5, 8
_ROWS_SHARE = 1, 2
# Of a pass in each round.
_CALLS = 7


def plan(settings: Settings) -> list[Task]:
    """One process, with the largest number of threads."""
    threads = max(settings.threads)
    features = settings.features * _FEATURES_SHARE[0] // _FEATURES_SHARE[1]
    rows = max(1, settings.batch * _ROWS_SHARE[0] // _ROWS_SHARE[1])
    block_sizes = settings.block_sizes or _BLOCK_SIZES
    flops = 8.0 * rows * features**2 * len(_DENSITIES) * len(block_sizes)
    round_seconds = _CALLS * flops / (0.4e9 * threads * settings.peak_gflops)
    return [
        Task(
            suite="constant_parameters",
            title=f"constant_parameters, {threads_title(threads)}",
            threads=threads,
            work=[
                {"block_size": each, "features": features, "rows": rows}
                for each in block_sizes
            ],
            steps=settings.rounds * len(block_sizes),
            seconds=15 + round_seconds * settings.rounds,
            rounds=settings.rounds,
            seed=settings.seed,
        )
    ]


def measure(task: Task, progress: Callable[[], None]) -> list[dict[str, Any]]:
    """A line for each block size, pass and width."""
    import keras
    import turns

    turns.use_threads(task.threads)
    keras.utils.set_random_seed(task.seed)
    lines = []
    for work in task.work:
        weights = {}
        calls = {}
        for width, percent in enumerate(_DENSITIES, 1):
            layer, calls["forward", width], calls["training", width] = _layer(
                width * work["features"],
                work["rows"],
                work["block_size"],
                percent / 100,
            )
            weights[width] = int(layer.blocks.shape.num_elements())
        times: dict[Any, list[float]] = {key: [] for key in calls}
        for call in calls.values():
            call.seconds()
        for _ in range(task.rounds):
            for key, call in calls.items():
                found = [call.seconds() for _ in range(_CALLS)]
                times[key].append(statistics.median(found))
            progress()
        ms = {key: 1e3 * statistics.median(each) for key, each in times.items()}
        lines += [
            {
                "case": {
                    **work,
                    "pass": name,
                    "width": width,
                    "density": percent / 100,
                },
                "threads": task.threads,
                "weights": weights[width],
                "ms": ms[name, width],
                "narrow_ms": ms[name, 1],
            }
            for name in _PASSES
            for width, percent in enumerate(_DENSITIES, 1)
        ]
    return lines


def _layer(
    features: int, rows: int, block_size: int, density: float
) -> tuple[Any, Any, Any]:
    """A layer, its forward pass, and all of a training step but the update."""
    import tensorflow as tf
    import turns

    from tf_blocksparse.layers import BlockSparseDense

    layer = BlockSparseDense(
        features,
        use_bias=False,
        block_size=block_size,
        sparsity=1 - density,
    )
    layer.build((rows, features))
    x, dy = (tf.random.normal((rows, features), seed=i) for i in (1, 2))

    @tf.function(autograph=False)
    def forward() -> tf.Tensor:
        return layer(x)

    @tf.function(autograph=False)
    def training() -> list[tf.Tensor]:
        sources = [x, *(each.value for each in layer.trainable_variables)]
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x)
        found: list[tf.Tensor] = tape.gradient(y, sources, dy)
        return found

    passes = (
        turns.Turn(f.get_concrete_function()) for f in (forward, training)
    )
    return layer, *passes


def markdown(lines: Sequence[dict[str, Any]], run: dict[str, Any]) -> str:
    """A table of milliseconds and ratios to the width 1x."""
    case = lines[0]["case"]
    worst = max(line["ms"] / line["narrow_ms"] for line in lines)
    text = table.paragraph(
        f"A layer as wide as its input, {case['features']} features and up to "
        f"{len(_DENSITIES)} times as many, no bias, {case['rows']} rows, "
        f"{threads_title(lines[0]['threads'])}; medians of {run['rounds']} "
        "rounds. Training is forward and backward, with all gradients. The "
        f"slowest takes {worst:.2f} times as long as at width 1x; the goal is "
        f"at most {MOST}."
    )
    titles = ["width", "features", "density", "block", "weights, million"]
    for name in _PASSES:
        titles += [f"{name}, ms", "of 1x"]
    cells: dict[Any, list[str]] = {}
    for line in lines:
        case = line["case"]
        row = cells.setdefault(
            (case["block_size"], case["width"]),
            [
                f"{case['width']}x",
                str(case["width"] * case["features"]),
                f"{100 * case['density']:.4g} %",
                str(case["block_size"]),
                f"{line['weights'] / 1e6:.3g}",
            ],
        )
        row += [f"{line['ms']:.3g}", f"{line['ms'] / line['narrow_ms']:.2f}"]
    return f"{text}\n\n{table.table(titles, cells.values(), texts=1)}"
