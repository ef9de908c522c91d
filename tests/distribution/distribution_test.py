# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Several replicas, and several workers, train as one device does.

A training with RigL goes from one device to two replicas, from there to two
workers and back to one device, by files.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import time

import pytest
import tensorflow as tf
import training

FOLDER = pathlib.Path(__file__).parent
ROOT = FOLDER.parents[1]
# Many times what they take, for machines that are busy otherwise.
TIMEOUT = 600


def start(program, folder, name, **environment):
    """A process that writes its output to a file."""
    with open(folder / f"{name}.txt", "w") as output:
        return subprocess.Popen(
            [sys.executable, FOLDER / program, str(folder)],
            cwd=folder,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "TF_CPP_MIN_LOG_LEVEL": "2",
                **environment,
            },
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def finish(processes, folder):
    """The lines that told of something passed, of each process by name."""
    end = time.monotonic() + TIMEOUT
    try:
        # One that fails leaves the others waiting.
        while time.monotonic() < end:
            codes = [process.poll() for process in processes.values()]
            if any(codes) or None not in codes:
                break
            time.sleep(0.1)
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    found = {}
    for name, process in processes.items():
        output = (folder / f"{name}.txt").read_text()
        assert process.returncode == 0, f"{name}:\n{output[-4000:]}"
        lines = [line.partition("passed: ") for line in output.splitlines()]
        found[name] = [rest for _, passed, rest in lines if passed]
    return found


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory):
    """Where a training of three steps on one device was saved."""
    folder = tmp_path_factory.mktemp("distribution")
    rigl, _ = training.CALLBACKS["RigL"]
    loop = training.Loop(tf.distribute.get_strategy())
    loop.run(rigl(0), steps=3).save(folder / "single")
    return folder


@pytest.fixture(scope="module", name="mirrored")
def _mirrored(folder):
    process = start("mirrored_program.py", folder, "mirrored-program")
    return finish({"mirrored-program": process}, folder)["mirrored-program"]


@pytest.fixture(scope="module", name="workers")
def _workers(folder, mirrored):
    sockets = [socket.socket() for _ in range(2)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    processes = {}
    for index in range(2):
        task = {"type": "worker", "index": index}
        config = {"cluster": {"worker": addresses}, "task": task}
        processes[f"worker {index}"] = start(
            "workers_program.py",
            folder,
            f"worker {index}",
            TF_CONFIG=json.dumps(config),
        )
    return finish(processes, folder)


def test_replicas_do_as_one_device(mirrored):
    assert mirrored == [
        "fit Adam",
        "fit SGD and ConcreteGate",
        "fit RigL",
        "loop RigL",
        "loop BlockPruning",
        "refused",
        "went on",
    ]


def test_workers_do_as_one_process(workers):
    first, second = workers.values()
    names = [line.rpartition(" ")[0] for line in first]
    assert names == ["first layouts", *training.CALLBACKS, "went on"]
    # Weights, layouts and optimizers are the same to the bit.
    assert first == second


def test_a_training_moves_between_devices_replicas_and_workers(folder, workers):
    rigl, _ = training.CALLBACKS["RigL"]
    loop = training.Loop(tf.distribute.get_strategy())
    loop.restore(folder / "workers-0").run(rigl(0), first=9, steps=3)
    single = training.Loop(tf.distribute.get_strategy())
    before = [layer.layout for layer in single.model.layers[:4:3]]
    single.run(rigl(0), steps=12)
    training.assert_same(loop.model, single.model.get_weights())
    assert int(loop.optimizer.iterations) == 12
    after = [layer.layout for layer in loop.model.layers[:4:3]]
    assert all(a != b for a, b in zip(before, after, strict=True))
