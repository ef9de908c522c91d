# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""From a trained dense model to a block-sparse one: networks that read digits.

A perceptron of two wide hidden layers and a convolutional network learn
scikit-learn's handwritten digits with dense layers. `sparsify` makes their
layers block-sparse with all blocks, training goes on while `BlockPruning`
closes the weakest, and `compact` removes them from the model. The dense model
trains on for as many epochs, to compare with. Both are saved and loaded in a
new process, which reads the test digits and times inference and training
steps, in turns.

    python examples/prune_digits.py --sparsity=0.95 --block_size=8
"""

import collections
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import keras
import tensorflow as tf
from absl import app, flags
from digits import MOST_IMAGES, TEST_IMAGES, Digits

import tf_blocksparse as tfbs

_SPARSITY = flags.DEFINE_float(
    "sparsity", 0.9, "Share of blocks to prune.", lower_bound=0, upper_bound=1
)
_BLOCK_SIZE = flags.DEFINE_integer("block_size", 16, "Rows of a block.")
_UNITS = flags.DEFINE_integer(
    "units", 2048, "Units of the perceptron's layers."
)
_CHANNELS = flags.DEFINE_integer("channels", 256, "Channels of a convolution.")
_EPOCHS = flags.DEFINE_integer(
    "epochs", 24, "Times to see every image, a quarter of it before pruning."
)
_SEEDS = flags.DEFINE_integer(
    "seeds", 3, "How often to train each network.", lower_bound=1
)
_BATCH = flags.DEFINE_integer("batch", 64, "Images of a step and a call.")
_IMAGES = flags.DEFINE_integer(
    "images", 1280, "Images to learn from.", upper_bound=MOST_IMAGES
)
_RATE = flags.DEFINE_float(
    "learning_rate", 2e-3, "Adam's learning rate, but for the last epochs."
)
_ROUNDS = flags.DEFINE_integer("rounds", 11, "Turns of timing.")
_CALLS = flags.DEFINE_integer("calls", 10, "Calls of a turn, which are timed.")
_THREADS = flags.DEFINE_integer("threads", 2, "Threads of an operation.")
_MEASURE = flags.DEFINE_list(
    "measure", None, "Read and time these saved models; no training."
)


def perceptron() -> keras.Model:
    """Two wide hidden layers."""
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Flatten(),
            keras.layers.Dense(_UNITS.value, "relu", name="first"),
            keras.layers.Dense(_UNITS.value, "relu", name="second"),
            keras.layers.Dense(10, name="digit"),
        ],
        name="perceptron",
    )


def convolutional() -> keras.Model:
    """Pixels become channels, which are convolved, as 4 x 4 from the second."""
    channels = _CHANNELS.value
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            convolution(channels, "first"),
            convolution(channels, "second"),
            keras.layers.MaxPooling2D(),
            convolution(channels, "third"),
            convolution(channels, "fourth"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10, name="digit"),
        ],
        name="convolutional",
    )


def convolution(channels: int, name: str) -> keras.layers.Layer:
    """A convolution with all its weights."""
    return keras.layers.Conv2D(
        channels, 3, padding="same", activation="relu", name=name
    )


_INPUTS = 4  # of a layer, in one function

NETWORKS = {"perceptron": perceptron, "convolutional": convolutional}


class Progress(keras.callbacks.Callback):
    """A bar over all the epochs of all models, on a terminal."""

    def __init__(self) -> None:
        super().__init__()
        epochs = 2 * _EPOCHS.value - dense_epochs()
        self.bar = keras.utils.Progbar(
            epochs * len(NETWORKS) * _SEEDS.value, unit_name="epoch"
        )

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        """One more."""
        if sys.stdout.isatty():
            self.bar.add(1)


def dense_epochs() -> int:
    """Those that both models share, before pruning."""
    return _EPOCHS.value // 4


def train(name: str, seed: int, digits: Digits, progress: Progress):
    """The dense model after all epochs, and the sparse one after as many."""
    keras.utils.set_random_seed(seed)
    dense = NETWORKS[name]()
    epoch = -(-len(digits.learn[0]) // _BATCH.value)
    # Smaller for the last sixth, so that it doesn't matter where it ends.
    rate = keras.optimizers.schedules.PiecewiseConstantDecay(
        [5 * _EPOCHS.value // 6 * epoch], [_RATE.value, _RATE.value / 10]
    )
    dense.compile(
        keras.optimizers.Adam(rate),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    learn = {
        "x": digits.learn[0],
        "y": digits.learn[1],
        "batch_size": _BATCH.value,
        "verbose": 0,
    }
    dense.fit(**learn, epochs=dense_epochs(), callbacks=[progress])
    # All blocks of every layer that can be: what pruning starts from.
    sparse = tfbs.sparsify(dense, 0.0, _BLOCK_SIZE.value, gate="mask")
    begin = int(sparse.optimizer.iterations)
    rest = _EPOCHS.value - dense_epochs()
    pruning_epochs = max(1, _EPOCHS.value // 4)
    steps = pruning_epochs * epoch
    # What is left then learns for half of the epochs.
    schedule = tfbs.schedules.Polynomial(
        0.0,
        _SPARSITY.value,
        begin_step=begin,
        end_step=begin + steps,
        frequency=max(1, steps // 20),
    )
    pruning = tfbs.callbacks.BlockPruning(schedule)
    sparse.fit(**learn, epochs=pruning_epochs, callbacks=[pruning, progress])
    sparse = tfbs.compact(sparse)
    sparse.fit(**learn, epochs=rest - pruning_epochs, callbacks=[progress])
    dense.fit(**learn, epochs=rest, callbacks=[progress])
    return dense, sparse


def compiled_for_timing(model: keras.Model) -> keras.Model:
    """The model with a new optimizer, whose steps change no weights."""
    model.compile(
        keras.optimizers.Adam(0.0),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    return model


def layer_alone(model: keras.Model) -> tuple[Callable, Callable]:
    """The second layer on several inputs, and the same with its gradients.

    Several in one function, whose call takes as long as a sparse product.
    """
    layer = model.get_layer("second")
    size = [_BATCH.value, *layer.input.shape[1:]]
    inputs = [
        tf.random.stateless_uniform(size, seed=(1, i)) for i in range(_INPUTS)
    ]

    @tf.function
    def forward():
        return [layer(x) for x in inputs]

    @tf.function
    def training():
        gradients = []
        weights = [each.value for each in layer.trainable_weights]
        for x in inputs:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = layer(x)
            gradients.append(tape.gradient(y, [x, *weights]))
        return gradients

    return lambda: forward()[-1], lambda: training()[-1][0]


def measure(files: list[str]) -> list[dict[str, float]]:
    """What saved models read, and the times of all, in turns."""
    digits = Digits(_IMAGES.value)
    models = [keras.models.load_model(file, compile=False) for file in files]
    rows = []
    timed: dict[tuple[int, str], Callable] = {}
    learn = [each[: _BATCH.value] for each in digits.learn]
    x = tf.constant(learn[0])
    for i, model in enumerate(models):
        read = model.predict(digits.test[0], batch_size=128, verbose=0)
        right = read.argmax(axis=1) == digits.test[1]
        rows.append(
            {
                "accuracy": 100 * float(right.mean()),
                "bytes": pathlib.Path(files[i]).stat().st_size,
            }
        )
        forward, training = layer_alone(model)
        call = tf.function(model)
        step = compiled_for_timing(model).train_on_batch
        timed[i, "inference"] = lambda call=call: call(x).numpy()
        timed[i, "step"] = lambda step=step: step(*learn)
        timed[i, "layer"] = lambda forward=forward: forward().numpy()
        timed[i, "layer step"] = lambda training=training: training().numpy()
    seconds = collections.defaultdict(list)
    for turn in range(_ROUNDS.value + 1):
        for key, run in timed.items():
            start = time.perf_counter()
            for _ in range(_CALLS.value):
                run()
            if turn:  # The first one compiles.
                each = (time.perf_counter() - start) / _CALLS.value
                seconds[key].append(each)
    for (i, name), times in seconds.items():
        inputs = _INPUTS if name.startswith("layer") else 1
        rows[i][name] = 1e3 * statistics.median(times) / inputs
    return rows


def measure_elsewhere(files: list[str]) -> list[dict[str, float]]:
    """`measure` in a new process, which knows the models from files alone."""
    flag_values = {
        flag: flags.FLAGS[flag].value
        for flag in ("batch", "calls", "images", "rounds", "threads")
    }
    command = [sys.executable, __file__, f"--measure={','.join(files)}"]
    command += [f"--{flag}={value}" for flag, value in flag_values.items()]
    result = subprocess.run(
        command, capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise RuntimeError(
            f"got exit status {result.returncode} of the process that loads "
            f"{files}, expected 0:\n{result.stderr[-2000:]}"
        )
    return json.loads(result.stdout.splitlines()[-1])


def save_for_inference(model: keras.Model, file: pathlib.Path) -> str:
    """Saves a model without the optimizer's state, twice the weights."""
    keras.Model(model.inputs, model.outputs).save(file)
    return str(file)


