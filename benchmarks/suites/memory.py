# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What a training step holds: no buffer of the dense weight's size.

Each model has a process of its own. Linux tells its resident memory, and the
most that there was since it was told to forget the peak.
"""

import gc
import pathlib
import re
from collections.abc import Callable, Sequence
from typing import Any

import table
from settings import Settings
from task import Task

TITLE = "Memory"
METRIC = "peak_mib"
BASELINE = None

_SPARSITIES = (0.75, 0.9)
_BLOCK_SIZE = 32
# With oneDNN, TensorFlow keeps what was freed, and takes from that first.
_ENVIRONMENT = {"TF_ENABLE_ONEDNN_OPTS": "0"}
# Wide, so that a dense weight is large beside what TensorFlow holds anyway.
_WIDENING = 2


def plan(settings: Settings) -> list[Task]:
    """A process for the dense layer, and for each sparsity."""
    threads = max(settings.threads)
    features = _WIDENING * settings.features
    dense = {"block_size": 0, "sparsity": 0.0}
    sparse = [
        {
            "block_size": (settings.block_sizes or (_BLOCK_SIZE,))[0],
            "sparsity": sparsity,
        }
        for sparsity in settings.sparsities or _SPARSITIES
    ]
    return [
        Task(
            suite="memory",
            title=f"memory, {_title(each)}",
            threads=threads,
            work=[
                {
                    **each,
                    "features": features,
                    "batch": settings.batch,
                    "optimizer": optimizer,
                }
            ],
            steps=1,
            seconds=8 + features**2 / 2e7,
            rounds=settings.rounds,
            seed=settings.seed,
            environment=_ENVIRONMENT,
        )
        for optimizer in ("SGD", "Adam")
        for each in (dense, *sparse)
    ]


def measure(task: Task, progress: Callable[[], None]) -> list[dict[str, Any]]:
    """The line of one layer."""
    import keras
    import models
    import turns

    turns.use_threads(task.threads)
    (case,) = task.work
    batch, features = case["batch"], case["features"]

    def build(features: int) -> tuple[Any, Any, Any]:
        model = models.make(
            features, 1, case["block_size"] or None, case["sparsity"]
        )
        optimizer = getattr(keras.optimizers, case["optimizer"])(1e-3)
        optimizer.build(model.trainable_variables)
        model.compile(optimizer, "mse")
        return model, *models.examples(batch, features)

    # TensorFlow starts threads and loads kernels with the first step.
    model, x, y = build(max(64, 32 * case["block_size"]))
    model.fit(x, y, batch, verbose=0)
    gc.collect()
    before = _resident("VmRSS")
    model, x, y = build(features)
    # What cycles of Python objects hold would be freed in the step.
    gc.collect()
    built = _resident("VmRSS")
    _forget_peak()
    model.fit(x, y, batch, verbose=0)
    peak = _resident("VmHWM")
    progress()
    return [
        {
            "case": case,
            "threads": task.threads,
            "built_mib": built - before,
            "step_mib": peak - built,
            "peak_mib": peak - before,
            "dense_weight_mib": 4 * features**2 / 2**20,
        }
    ]


def _resident(name: str) -> float:
    """MiB, as Linux tells them: VmRSS now, VmHWM at most."""
    status = pathlib.Path("/proc/self/status").read_text()
    (kib,) = re.findall(rf"^{name}:\s*(\d+) kB$", status, re.MULTILINE)
    return int(kib) / 1024


def _forget_peak() -> None:
    pathlib.Path("/proc/self/clear_refs").write_text("5")


def _title(case: dict[str, Any]) -> str:
    if not case["block_size"]:
        return "dense"
    return f"{case['sparsity']:.0%} sparse"


def markdown(lines: Sequence[dict[str, Any]], run: dict[str, Any]) -> str:
    """A table of MiB, the dense weight beside them."""
    case = lines[0]["case"]
    text = table.paragraph(
        f"A layer of {case['features']} x {case['features']}, batch "
        f"{case['batch']}, trained by `fit` without oneDNN, which would keep "
        "what is freed. The model's part is weights and what the optimizer "
        "keeps, the step's what it adds at its peak. A step that adds less "
        "than a dense weight holds none."
    )
    titles = [
        "layer",
        "optimizer",
        "a dense weight, MiB",
        "model, MiB",
        "step, MiB",
        "both, MiB",
        "step holds a dense weight",
    ]
    rows = [
        [
            _title(line["case"]),
            line["case"]["optimizer"],
            f"{line['dense_weight_mib']:.0f}",
            f"{line['built_mib']:.0f}",
            f"{line['step_mib']:.0f}",
            f"{line['peak_mib']:.0f}",
            "no" if line["step_mib"] < line["dense_weight_mib"] else "could",
        ]
        for line in lines
    ]
    return f"{text}\n\n{table.table(titles, rows, texts=2)}"
