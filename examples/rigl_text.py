# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""How to get few blocks: fixed at random, moved by RigL, or pruned.

The language model of char_lm.py learns the same text in three ways that end
with equally many blocks: blocks at random places that stay; the same ones, of
which RigL moves the lightest to where the gradient is largest; and all blocks,
of which gradual pruning leaves the heaviest. From each seed all start with the
same numbers and see the same batches, for equally many steps. A table compares
what they know of text that they have not seen, whatever comes out, and a
picture shows how they got there.

    python examples/rigl_text.py --width=1024 --steps=300 --seeds=1,2,3
"""

import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import char_lm
import keras
import numpy as np
from absl import app, flags

from tf_blocksparse import callbacks, inspection, layers, schedules

_SEEDS = flags.DEFINE_list(
    "seeds", "1,2,3,4,5", "Of weights, layouts and batches."
)
_WAYS = flags.DEFINE_list(
    "ways", "random,RigL,pruning", "Any of random, SET, RigL, pruning, dense."
)
_FRACTION = flags.DEFINE_float(
    "fraction", 0.3, "Share of the blocks that RigL moves at first."
)
_UPDATES = flags.DEFINE_integer(
    "updates", 25, "How often blocks move or are pruned.", lower_bound=1
)
_TESTS = flags.DEFINE_integer(
    "tests", 6, "How often a model is tested while it learns.", lower_bound=1
)
_PICTURE = flags.DEFINE_string(
    "picture", "rigl_text.png", "File to draw in; none if empty."
)
# The flags of char_lm.py of which model, text and training depend.
_TAKEN = {
    "width": 2048,
    "sparsity": 0.95,
    "block_size": 32,
    "steps": 600,
    "batch": 128,
    "context": 32,
    "embedding": 32,
    "learning_rate": 2e-3,
    "held_out": 8192,
}
for _name, _default in _TAKEN.items():
    flags.FLAGS.set_default(_name, _default)
    flags.declare_key_flag(_name)
FLAGS = flags.FLAGS

# RigL's paper: the last quarter of the steps learns with blocks that stay.
_LAST_UPDATE = 0.75


@dataclasses.dataclass
class Run:
    """A training from one seed and what came out of it."""

    way: str
    seed: int
    steps: list[int] = dataclasses.field(default_factory=list)
    bits: list[float] = dataclasses.field(default_factory=list)
    blocks: int = 0
    step_ms: float = 0.0


class Stay:
    """Leaves blocks where they are."""

    def start(self, model: keras.Model) -> None:
        """Nothing to do, as in each step."""

    def step(self, x: np.ndarray, y: np.ndarray) -> None:
        """Nothing."""


class Prune(Stay):
    """Closes the lightest blocks, fewer and fewer at a time."""

    def start(self, model: keras.Model) -> None:
        """Begins after a few steps, since the first weights say nothing."""
        self._pruning = callbacks.BlockPruning(
            schedules.Polynomial(
                0.0,
                FLAGS.sparsity,
                begin_step=FLAGS.steps // 10,
                end_step=last_update(),
                frequency=update_every(),
            )
        )
        self._pruning.start(model)

    def step(self, x: np.ndarray, y: np.ndarray) -> None:
        """Prunes where it is due."""
        self._pruning.step()


class Move(Stay):
    """Moves the lightest blocks to where the gradient is largest."""

    regrowth: Callable[..., Any] = callbacks.RigL

    def start(self, model: keras.Model) -> None:
        """Acts from the first steps on."""
        self._moves = self.regrowth(
            end_step=last_update(),
            frequency=update_every(),
            fraction=_FRACTION.value,
            seed=FLAGS.seed,
        )
        self._moves.start(model)

    def step(self, x: np.ndarray, y: np.ndarray) -> None:
        """RigL looks at the gradient of the step's own batch."""
        self._moves.step(x, y)


class MoveAtRandom(Move):
    """Moves the lightest blocks to wherever none is."""

    regrowth = callbacks.SET

    def step(self, x: np.ndarray, y: np.ndarray) -> None:
        """No batch plays a part."""
        self._moves.step()


