# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Two workers train one model, and its blocks stay the same on both.

The language model of char_lm.py learns in one process, and again in several
workers, which this program starts on this machine: each has a part of every
batch, and MultiWorkerMirroredStrategy adds up their gradients. Meanwhile RigL
moves blocks, or pruning closes them, as all workers together decide. A table
tells how far the loss of the workers was from that of the one process, and
whether all had the same blocks after each step.

    python examples/distributed_training.py --workers=4 --steps=60

All of it is on CPUs: several processes cannot have one GPU.
"""

import contextlib
import hashlib
import itertools
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import char_lm
import keras
import numpy as np
import tensorflow as tf
from absl import app, flags

from tf_blocksparse import callbacks, inspection, layers, schedules

_WORKERS = flags.DEFINE_integer(
    "workers", 2, "Processes to start.", lower_bound=1
)
_WAYS = flags.DEFINE_list(
    "ways", "fixed,RigL,pruning", "Any of fixed, RigL, pruning."
)
_TIMEOUT = flags.DEFINE_float(
    "timeout", 300.0, "Seconds after which workers are stopped."
)
_REPORT = flags.DEFINE_string(
    "report", None, "Be a worker, and write a file for each way to here."
)
for _name, _default in {
    "width": 512,
    "sparsity": 0.75,
    "block_size": 16,
    "steps": 40,
    "batch": 64,
    "context": 16,
    "optimizer": "tf_blocksparse",
}.items():
    flags.FLAGS.set_default(_name, _default)
    flags.declare_key_flag(_name)
FLAGS = flags.FLAGS
flags.register_validator("steps", lambda steps: steps > 0, "expected 1 or more")
flags.register_multi_flags_validator(
    ["batch", "workers"],
    lambda values: (
        values["batch"] > 0 and not values["batch"] % values["workers"]
    ),
    "expected a multiple of --workers, whose parts count equally",
)


def stay() -> None:
    """Blocks are where they were."""


def move() -> callbacks.RigL:
    """The lightest blocks move to where the gradient is largest."""
    return callbacks.RigL(end_step=FLAGS.steps, frequency=update_every())


def prune() -> callbacks.BlockPruning:
    """The lightest of all blocks are closed, a few at a time."""
    return callbacks.BlockPruning(
        schedules.Polynomial(
            0.0, FLAGS.sparsity, 0, FLAGS.steps, frequency=update_every()
        )
    )


def update_every() -> int:
    """Steps between two changes."""
    return max(1, FLAGS.steps // 8)


def all_blocks(width: int) -> keras.layers.Layer:
    """A layer with every block, of which a mask may close some."""
    return layers.BlockSparseDense(
        width, "relu", block_size=FLAGS.block_size, sparsity=0.0, gate="mask"
    )


# What a hidden layer is, and what happens between the steps.
WAYS = {
    "fixed": (char_lm.sparse_layer, stay),
    "RigL": (char_lm.sparse_layer, move),
    "pruning": (all_blocks, prune),
}


def train(strategy: tf.distribute.Strategy, way: str, path: str) -> None:
    """Trains a model, and writes a line for each step to a file."""
    text = char_lm.Text()
    hidden, change = WAYS[way]
    with strategy.scope():
        model = char_lm.make_model(hidden, FLAGS.width, len(text.characters))
    changes = change()
    if changes:
        changes.start(model)

    def batches(context: tf.distribute.InputContext) -> tf.data.Dataset:
        """A worker's part of each batch."""
        own = slice(
            context.input_pipeline_id, None, context.num_input_pipelines
        )

        def parts():
            for step in range(FLAGS.steps):
                x, y = text.batch(step)
                yield x[own], y[own]

        return tf.data.Dataset.from_generator(
            parts,
            output_signature=(
                tf.TensorSpec([None, FLAGS.context], tf.int32),
                tf.TensorSpec([None], tf.int32),
            ),
        )

    def replica_step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            # Keras divides it by the number of replicas, whose losses are
            # added up below, and their gradients by the optimizer.
            loss = model.compute_loss(x, y, model(x, training=True))
        variables = model.trainable_variables
        model.optimizer.apply(tape.gradient(loss, variables), variables)
        return loss

    @tf.function
    def train_step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        losses = strategy.run(replica_step, (x, y))
        return strategy.reduce("SUM", losses, axis=None)

    with open(path, "w") as file:
        for x, y in strategy.distribute_datasets_from_function(batches):
            loss = float(train_step(x, y))
            if changes:
                changes.step(x, y)
            print(json.dumps([loss, digest(model)]), file=file, flush=True)


def digest(model: keras.Model) -> str:
    """A short text for which blocks there are, and which of them are open."""
    found = hashlib.sha256()
    for layer in inspection.Inspection.of(model).layers:
        found.update(layer.layout.packed.tobytes())
        found.update(layer.open.tobytes())
    return found.hexdigest()


def work(folder: str) -> None:
    """What each of the started processes does."""
    # Before anything else is done with TensorFlow.
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    worker = strategy.cluster_resolver.task_id
    for way in _WAYS.value:
        train(strategy, way, f"{folder}/{way}-{worker}")
    # The others would report one that ends before them as lost.
    strategy.reduce("SUM", tf.zeros([]), axis=None)