# Title, key, scale and format of each line of a table.
_LINES = [
    ("accuracy, %", "accuracy", 1, ".2f"),
    ("file, MB", "bytes", 1e-6, ".2f"),
    ("ms per inference", "inference", 1, ".2f"),
    ("ms per training step", "step", 1, ".2f"),
    ("ms, second layer", "layer", 1, ".3f"),
    ("ms, the same, with gradients", "layer step", 1, ".3f"),
]


def table(dense: list[dict], sparse: list[dict]) -> str:
    """The means over the seeds and, behind +-, the standard deviations."""
    lines = [f"{'':<29}{'dense':>20}{'sparse':>20}{'dense / sparse':>16}"]
    for title, key, scale, form in _LINES:
        cells = []
        for rows in (dense, sparse):
            values = [scale * row[key] for row in rows]
            cell = f"{statistics.mean(values):{form}}"
            if len(values) > 1:
                cell += f" +- {statistics.stdev(values):{form}}"
            cells.append(cell)
        ratios = [a[key] / b[key] for a, b in zip(dense, sparse, strict=True)]
        ratio = "" if key == "accuracy" else f"{statistics.mean(ratios):.1f}"
        lines.append(f"{title:<29}{cells[0]:>20}{cells[1]:>20}{ratio:>16}")
    return "\n".join(lines)


