# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Products that XLA has compiled, beside TensorFlow's own, dense and sparse.

XLA may run at once what does not depend on each other, so here every product
reads the result of the one before: layers of one size, without activations.
"""

import functools
import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import table
from settings import Settings
from task import Task, threads_title

TITLE = "XLA"
METRIC = "sparse_xla_ms"
BASELINE = "dense_xla_ms"

_LAYERS = 4
_PRODUCTS = ("forward", "gradients")
_BLOCK_SIZES = (8, 16, 32)
_TIMES = ("dense_ms", "dense_xla_ms", "sparse_ms", "sparse_xla_ms")


def plan(settings: Settings) -> list[Task]:
    """A process for each number of threads."""
    work = {
        "rows": (settings.rows or (64,))[0],
        "features": settings.features,
        "sparsity": (settings.sparsities or (0.9,))[0],
        "block_sizes": settings.block_sizes or _BLOCK_SIZES,
    }
    flops = 2.0 * work["rows"] * settings.features**2 * _LAYERS
    tasks = []
    for threads in settings.threads:
        single = flops / (0.5e9 * threads * settings.peak_gflops)
        tasks.append(
            Task(
                suite="xla",
                title=f"xla, {threads_title(threads)}",
                threads=threads,
                work=[work],
                steps=len(_PRODUCTS) * settings.rounds,
                seconds=20 + 12 * single * settings.rounds,
                rounds=settings.rounds,
                seed=settings.seed,
            )
        )
    return tasks


def measure(task: Task, progress: Callable[[], None]) -> list[dict[str, Any]]:
    """A line for each product and block size."""
    import turns

    turns.use_threads(task.threads)
    (work,) = task.work
    lines = []
    for product in _PRODUCTS:
        # Dense and then sparse ones, each outside and inside of XLA.
        pairs = [
            _turns(product, block_size, work, task.seed)
            for block_size in (None, *work["block_sizes"])
        ]
        times = turns.take(
            [turn for pair in pairs for turn in pair],
            task.rounds,
            between=progress,
        )
        ms = [1e3 * statistics.median(each) for each in times]
        for number, block_size in enumerate(work["block_sizes"], 1):
            found = [*ms[:2], *ms[2 * number : 2 * number + 2]]
            lines.append(
                {
                    "case": {
                        "product": product,
                        "block_size": block_size,
                        **{k: work[k] for k in ("rows", "features")},
                        "sparsity": work["sparsity"],
                    },
                    "threads": task.threads,
                    **dict(zip(_TIMES, found, strict=True)),
                }
            )
    return lines


def _turns(
    product: str, block_size: int | None, work: dict[str, Any], seed: int
) -> list[Any]:
    import numpy as np
    import tensorflow as tf
    import turns

    multiply, weights = _weights(block_size, work, seed)
    x = tf.random.stateless_normal(
        [work["rows"], work["features"]], [seed, _LAYERS]
    )

    def forward() -> list[tf.Tensor]:
        return [functools.reduce(multiply, weights, x)]

    def gradients() -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(x)
            (y,) = forward()
        return list(tape.gradient(y, [x, *weights]))

    function = forward if product == "forward" else gradients
    made = [
        tf.function(
            function, autograph=False, jit_compile=compiled
        ).get_concrete_function()
        for compiled in (False, True)
    ]
    for one, other in zip(made[0](), made[1](), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-2, atol=1e-3)
    return [turns.Turn(each, _LAYERS) for each in made]


def _weights(
    block_size: int | None, work: dict[str, Any], seed: int
) -> tuple[Callable[..., Any], list[Any]]:
    """How to multiply by a weight, and the weights of all layers."""
    import tensorflow as tf

    from tf_blocksparse import BlockLayout, ops

    features = work["features"]
    shape: Sequence[int] = (features, features)
    remaining = float(features)
    multiply: Callable[..., Any] = tf.matmul
    if block_size is not None:
        layout = BlockLayout.random(
            shape, block_size, sparsity=work["sparsity"], seed=seed
        )
        shape = layout.blocks_shape
        remaining *= layout.density

        def multiply(x: Any, blocks: Any) -> Any:
            return ops.matmul(x, blocks, layout)

    # Layers keep the size of the numbers.
    return multiply, [
        tf.Variable(
            tf.random.stateless_normal(shape, [seed, layer])
            / math.sqrt(remaining)
        )
        for layer in range(_LAYERS)
    ]


def markdown(lines: Sequence[dict[str, Any]], run: dict[str, Any]) -> str:
    """Milliseconds of a layer, and how many times as long XLA's take."""
    cases: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for line in lines:
        cases.setdefault(tuple(line["case"].values()), []).append(line)
    rows = []
    for found in cases.values():
        case = found[0]["case"]
        rows.append(
            [
                case["product"],
                str(case["block_size"]),
                *(table.slashed(".3g", [e[t] for e in found]) for t in _TIMES),
                table.slashed(
                    ".2f",
                    [
                        each["sparse_xla_ms"] / each["sparse_ms"]
                        for each in found
                    ],
                ),
                table.slashed(
                    ".3g",
                    [
                        each["dense_xla_ms"] / each["sparse_xla_ms"]
                        for each in found
                    ],
                ),
            ]
        )
    case = lines[0]["case"]
    threads = table.threads(dict.fromkeys(line["threads"] for line in lines))
    text = table.paragraph(
        f"Milliseconds of one of {_LAYERS} layers of {case['rows']} x "
        f"{case['features']} x {case['features']} at {case['sparsity']:.0%} "
        f"in a function, {threads}; medians of {run['rounds']} rounds. "
        "`gradients` are forward, dx and dw."
    )
    titles = [
        "product",
        "block",
        "dense",
        "dense, XLA",
        "sparse",
        "sparse, XLA",
        "XLA / plain",
        "speed-up under XLA",
    ]
    return f"{text}\n\n{table.table(titles, rows, texts=1)}"
