# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Training steps of two hidden layers: dense against sparse, in turns.

Steps of Keras's `fit` with Keras's Adam, this library's and SGD, and the
forward and backward pass alone: in a dense layer, much of a step is the
optimizer's.
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
# Of each step, the optimizer, if there is one.
_STEPS = {
    "fit, Keras's Adam": "keras.Adam",
    "fit, our Adam": "tf_blocksparse.Adam",
    "fit, SGD": "keras.SGD",
    "forward and backward": None,
}
# The step that all others are compared with, too: what people have today.
_USUAL = "fit, Keras's Adam"
# Of a call of fit; the first prepares and is off the clock.
_BATCHES = 5


def plan(settings: Settings) -> list[Task]:
    """One process, with the largest number of threads."""
    threads = max(settings.threads)
    block_sizes = settings.block_sizes or _BLOCK_SIZES
    work = {
        "features": settings.features,
        "batch": settings.batch,
        "sparsity": (settings.sparsities or (0.9,))[0],
        "block_sizes": block_sizes,
    }
    # Half of a step is arithmetic, half is Adam, which the memory bounds.
    flops = 6.0 * _HIDDEN * settings.batch * settings.features**2
    single = flops / (0.4e9 * threads * settings.peak_gflops)
    calls = 6 * settings.rounds * len(_STEPS)
    return [
        Task(
            suite="training_step",
            title=f"training_step, {threads_title(threads)}",
            threads=threads,
            work=[work],
            steps=settings.rounds,
            seconds=15 + 1.5 * single * calls,
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
    (work,) = task.work
    keras.utils.set_random_seed(task.seed)
    x, y = models.examples(work["batch"] * (_BATCHES + 1), work["features"])
    calls = {}
    for step, optimizer in _STEPS.items():
        for block_size in (None, *work["block_sizes"]):
            model = models.make(
                work["features"], _HIDDEN, block_size, work["sparsity"]
            )
            calls[step, block_size] = (
                _fit(model, x, y, work["batch"], optimizer)
                if optimizer
                else _forward_and_backward(model, x, y, work["batch"])
            )
    times: dict[Any, list[float]] = {key: [] for key in calls}
    for call in calls.values():
        call()
    for _ in range(task.rounds):
        for key, call in calls.items():
            times[key].append(call())
        progress()
    ms = {key: 1e3 * statistics.median(each) for key, each in times.items()}
    shared = {k: v for k, v in work.items() if k != "block_sizes"}
    return [
        {
            "case": {"step": step, **shared, "block_size": block_size},
            "threads": task.threads,
            "dense_ms": ms[step, None],
            "sparse_ms": ms[step, block_size],
            "usual_ms": ms[_USUAL, None],
        }
        for step in _STEPS
        for block_size in work["block_sizes"]
    ]


def _fit(model: Any, x: Any, y: Any, batch: int, optimizer: str) -> Any:
    """A function that trains on some batches and returns a step's seconds."""
    import keras

    import tf_blocksparse

    ends: list[float] = []

    class Clock(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            ends.append(time.perf_counter())

    library, name = optimizer.split(".")
    whose = {"keras": keras, "tf_blocksparse": tf_blocksparse}[library]
    model.compile(getattr(whose.optimizers, name)(1e-3), "mse")

    def step() -> float:
        ends.clear()
        model.fit(x, y, batch, verbose=0, shuffle=False, callbacks=[Clock()])
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
        "rounds. A step is compared with the same step of the dense model, and "
        "with the dense model's under Keras's Adam."
    )
    titles = ["step", "block", "dense, ms", "sparse, ms", "speed-up"]
    rows = [
        [
            line["case"]["step"],
            str(line["case"]["block_size"]),
            f"{line['dense_ms']:.1f}",
            f"{line['sparse_ms']:.1f}",
            f"{line['dense_ms'] / line['sparse_ms']:.1f}",
            f"{line['usual_ms'] / line['sparse_ms']:.1f}",
        ]
        for line in lines
    ]
    titles.append("over dense, Keras's Adam")
    return f"{text}\n\n{table.table(titles, rows, texts=1)}"
