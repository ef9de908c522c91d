# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Several replicas, and several workers, train as one device does.

A training with RigL goes from one device to two replicas, from there to two
workers and back to one device, by files.
"""

import contextlib
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
                # Two processes cannot have one GPU.
                "CUDA_VISIBLE_DEVICES": "-1",
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


@pytest.fixture(scope="module", name="single")
def _single():
    """A training of three steps on one device."""
    loop = training.Loop(tf.distribute.get_strategy())
    return loop.run(training.rigl(), steps=3)


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory, single):
    """Where it was saved."""
    folder = tmp_path_factory.mktemp("distribution")
    single.save(folder / "single")
    return folder


@pytest.fixture(scope="module", name="mirrored")
def _mirrored(folder):
    process = start("mirrored_program.py", folder, "mirrored-program")
    return finish({"mirrored-program": process}, folder)["mirrored-program"]


@pytest.fixture(scope="module", name="workers")
def _workers(folder, mirrored):
    processes = {}
    with reserved_ports(2) as ports:
        addresses = [f"127.0.0.1:{port}" for port in ports]
        for index in range(2):
            task = {"type": "worker", "index": index}
            config = {"cluster": {"worker": addresses}, "task": task}
            processes[f"worker {index}"] = start(
                "workers_program.py",
                folder,
                f"worker {index}",
                TF_CONFIG=json.dumps(config),
                TF_GRPC_REUSE_PORT="1",
            )
        return finish(processes, folder)


@contextlib.contextmanager
def reserved_ports(count):
    """Ports that no one takes but who asks to reuse them, as workers do."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            each.bind(("127.0.0.1", 0))
        yield [each.getsockname()[1] for each in sockets]


def test_replicas_do_as_one_device(mirrored):
    assert mirrored == [
        "fit SGD and ConcreteGate",
        "fit Adam and RigL",
        *(f"loop {stage}" for stage in training.STAGES),
        "refused",
        "went on",
    ]


def test_workers_do_as_one_process(workers):
    first, second = workers.values()
    names = [line.rpartition(" ")[0] for line in first]
    before = ["first layouts", "bfloat16"]
    assert names == [*before, *training.STAGES, "went on"]
    # Weights, layouts and optimizers are the same to the bit.
    assert first == second


def test_a_training_moves_between_devices(folder, workers, single):
    moved = training.Loop(tf.distribute.get_strategy())
    moved.restore(folder / "workers-0").run(training.rigl(), steps=3)
    before = layouts(single)
    single.run(training.rigl(), steps=9)
    training.assert_same(moved.model, single.model.get_weights())
    assert int(moved.optimizer.iterations) == 12
    assert all(a != b for a, b in zip(before, layouts(moved), strict=True))


def layouts(loop):
    return [layer.layout for layer in loop.model.layers[:4:3]]