def main(argv: list[str]) -> None:
    """Trains, prunes, measures and prints a table for each network."""
    if len(argv) > 1:
        raise app.UsageError(f"got {argv[1:]}, expected flags only")
    tf.config.threading.set_intra_op_parallelism_threads(_THREADS.value)
    if _MEASURE.value:
        print(json.dumps(measure(_MEASURE.value)))
        return
    digits = Digits(_IMAGES.value)
    print(
        f"{len(digits.learn[0])} images to learn from, {TEST_IMAGES} to test on"
    )
    progress = Progress()
    measured = collections.defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="prune_digits_") as folder:
        for seed in range(1, _SEEDS.value + 1):
            for name in NETWORKS:
                files = [
                    save_for_inference(model, pathlib.Path(folder, file))
                    for model, file in zip(
                        train(name, seed, digits, progress),
                        ("dense.keras", "sparse.keras"),
                        strict=True,
                    )
                ]
                pair = measure_elsewhere(files)
                measured[name].append(pair)
                dense, sparse = (each["accuracy"] for each in pair)
                print(
                    f"\n{name}, seed {seed}: dense reads {dense:.2f} %, sparse "
                    f"{sparse:.2f} % of the test images",
                    flush=True,
                )
    for name, pairs in measured.items():
        print(
            f"\n{name}: {_SPARSITY.value:.0%} of the {_BLOCK_SIZE.value} x "
            f"{_BLOCK_SIZE.value} blocks pruned, {_SEEDS.value} seeds, "
            f"{_THREADS.value} threads, batch {_BATCH.value}\n"
        )
        print(table(*zip(*pairs, strict=True)))


if __name__ == "__main__":
    app.run(main)
