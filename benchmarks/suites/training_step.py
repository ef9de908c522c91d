# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Training steps of two hidden layers: dense against sparse, in turns.

Steps of Keras's `fit` with two optimizers, and the forward and backward pass
alone: in a dense layer, much of a step is the optimizer's.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import table
from settings import Settings
from task import Task, threads_title

TITLE = "Training step"
METRIC = "sparse_ms"
BASELINE = "dense_ms"

_BLOCK_SIZES = (16, 32)
_HIDDEN = 2
_STEPS = ("fit, Adam", "fit, SGD", "forward and backward")
# Of a call of fit; the first prepares and is off the clock.
_BATCHES = 5


def plan(settings: Settings) -> list[Task]:
    """One process, with the largest number of threads."""
    threads = max(settings.threads)
    work = [
        {
            "step": step,
            "features": settings.features,
            "batch": settings.batch,
            "sparsity": (settings.sparsities or (0.9,))[0],
            "block_sizes": settings.block_sizes or _BLOCK_SIZES,
        }
        for step in _STEPS
    ]
    # Half of a step is arithmetic, half is Adam, which the memory bounds.
    flops = 6.0 * _HIDDEN * settings.batch * settings.features**2
    single = flops / (0.4e9 * threads * settings.peak_gflops)
    return [
        Task(
            suite="training_step",
            title=f"training_step, {threads_title(threads)}",
            threads=threads,
            work=work,
            steps=len(_STEPS) * settings.rounds,
            seconds=15 + 1.5 * single * len(_STEPS) * 6 * settings.rounds,
            rounds=settings.rounds,
            seed=settings.seed,
        )
    ]


def measure(task: Task, progress: Callable[[], None]) -> list[dict[str, Any]]:
    """A line for each kind of step and block size."""
    import keras
    import models
    import turns

    turns.use_threads(task.threads)
    lines = []
    for work in task.work:
        keras.utils.set_random_seed(task.seed)
        x, y = models.examples(work["batch"] * (_BATCHES + 1), work["features"])
        steps = []
        for block_size in (None, *work["block_sizes"]):
            model = models.make(
                work["features"], _HIDDEN, block_size, work["sparsity"]
            )
            if work["step"] == _STEPS[2]:
                steps.append(_forward_and_backward(model, x, y, work["batch"]))
            else:
                steps.append(_fit(model, x, y, work))
        times: list[list[float]] = [[] for _ in steps]
        for step in steps:
            step()
        for _ in range(task.rounds):
            for step, found in zip(steps, times, strict=True):
                found.append(step())
            progress()
        dense_ms, *ms = (1e3 * statistics.median(each) for each in times)
        for block_size, sparse_ms in zip(work["block_sizes"], ms, strict=True):
            case = {**work, "block_size": block_size}
            del case["block_sizes"]
            lines.append(
                {
                    "case": case,
                    "threads": task.threads,
                    "dense_ms": dense_ms,
                    "sparse_ms": sparse_ms,
                }
            )
    return lines


def _fit(model: Any, x: Any, y: Any, work: dict[str, Any]) -> Any:
    """A function that trains on some batches and returns a step's seconds."""
    import keras

    ends: list[float] = []

    class Clock(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            ends.append(time.perf_counter())

    optimizer = getattr(keras.optimizers, work["step"].split()[-1])
    model.compile(optimizer(1e-3), "mse")

    def step() -> float:
        ends.clear()
        model.fit(
            x, y, work["batch"], verbose=0, shuffle=False, callbacks=[Clock()]
        )
        return (ends[-1] - ends[0]) / (len(ends) - 1)

    return step


def _forward_and_backward(model: Any, x: Any, y: Any, batch: int) -> Any:
    """A function that computes gradients and returns its seconds."""
    import tensorflow as tf
    import turns

    weights = [each.value for each in model.trainable_weights]
    x, y = x[:batch], y[:batch]

    @tf.function
    def gradients() -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        found: list[tf.Tensor] = tape.gradient(loss, weights)
        return found

    turn = turns.Turn(gradients.get_concrete_function())

    def step() -> float:
        return statistics.median(turn.seconds() for _ in range(_BATCHES))

    return step


def markdown(lines: Sequence[dict[str, Any]], run: dict[str, Any]) -> str:
    """A table of milliseconds and ratios."""
    case = lines[0]["case"]
    text = table.paragraph(
        f"{_HIDDEN} hidden layers of {case['features']}, batch "
        f"{case['batch']}, {case['sparsity']:.0%} of the blocks left out, "
        f"{threads_title(lines[0]['threads'])}; medians of {run['rounds']} "
        "rounds."
    )
    titles = ["step", "block", "dense, ms", "sparse, ms", "speed-up"]
    rows = [
        [
            line["case"]["step"],
            str(line["case"]["block_size"]),
            f"{line['dense_ms']:.1f}",
            f"{line['sparse_ms']:.1f}",
            f"{line['dense_ms'] / line['sparse_ms']:.1f}",
        ]
        for line in lines
    ]
    return f"{text}\n\n{table.table(titles, rows, texts=1)}"