def last_update() -> int:
    """The step from which on blocks stay."""
    return max(FLAGS.steps // 10 + 1, round(_LAST_UPDATE * FLAGS.steps))


def update_every() -> int:
    """Steps between two updates."""
    return max(1, last_update() // _UPDATES.value)


def all_blocks(width: int) -> keras.layers.Layer:
    """A layer with every block, of which a mask may close some."""
    return layers.BlockSparseDense(
        width, "relu", block_size=FLAGS.block_size, sparsity=0.0, gate="mask"
    )


# What a hidden layer is, and what happens in training.
WAYS: dict[str, tuple[Callable[[int], keras.layers.Layer], Stay]] = {
    "random": (char_lm.sparse_layer, Stay()),
    "SET": (char_lm.sparse_layer, MoveAtRandom()),
    "RigL": (char_lm.sparse_layer, Move()),
    "pruning": (all_blocks, Prune()),
    "dense": (char_lm.dense_layer, Stay()),
}


def train(way: str, seed: int, text: char_lm.Text) -> Run:
    """Trains one model and tests it now and then."""
    # By which char_lm.py draws weights, layouts and batches.
    FLAGS.seed = seed
    hidden, changes = WAYS[way]
    model = char_lm.make_model(hidden, FLAGS.width, len(text.characters))
    contestant = char_lm.Contestant(way, model)
    changes.start(model)
    run = Run(way, seed)
    tests = {
        FLAGS.steps * part // _TESTS.value
        for part in range(1, _TESTS.value + 1)
    }
    seconds = []
    for step in range(FLAGS.steps):
        x, y = text.batch(step)
        start = time.perf_counter()
        model.train_on_batch(x, y)
        changes.step(x, y)
        seconds.append(time.perf_counter() - start)
        if step + 1 in tests:
            run.steps.append(step + 1)
            run.bits.append(contestant.test(text))
    # The updates count, but not what the first step compiles.
    run.step_ms = 1e3 * statistics.mean(seconds[1:] or seconds)
    seen = inspection.Inspection.of(model).layers
    run.blocks = sum(each.layout.nnz - each.closed for each in seen)
    return run


def bits(runs: Sequence[Run], way: str) -> list[float]:
    """Bits per character at the end, in the order of the seeds."""
    return [run.bits[-1] for run in runs if run.way == way]


def spread(values: Sequence[float]) -> float:
    """The standard deviation of the values; of one it is not known."""
    return statistics.stdev(values) if len(values) > 1 else float("nan")


def table(runs: Sequence[Run]) -> str:
    """A line for each way."""
    ways = list(dict.fromkeys(run.way for run in runs))
    lines = [
        f"{'':<9}{'blocks':>8}{'mean':>9}{'spread':>8}{'lowest':>8}"
        f"{'highest':>9}{'less than ' + ways[0]:>25}{'ms a step':>11}"
    ]
    for way in ways:
        found = bits(runs, way)
        of_way = [run for run in runs if run.way == way]
        # From each seed on its own, since seeds differ more than ways do.
        less = [a - b for a, b in zip(bits(runs, ways[0]), found, strict=True)]
        gain = f"{statistics.mean(less):+.3f} +- {spread(less):.3f}"
        blocks = of_way[0].blocks or "all"
        lines.append(
            f"{way:<9}{blocks:>8}{statistics.mean(found):>9.3f}"
            f"{spread(found):>8.3f}{min(found):>8.3f}{max(found):>9.3f}"
            f"{gain if way != ways[0] else '':>25}"
            f"{statistics.median(run.step_ms for run in of_way):>11.1f}"
        )
    return "\n".join(lines)


def draw(runs: Sequence[Run], path: str) -> None:
    """Draws the mean of all seeds over the steps, and their spread."""
    import matplotlib.figure

    figure = matplotlib.figure.Figure((7, 4.5), layout="constrained")
    ax = figure.add_subplot()
    for way in dict.fromkeys(run.way for run in runs):
        found = [run for run in runs if run.way == way]
        curves = np.array([run.bits for run in found])
        (line,) = ax.plot(found[0].steps, curves.mean(0), marker=".", label=way)
        ax.fill_between(
            found[0].steps,
            curves.min(0),
            curves.max(0),
            color=line.get_color(),
            alpha=0.2,
            linewidth=0,
        )
    ax.set_xlabel("training steps")
    ax.set_ylabel("bits per character of held-out text")
    ax.set_title(
        f"{FLAGS.sparsity:.0%} of {FLAGS.block_size} x {FLAGS.block_size} "
        f"blocks left out, {len(_SEEDS.value)} seeds: mean, lowest, highest",
        size="medium",
    )
    ax.grid(alpha=0.3)
    ax.legend()
    figure.savefig(path, dpi=110)


def main(argv: list[str]) -> None:
    """Trains every way from every seed, prints the table and draws."""
    unknown = sorted(set(_WAYS.value) - set(WAYS))
    if len(argv) > 1 or unknown or not _WAYS.value:
        raise app.UsageError(
            f"got {argv[1:]} and --ways={','.join(_WAYS.value)}, expected "
            f"flags only, and ways of {', '.join(WAYS)}"
        )
    seeds = [int(seed) for seed in _SEEDS.value]
    text = char_lm.Text()
    print(
        f"{len(text.learn)} characters to learn from, {FLAGS.steps} steps of "
        f"{FLAGS.batch} examples,\ntwo hidden layers of {FLAGS.width} units, "
        f"{FLAGS.sparsity:.0%} of their {FLAGS.block_size} x "
        f"{FLAGS.block_size} blocks left out\n"
    )
    runs: list[Run] = []
    total = len(seeds) * len(_WAYS.value)
    for seed in seeds:
        for way in _WAYS.value:
            run = train(way, seed, text)
            runs.append(run)
            print(
                f"{len(runs)} of {total}: seed {seed}, {way}: "
                f"{run.bits[-1]:.3f} bits per character",
                flush=True,
            )
            # Else the graphs of all models would stay in memory.
            keras.backend.clear_session()
    print(
        "\nBits per character of held-out text at the end, of "
        f"{len(seeds)} seeds; the spread is the\nstandard deviation, and "
        f"what is less than {_WAYS.value[0]} is so from the same seed.\n"
    )
    print(table(runs))
    if _PICTURE.value:
        draw(runs, _PICTURE.value)
        print(f"\npicture: {_PICTURE.value}")


if __name__ == "__main__":
    app.run(main)
