# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Dense against block-sparse: language models that predict a character.

Three models learn the text of Python's own help topics (`pydoc_data.topics`):
one of dense layers, one of block-sparse layers as wide, and one of dense layers
with as many parameters as the sparse one. They see the same batches, in turns
of one second, so that a busy machine is busy for all. A table compares what
they learnt after as many steps and after as many seconds, and what they cost.
The sparse model is then saved, and a new process continues a sentence with it.

    python examples/char_lm.py --width=2048 --sparsity=0.95
"""

import collections
import functools
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pydoc_data.topics import topics

import keras
import numpy as np
import tensorflow as tf
from absl import app, flags

import tf_blocksparse
from tf_blocksparse import layers

_WIDTH = flags.DEFINE_integer("width", 4096, "Units of a hidden layer.")
_SPARSITY = flags.DEFINE_float(
    "sparsity", 0.9, "Share of blocks left out.", lower_bound=0, upper_bound=1
)
_BLOCK_SIZE = flags.DEFINE_integer("block_size", 32, "Rows of a block.")
_STEPS = flags.DEFINE_integer("steps", 150, "Training steps to compare at.")
_SECONDS = flags.DEFINE_float("seconds", 40.0, "Training time to compare at.")
_BATCH = flags.DEFINE_integer("batch", 128, "Examples of a training step.")
_CONTEXT = flags.DEFINE_integer("context", 32, "Characters that are seen.")
_EMBEDDING = flags.DEFINE_integer("embedding", 32, "Features of a character.")
# Between the best of the three: 1e-3 for wide dense layers, 2e-3 for narrow
# ones, 3e-3 for sparse ones, whose units have fewer inputs.
_RATE = flags.DEFINE_float("learning_rate", 2e-3, "Adam's learning rate.")
_OPTIMIZER = flags.DEFINE_enum(
    "optimizer", "keras", ["keras", "tf_blocksparse"], "Whose Adam trains all."
)
_HELD_OUT = flags.DEFINE_integer("held_out", 8192, "Characters to test on.")
_SEED = flags.DEFINE_integer("seed", 1, "Seed of weights, layouts, batches.")
_OUTPUT = flags.DEFINE_string(
    "output", None, "Folder to keep the models in; they are removed if not set."
)
_LOAD = flags.DEFINE_string(
    "load", None, "Continue --prompt with this saved model; no training."
)
_PROMPT = flags.DEFINE_string(
    "prompt", "The following statement is equivalent to ", "What to continue."
)
_LENGTH = flags.DEFINE_integer("length", 160, "Characters to add to it.")
_TEMPERATURE = flags.DEFINE_float(
    "temperature", 0.5, "0 takes the likeliest character, 1 draws as learnt."
)

_TURN_SECONDS = 1.0
_TIMING_ROUNDS = 25
_INFERENCE_BATCHES = (1, 64)


class Text:
    """The help topics as character numbers: nine tenths to learn from."""

    def __init__(self) -> None:
        text = "\n".join(topics.values())
        self.characters = sorted(set(text))
        number = {c: i for i, c in enumerate(self.characters)}
        numbers = np.array([number[c] for c in text], np.int32)
        cut = len(numbers) * 9 // 10
        self.learn, self.held_out = numbers[:cut], numbers[cut:]

    def batch(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """The examples of a step, the same for every model."""
        rng = np.random.default_rng((_SEED.value, step))
        last = len(self.learn) - _CONTEXT.value
        return _examples(self.learn, rng.integers(0, last, _BATCH.value))

    def test(self) -> tuple[np.ndarray, np.ndarray]:
        """Examples spread evenly over the held-out text."""
        last = len(self.held_out) - _CONTEXT.value - 1
        places = np.linspace(0, last, min(_HELD_OUT.value, last + 1))
        return _examples(self.held_out, places.astype(np.int64))


def _examples(
    numbers: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    windows = places[:, None] + np.arange(_CONTEXT.value)
    return numbers[windows], numbers[places + _CONTEXT.value]


class Contestant:
    """A model with its clock and what was measured of it."""

    def __init__(self, name: str, model: keras.Model) -> None:
        self.name = name
        self.model = model
        self.steps = 0
        self.seconds = 0.0
        self.step_ms: list[float] = []
        self.bits_after_steps = math.nan
        self.bits_after_seconds = math.nan
        self.steps_in_time = 0
        self.inference_ms: dict[int, float] = {}
        self.file_bytes = 0

    def done(self) -> float:
        """How much of the training is done, from 0 to 1."""
        steps = self.steps / _STEPS.value
        return min(1.0, steps, self.seconds / _SECONDS.value)

    def train(self, text: Text) -> None:
        """Trains for one turn, and tests when a goal is reached in it."""
        end = self.seconds + _TURN_SECONDS
        while self.seconds < end and self.done() < 1.0:
            batch = text.batch(self.steps)
            start = time.perf_counter()
            self.model.train_on_batch(*batch)
            seconds = time.perf_counter() - start
            self.steps += 1
            if self.steps > 1:  # The first step compiles: not on the clock.
                self.step_ms.append(1e3 * seconds)
                self.seconds += seconds
            if self.steps == _STEPS.value:
                self.bits_after_steps = self.test(text)
            if self.seconds >= _SECONDS.value and not self.steps_in_time:
                self.steps_in_time = self.steps
                self.bits_after_seconds = self.test(text)

    def inference(self, batch: int) -> float:
        """Milliseconds of a call on so many examples."""
        return self.inference_ms[batch]

    def test(self, text: Text) -> float:
        """Bits per character of held-out text."""
        nats = self.model.evaluate(*text.test(), batch_size=512, verbose=0)
        return float(nats) / math.log(2)


def make_model(
    hidden: Callable[[int], keras.layers.Layer], width: int, characters: int
) -> keras.Model:
    """The last characters, embedded; two hidden layers; the next character."""
    keras.utils.set_random_seed(_SEED.value)
    model = keras.Sequential(
        [
            keras.Input((_CONTEXT.value,), dtype="int32"),
            keras.layers.Embedding(characters, _EMBEDDING.value),
            keras.layers.Flatten(),
            hidden(width),
            hidden(width),
            keras.layers.Dense(characters),
        ]
    )
    library = {"keras": keras, "tf_blocksparse": tf_blocksparse}
    model.compile(
        library[_OPTIMIZER.value].optimizers.Adam(_RATE.value),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    return model


def dense_layer(width: int) -> keras.layers.Layer:
    """A hidden layer with all its weights."""
    return keras.layers.Dense(width, "relu")


def sparse_layer(width: int) -> keras.layers.Layer:
    """A hidden layer with few of its weights: the only line that differs."""
    return layers.BlockSparseDense(
        width, "relu", block_size=_BLOCK_SIZE.value, sparsity=_SPARSITY.value
    )


def width_for(parameters: int, characters: int) -> int:
    """The width at which a dense model has about so many parameters.

    Solves width^2 + b width + c = parameters.
    """
    inputs = _CONTEXT.value * _EMBEDDING.value
    b = inputs + characters + 2
    c = characters * (_EMBEDDING.value + 1) - parameters
    return max(1, round((math.sqrt(b * b - 4 * c) - b) / 2))


def make_contestants(characters: int) -> list[Contestant]:
    """Dense, sparse, and dense with the sparse one's parameters."""
    width = _WIDTH.value
    sparse = make_model(sparse_layer, width, characters)
    small = width_for(parameters(sparse), characters)
    return [
        Contestant(
            f"dense {width}", make_model(dense_layer, width, characters)
        ),
        Contestant(f"sparse {width}", sparse),
        Contestant(
            f"dense {small}", make_model(dense_layer, small, characters)
        ),
    ]


