# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Dense against block-sparse: convolutional networks that read digits.

Four models learn scikit-learn's handwritten digits: one of dense convolutions,
one of block-sparse convolutions as wide, a wide block-sparse one with as many
parameters as the dense one, and a narrow dense one with as many parameters as
the sparse one. They see the same batches, in turns of an epoch, so that a busy
machine is busy for all, and start anew from several seeds. A table compares how
many test digits they read and what they cost.

    python examples/digits_conv.py --width=128 --block_size=8 --epochs=12
"""

import collections
import functools
import math
import pathlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf
from absl import app, flags
from digits import MOST_IMAGES, TEST_IMAGES, Digits

from tf_blocksparse import layers

_WIDTH = flags.DEFINE_integer("width", 256, "Channels of a convolution.")
_SPARSITY = flags.DEFINE_float(
    "sparsity", 0.9, "Share of blocks left out.", lower_bound=0, upper_bound=1
)
_BLOCK_SIZE = flags.DEFINE_integer("block_size", 16, "Rows of a block.")
_EPOCHS = flags.DEFINE_integer("epochs", 8, "Times to see every image.")
_SEEDS = flags.DEFINE_integer(
    "seeds", 3, "How often to train each model.", lower_bound=1
)
_BATCH = flags.DEFINE_integer("batch", 32, "Images of a training step.")
_IMAGES = flags.DEFINE_integer(
    "images", 1280, "Images to learn from.", upper_bound=MOST_IMAGES
)
# The wide dense model learns unsteadily at 3e-3; the others would take it.
_RATE = flags.DEFINE_float(
    "learning_rate", 2e-3, "Adam's learning rate at first; it falls to 0."
)
_THREADS = flags.DEFINE_integer("threads", 2, "Threads of an operation.")

_CONVOLUTIONS = 3  # Those with weights that can be left out.
_TIMING_ROUNDS = 25
_INFERENCE_BATCHES = (1, 64)


class Contestant:
    """A kind of model and what was measured of it, over all seeds."""

    def __init__(
        self,
        kind: str,
        convolution: Callable[[int], keras.layers.Layer],
        width: int,
    ) -> None:
        self.name = f"{kind} {width}"
        self.convolution = convolution
        self.width = width
        self.accuracies: list[float] = []
        self.step_ms: list[float] = []
        self.inference_ms: dict[int, float] = {}
        self.file_bytes = 0

    def start(self, seed: int) -> None:
        """Makes a new model, which has learnt nothing."""
        keras.utils.set_random_seed(seed)
        self.model = make_model(self.convolution, self.width)
        self.call = tf.function(self.model)

    def train(self, batches: list[tuple[np.ndarray, ...]]) -> None:
        """Trains for one turn."""
        for batch in batches:
            compiles = not self.model.optimizer.built
            start = time.perf_counter()
            self.model.train_on_batch(*batch)
            if not compiles:
                self.step_ms.append(1e3 * (time.perf_counter() - start))

    def test(self, digits: Digits) -> None:
        """Keeps the share of test images whose digit is read, in percent."""
        images, targets = digits.test
        parts = np.split(images, TEST_IMAGES // max(_INFERENCE_BATCHES))
        read = [self.call(tf.constant(part)).numpy() for part in parts]
        right = np.concatenate(read).argmax(axis=1) == targets
        self.accuracies.append(100 * float(right.mean()))

    def inference(self, batch: int) -> float:
        """Milliseconds of a call on so many images."""
        return self.inference_ms[batch]


def make_model(
    convolution: Callable[[int], keras.layers.Layer], width: int
) -> keras.Model:
    """Pixels become channels, which are convolved, as 4 x 4 from the second."""
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Conv2D(width, 3, padding="same", activation="relu"),
            convolution(width),
            keras.layers.MaxPooling2D(),
            convolution(width),
            convolution(width),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10),
        ]
    )
    steps = _EPOCHS.value * (_IMAGES.value // _BATCH.value)
    rate = keras.optimizers.schedules.CosineDecay(_RATE.value, steps)
    model.compile(
        keras.optimizers.Adam(rate),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    return model


def dense_convolution(width: int) -> keras.layers.Layer:
    """A convolution with all its weights."""
    return keras.layers.Conv2D(width, 3, padding="same", activation="relu")


def sparse_convolution(width: int) -> keras.layers.Layer:
    """A convolution with few of its weights: all that differs."""
    return layers.BlockSparseConv2D(
        width,
        3,
        padding="same",
        activation="relu",
        block_size=_BLOCK_SIZE.value,
        sparsity=_SPARSITY.value,
    )


def width_for(parameters: float, density: float, multiple: int) -> int:
    """The width at which a model has about so many parameters.

    Solves a width^2 + b width + c = parameters. Of the multiples of a number
    it takes the nearest: other widths would waste a part of each vector.
    """
    a = 9 * _CONVOLUTIONS * density
    b = (9 + 1) + _CONVOLUTIONS + 10
    c = 10 - parameters
    width = (math.sqrt(b * b - 4 * a * c) - b) / (2 * a)
    return max(1, round(width / multiple)) * multiple


def parameters_at(width: int, density: float) -> float:
    """Parameters of a model: what `width_for` solves."""
    convolutions = _CONVOLUTIONS * (9 * density * width + 1) * width
    return (9 + 1) * width + convolutions + 10 * (width + 1)


def make_contestants() -> list[Contestant]:
    """Both at the same width, then each with the other's parameters."""
    width = _WIDTH.value
    # At least a block stays, and without weights no width would do.
    density = max(1 - _SPARSITY.value, (_BLOCK_SIZE.value / width) ** 2)
    wide = width_for(parameters_at(width, 1), density, _BLOCK_SIZE.value)
    narrow = width_for(parameters_at(width, density), 1, multiple=8)
    return [
        Contestant("dense", dense_convolution, width),
        Contestant("sparse", sparse_convolution, width),
        Contestant("sparse", sparse_convolution, wide),
        Contestant("dense", dense_convolution, narrow),
    ]


