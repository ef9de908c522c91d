# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Random convolutions: none should be slower sparse than dense.

Ranks, sizes, kernels, sparsities, products and layouts are drawn anew for each
run, with a batch of at least 8.
"""

import dataclasses
import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import conv_shapes
import random_cases
import table
from case import LAYOUTS, PRODUCTS
from conv_case import ConvCase, ConvMeasured
from settings import Settings
from task import Task

from suites import convolutions

TITLE = "Convolutions never slower"
METRIC = "sparse_ms"
BASELINE = "dense_ms"

_SIZES = (8, 16, 32, 64)
_KERNELS = {1: (1, 2, 3, 4, 5, 7), 2: (1, 1, 2, 3, 3, 3, 4, 5), 3: (1, 2, 3)}
_PIXELS = {1: (16, 4096), 2: (4, 64), 3: (3, 16)}
_FEATURES = 32, 512
_BATCH = 8, 32
# A few rounds of larger ones would take longer than all others.
_MOST_FLOPS = 3e9


def plan(settings: Settings) -> list[Task]:
    """The same cases for each number of threads."""
    return random_cases.plan(
        "conv_never_slower", draw(settings), conv_shapes.seconds, settings
    )


def draw(settings: Settings) -> list[ConvCase]:
    """Random cases, the same for the same seed."""
    rng = random.Random(settings.seed)
    return [_one(rng, settings) for _ in range(settings.cases)]


def _one(rng: random.Random, settings: Settings) -> ConvCase:
    size = random_cases.block_size(rng, settings, _SIZES)
    rank = rng.choice((1, 2, 2, 3))
    taps = [rng.choice(_KERNELS[rank])] * rank
    if rng.random() < 0.25:  # not of the same size in each dimension
        taps = [rng.choice(_KERNELS[rank]) for _ in taps]
    strides = rng.choice((1, 1, 1, 1, 2, 3))
    sparsity = random_cases.sparsity(rng, settings)
    # TensorFlow has no ops for both strides and dilations.
    dilation = rng.choice((1, 1, 1, 2)) if strides == 1 else 1
    per_tap = max(taps) > 1 and rng.random() < 0.3
    case = ConvCase(
        transposed=rng.random() < 0.25,
        batch=_logarithmic(rng, *_BATCH),
        spatial=_sizes([_logarithmic(rng, *_PIXELS[rank]) for _ in taps]),
        inputs=_features(rng, size),
        outputs=_features(rng, size),
        kernel=_sizes(taps),
        strides=strides,
        dilation=dilation,
        product=rng.choice(settings.products or PRODUCTS),
        block_size=size,
        sparsity=sparsity,
        per_tap=per_tap,
        layout="balanced" if per_tap else rng.choice(LAYOUTS),
        padding=rng.choice(("same", "same", "valid")),
    )
    if not math.prod(case.coarse):
        case = dataclasses.replace(case, padding="same")
    while case.dense_flops > _MOST_FLOPS:
        case = _smaller(case)
    case.check()
    return case


def _smaller(case: ConvCase) -> ConvCase:
    """A case of about half the pixels, or of half the features."""
    pixels = list(map(int, case.spatial.split("x")))
    largest = max(range(len(pixels)), key=pixels.__getitem__)
    pixels[largest] = -(-pixels[largest] // 2)
    found = dataclasses.replace(case, spatial=_sizes(pixels))
    if max(pixels) > 1 and math.prod(found.coarse):
        return found
    return dataclasses.replace(
        case, inputs=-(-case.inputs // 2), outputs=-(-case.outputs // 2)
    )


def _features(rng: random.Random, size: int) -> int:
    number = _logarithmic(rng, *_FEATURES)
    whole = max(number // size, 1) * size
    return whole if rng.random() < 0.7 else number


def _logarithmic(rng: random.Random, low: int, high: int) -> int:
    return round(math.exp(rng.uniform(math.log(low), math.log(high))))


def _sizes(numbers: Sequence[int]) -> str:
    return "x".join(map(str, numbers))


def measure(task: Task, progress: Callable[[], None]) -> list[dict[str, Any]]:
    """A line for each case."""
    import conv_timing

    cases = [ConvCase(**each) for each in task.work]
    return random_cases.measure(task, cases, conv_timing.measure, progress)


def markdown(lines: Sequence[dict[str, Any]], run: dict[str, Any]) -> str:
    """How many are slower, and the worst of them."""
    measured = [ConvMeasured.of(line) for line in lines]
    text, worst = random_cases.summary(
        measured, "TensorFlow's dense convolution", run
    )
    titles = [
        "batch x pixels x inputs to outputs",
        "product",
        "layout",
        "block",
        "sparsity",
        "threads",
        "dense, ms",
        "sparse, ms",
        "speed-up",
        "of peak",
    ]
    rows = [
        [
            convolutions.size(each.case),
            each.case.product,
            each.case.layout.replace("_", "-"),
            str(each.case.block_size),
            # Groups of a diagonal are whole: not quite the drawn sparsity.
            f"{1 - each.density:.1%}",
            str(each.threads),
            f"{each.dense_ms:.3g}",
            f"{each.sparse_ms:.3g}",
            f"{each.speed_up:.2f}",
            f"{each.of_peak:.0%}",
        ]
        for each in worst
    ]
    return f"{table.paragraph(text)}\n\n{table.table(titles, rows, texts=3)}"