def parameters(model: keras.Model) -> int:
    """What a model learns; the layouts are not counted."""
    return sum(math.prod(w.shape) for w in model.trainable_weights)


def train(contestants: list[Contestant], text: Text) -> None:
    """Trains all in turns, with a progress bar."""
    shown = -1
    # A log gets twenty lines instead of one that is drawn over.
    terminal = sys.stdout.isatty()
    parts = 100 if terminal else 20
    while shown < parts:
        for contestant in contestants:
            contestant.train(text)
            done = int(parts * statistics.mean(c.done() for c in contestants))
            if done > shown:
                shown = done
                print(
                    f"training [{'=' * (40 * done // parts):<40}]"
                    f"{done / parts:5.0%}",
                    end="\r" if terminal else "\n",
                    flush=True,
                )


def time_inference(contestants: list[Contestant], text: Text) -> None:
    """Times a call of each model in turns and keeps the medians."""
    times = collections.defaultdict(list)
    calls = [tf.function(c.model) for c in contestants]
    examples, _ = text.test()
    for rounds in range(_TIMING_ROUNDS + 1):
        for batch in _INFERENCE_BATCHES:
            x = tf.constant(examples[:batch])
            for i, call in enumerate(calls):
                start = time.perf_counter()
                call(x).numpy()
                if rounds:  # The first round compiles.
                    times[i, batch].append(time.perf_counter() - start)
    for (i, batch), seconds in times.items():
        contestants[i].inference_ms[batch] = 1e3 * statistics.median(seconds)