@contextlib.contextmanager
def reserved_ports(count: int) -> Iterator[list[int]]:
    """Ports that no one takes but who asks to reuse them, as workers do."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            each.bind(("127.0.0.1", 0))
        yield [each.getsockname()[1] for each in sockets]


def start_worker(
    index: int, ports: list[int], folder: pathlib.Path
) -> subprocess.Popen:
    """This program again, as a worker that is told of all the others."""
    addresses = [f"127.0.0.1:{port}" for port in ports]
    task = {"type": "worker", "index": index}
    config = {"cluster": {"worker": addresses}, "task": task}
    with open(folder / f"log-{index}", "w") as log:
        return subprocess.Popen(
            [sys.executable, *sys.argv, f"--report={folder}"],
            env={
                **os.environ,
                "TF_CONFIG": json.dumps(config),
                "TF_GRPC_REUSE_PORT": "1",
            },
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def run_workers(ports: list[int], folder: pathlib.Path) -> None:
    """Waits for workers with a bar; stops all if one fails or is late."""
    bar = Bar("workers")
    end = time.monotonic() + _TIMEOUT.value
    workers: list[subprocess.Popen] = []
    try:
        for index in range(len(ports)):
            workers.append(start_worker(index, ports, folder))
        while None in (codes := [worker.poll() for worker in workers]):
            if any(codes) or time.monotonic() > end:
                break
            for way in _WAYS.value:
                bar.show(way, len(lines(folder / f"{way}-0")))
            time.sleep(0.1)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    if any(codes) or None in codes:
        failed = next((i for i, code in enumerate(codes) if code), 0)
        log = (folder / f"log-{failed}").read_text()
        why = "failed" if any(codes) else f"took over {_TIMEOUT.value:.0f} s"
        sys.exit(f"worker {failed} {why}; its last words:\n{log[-2000:]}")


class Bar:
    """How many steps of all ways are done, on a terminal."""

    def __init__(self, who: str) -> None:
        print(who)
        self.bar = keras.utils.Progbar(len(_WAYS.value) * FLAGS.steps)

    def show(self, way: str, steps: int) -> None:
        """Of this way so many, and of the ways before it all."""
        done = _WAYS.value.index(way) * FLAGS.steps + steps
        if steps and sys.stdout.isatty():
            self.bar.update(done)


def lines(path: pathlib.Path) -> list[list]:
    """What `train` has written so far."""
    if not path.exists():
        return []
    text = path.read_text()
    return [json.loads(line) for line in text.split("\n")[:-1]]


def table(folder: pathlib.Path) -> tuple[str, bool]:
    """A line for each way, and whether workers had the same blocks always."""
    rows = [
        f"{'':<9}{'loss, first':>12}{'loss, last':>12}{'difference':>12}"
        f"{'changes':>9}  blocks of the workers  of one process"
    ]
    is_good = True
    for way in _WAYS.value:
        single, *each = [
            lines(folder / f"{way}-{who}")
            for who in ("single", *range(_WORKERS.value))
        ]
        losses, blocks = zip(*each[0], strict=True)
        expected, expected_blocks = zip(*single, strict=True)
        difference = np.max(np.abs(np.subtract(losses, expected) / expected))
        changes = sum(a != b for a, b in itertools.pairwise(blocks))
        is_same = all(other == each[0] for other in each)
        is_good &= is_same
        as_single = blocks == expected_blocks
        rows.append(
            f"{way:<9}{losses[0]:>12.4f}{losses[-1]:>12.4f}{difference:>12.1e}"
            f"{changes:>9}  {'the same' if is_same else 'NOT THE SAME':<21}"
            f"  {'the same' if as_single else 'others'}"
        )
    return "\n".join(rows), is_good


def main(argv: list[str]) -> None:
    """Trains in one process, then in workers, and compares."""
    if len(argv) > 1 or not _WAYS.value or not {*_WAYS.value} <= {*WAYS}:
        raise app.UsageError(
            f"got {argv[1:]} and --ways={','.join(_WAYS.value)}, expected "
            f"flags only, and ways of {', '.join(WAYS)}"
        )
    tf.config.set_visible_devices([], "GPU")
    if _REPORT.value:
        work(_REPORT.value)
        return
    # So that workers and files are removed as when it is interrupted.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    print(
        f"{FLAGS.steps} steps of {FLAGS.batch} examples, two hidden layers of "
        f"{FLAGS.width} units, {FLAGS.sparsity:.0%} of their\n"
        f"{FLAGS.block_size} x {FLAGS.block_size} blocks left out; then the "
        f"same by {_WORKERS.value} workers"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        bar = Bar("one process")
        for way in _WAYS.value:
            train(tf.distribute.get_strategy(), way, f"{folder}/{way}-single")
            bar.show(way, FLAGS.steps)
        with reserved_ports(_WORKERS.value) as ports:
            run_workers(ports, folder)
        rows, is_good = table(folder)
    print(
        "\nThe loss of the workers' first and last step; how far it was from "
        "that of the one\nprocess at most, as a share of it; how often blocks "
        "moved or were closed:\n"
    )
    print(rows)
    if not is_good:
        sys.exit("the workers had different blocks")


if __name__ == "__main__":
    app.run(main)