def parameters(model: keras.Model) -> int:
    """What a model learns; the layouts are not counted."""
    return sum(math.prod(w.shape) for w in model.trainable_weights)


def train(contestants: list[Contestant], digits: Digits) -> None:
    """Trains all in turns, from every seed, with a progress bar."""
    shown = -1
    # A log gets twenty lines instead of one that is drawn over.
    terminal = sys.stdout.isatty()
    parts = 100 if terminal else 20
    turns = 0
    for seed in range(1, _SEEDS.value + 1):
        for contestant in contestants:
            contestant.start(seed)
        for epoch in range(_EPOCHS.value):
            batches = digits.epoch(seed, epoch, _BATCH.value)
            for contestant in contestants:
                contestant.train(batches)
                turns += 1
                all_turns = len(contestants) * _EPOCHS.value * _SEEDS.value
                done = parts * turns // all_turns
                if done > shown:
                    shown = done
                    print(
                        f"training [{'=' * (40 * done // parts):<40}]"
                        f"{done / parts:5.0%}",
                        end="\r" if terminal else "\n",
                        flush=True,
                    )
        for contestant in contestants:
            contestant.test(digits)


def time_inference(contestants: list[Contestant], digits: Digits) -> None:
    """Times a call of each model in turns and keeps the medians."""
    times = collections.defaultdict(list)
    images, _ = digits.test
    for rounds in range(_TIMING_ROUNDS + 1):
        for batch in _INFERENCE_BATCHES:
            x = tf.constant(images[:batch])
            for i, contestant in enumerate(contestants):
                start = time.perf_counter()
                contestant.call(x).numpy()
                if rounds:  # The first round compiles.
                    times[i, batch].append(time.perf_counter() - start)
    for (i, batch), seconds in times.items():
        contestants[i].inference_ms[batch] = 1e3 * statistics.median(seconds)


def measure_files(contestants: list[Contestant]) -> None:
    """Saves every model as for inference and keeps the size of its file."""
    with tempfile.TemporaryDirectory(prefix="digits_conv_") as folder:
        for contestant in contestants:
            file = pathlib.Path(folder) / "model.keras"
            # The compiled model would save Adam's state, twice the weights.
            trained = contestant.model
            keras.Model(trained.inputs, trained.outputs).save(file)
            contestant.file_bytes = file.stat().st_size


def table(contestants: list[Contestant]) -> str:
    """What was measured, a column a model; of accuracy, more is better."""
    rows: list[tuple[str, str, Callable[[Contestant], float]]] = [
        ("parameters, millions", ".3f", lambda c: parameters(c.model) / 1e6),
        ("file size, MB", ".2f", lambda c: c.file_bytes / 1e6),
        (
            "accuracy, %, mean",
            ".2f",
            lambda c: statistics.mean(c.accuracies),
        ),
        ("accuracy, %, lowest", ".2f", lambda c: min(c.accuracies)),
        ("accuracy, %, highest", ".2f", lambda c: max(c.accuracies)),
        (
            f"ms per training step, batch {_BATCH.value}",
            ".2f",
            lambda c: statistics.median(c.step_ms),
        ),
    ]
    for batch in _INFERENCE_BATCHES:
        rows.append(
            (
                f"ms per inference, batch {batch}",
                ".2f",
                functools.partial(Contestant.inference, batch=batch),
            )
        )
    lines = [" " * 31 + "".join(f"{c.name:>12}" for c in contestants)]
    for title, form, value in rows:
        cells = [f"{value(c):{form}}" for c in contestants]
        lines.append(f"{title:<31}" + "".join(f"{c:>12}" for c in cells))
    return "\n".join(lines)


def main(argv: list[str]) -> None:
    """Trains, measures and prints the table."""
    if len(argv) > 1:
        raise app.UsageError(f"got {argv[1:]}, expected flags only")
    tf.config.threading.set_intra_op_parallelism_threads(_THREADS.value)
    digits = Digits(_IMAGES.value)
    print(
        f"{len(digits.learn[0])} images to learn from, "
        f"{len(digits.test[0])} to test on"
    )
    contestants = make_contestants()
    train(contestants, digits)
    time_inference(contestants, digits)
    measure_files(contestants)
    print(
        f"\n\n{_SPARSITY.value:.0%} of the {_BLOCK_SIZE.value} x "
        f"{_BLOCK_SIZE.value} blocks of the sparse models' convolutions are "
        f"left out.\nAccuracy is of {TEST_IMAGES} other images, from "
        f"{_SEEDS.value} seeds; times are medians of turns,\nwith "
        f"{_THREADS.value} threads.\n"
    )
    print(table(contestants))


if __name__ == "__main__":
    app.run(main)