def save(
    contestants: list[Contestant],
    characters: list[str],
    folder: pathlib.Path,
) -> pathlib.Path:
    """Saves every model as for inference; returns the sparse one's file."""
    folder.mkdir(parents=True, exist_ok=True)
    for i, contestant in enumerate(contestants):
        file = folder / f"{i + 1}_{contestant.name.replace(' ', '_')}.keras"
        # The compiled model would save Adam's state, twice the weights.
        trained = contestant.model
        keras.Model(trained.inputs, trained.outputs).save(file)
        contestant.file_bytes = file.stat().st_size
        if i == 1:
            sparse_file = file
    vocabulary = sparse_file.with_suffix(".json")
    vocabulary.write_text(json.dumps(characters))
    return sparse_file


def table(contestants: list[Contestant]) -> str:
    """What was measured, a column a model; the smallest is the best."""
    rows: list[tuple[str, str, Callable[[Contestant], float]]] = [
        ("parameters, millions", ".2f", lambda c: parameters(c.model) / 1e6),
        ("file size, MB", ".1f", lambda c: c.file_bytes / 1e6),
        (
            f"bits per character, {_STEPS.value} steps",
            ".3f",
            lambda c: c.bits_after_steps,
        ),
        (
            f"bits per character, {_SECONDS.value:g} s",
            ".3f",
            lambda c: c.bits_after_seconds,
        ),
        (f"steps in {_SECONDS.value:g} s", "", lambda c: c.steps_in_time),
        (
            f"ms per training step, batch {_BATCH.value}",
            ".1f",
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
    lines = [" " * 34 + "".join(f"{c.name:>13}" for c in contestants)]
    for title, form, value in rows:
        cells = [f"{value(c):{form}}" for c in contestants]
        lines.append(f"{title:<34}" + "".join(f"{c:>13}" for c in cells))
        # Compared as printed. Of all rows, only of steps is many good.
        sign = -1 if title.startswith("steps") else 1
        if min(sign * float(c) for c in cells) < sign * float(cells[1]):
            lines[-1] += " *"
    lines.append(f"* a dense model is ahead of {contestants[1].name}")
    return "\n".join(lines)


def continue_prompt(model_file: pathlib.Path, prompt: str) -> str:
    """Loads a model and lets it write on, a character at a time."""
    model = keras.models.load_model(model_file, compile=False)
    characters = json.loads(model_file.with_suffix(".json").read_text())
    number = {c: i for i, c in enumerate(characters)}
    unknown = sorted(set(prompt) - set(characters))
    if unknown:
        raise ValueError(
            f"--prompt: got the characters {unknown}, expected those of "
            "Python's help topics; leave them out"
        )
    call = tf.function(model)
    rng = np.random.default_rng(_SEED.value)
    context = model.input_shape[1]
    text = prompt
    for _ in range(_LENGTH.value):
        # A prompt shorter than the context starts after empty lines.
        seen = [number[c] for c in text[-context:].rjust(context, "\n")]
        logits = call(tf.constant([seen], tf.int32)).numpy()[0]
        # Gumbel noise: the largest sum is a draw from the softmax.
        noise = _TEMPERATURE.value * rng.gumbel(size=len(characters))
        text += characters[int(np.argmax(logits + noise))]
    return text


def compare(folder: pathlib.Path) -> None:
    """Trains, measures, prints the table, and writes in a new process."""
    text = Text()
    print(
        f"{len(text.learn)} characters to learn from, {len(text.held_out)} "
        f"held out, {len(text.characters)} different ones"
    )
    contestants = make_contestants(len(text.characters))
    for contestant in contestants:
        print(f"{contestant.name}: {parameters(contestant.model)} parameters")
    train(contestants, text)
    time_inference(contestants, text)
    sparse_file = save(contestants, text.characters, folder)
    print(
        f"\n\n{_SPARSITY.value:.0%} of the {_BLOCK_SIZE.value} x "
        f"{_BLOCK_SIZE.value} blocks of the sparse model's hidden layers are "
        "left out.\nBits per character are of held-out text, times are "
        "medians of turns.\n"
    )
    print(table(contestants))
    print(
        "\nA new process loads the sparse model from its file and writes on:\n",
        flush=True,
    )
    subprocess.run(
        [
            sys.executable,
            __file__,
            f"--load={sparse_file}",
            f"--prompt={_PROMPT.value}",
            f"--length={_LENGTH.value}",
            f"--temperature={_TEMPERATURE.value}",
            f"--seed={_SEED.value}",
        ],
        check=True,
    )


def main(argv: list[str]) -> None:
    """Compares, or continues a prompt if told what to load."""
    if len(argv) > 1:
        raise app.UsageError(f"got {argv[1:]}, expected flags only")
    if _LOAD.value is not None:
        print(continue_prompt(pathlib.Path(_LOAD.value), _PROMPT.value))
    elif _OUTPUT.value is not None:
        compare(pathlib.Path(_OUTPUT.value))
    else:
        with tempfile.TemporaryDirectory(prefix="char_lm_") as folder:
            compare(pathlib.Path(folder))


if __name__ == "__main__":
    app.run(main)
