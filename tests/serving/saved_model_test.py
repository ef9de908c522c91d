# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Exported models in programs that have only the op library, or its ops."""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from exported_models import MODELS, Products, export, tensor_names

import tf_blocksparse

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = tf_blocksparse.library_path()

# Writes the outputs of models, one after the other, for the inputs beside them.
SERVE = """
import glob
import sys
sys.modules["tf_blocksparse"] = None
import numpy as np
import tensorflow as tf
libraries, *folders = sys.argv[1:]
for library in libraries.split():
    tf.load_op_library(library)
for folder in folders:
    serve = tf.saved_model.load(folder).signatures["serving_default"]
    (name,) = serve.structured_input_signature[1]
    for path in sorted(glob.glob(folder + ".x*.npy")):
        (y,) = serve(**{name: tf.constant(np.load(path))}).values()
        sys.stdout.buffer.write(y.numpy().tobytes())
assert not any(name.startswith("tf_blocksparse.") for name in sys.modules)
"""


class Exported:
    """A SavedModel, its inputs, and what this process computes of them."""

    def __init__(self, name, folder):
        self.folder = folder
        self.shapes = MODELS[name][1]
        self.model, self.inputs = export(name, folder)
        serve = tf.saved_model.load(folder).signatures["serving_default"]
        (argument,) = serve.structured_input_signature[1]
        self.outputs = []
        for i, x in enumerate(self.inputs):
            np.save(f"{folder}.x{i}.npy", x)
            (y,) = serve(**{argument: tf.constant(x)}).values()
            self.outputs.append(y.numpy())
        self.words = [folder, *tensor_names(folder)]
        self.words += [",".join(map(str, shape)) for shape in self.shapes]

    def run(self, *command):
        """Runs a program that reads the inputs of this model."""
        return run(*command, data=b"".join(x.tobytes() for x in self.inputs))


def run(*command, data=None):
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return subprocess.run(
        command,
        input=data,
        capture_output=True,
        # Where there is no tf_blocksparse.
        cwd="/",
        env={**inherited, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )


def check(done, *models):
    """The same bits as where tf_blocksparse is imported."""
    assert done.returncode == 0, done.stderr.decode()
    outputs = [y.ravel() for model in models for y in model.outputs]
    got = np.frombuffer(done.stdout, np.float32)
    np.testing.assert_array_equal(got, np.concatenate(outputs))


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Every model by its name."""
    folder = tmp_path_factory.mktemp("exported")
    return {name: Exported(name, folder / name) for name in MODELS}


every_model = pytest.mark.parametrize("name", MODELS)


@every_model
def test_loaded_here(exported, name):
    model = exported[name]
    for x, y in zip(model.inputs, model.outputs, strict=True):
        expected = model.model(x)
        if isinstance(expected, dict):
            expected = expected["y"]
        assert y.shape == expected.shape
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


def test_python_with_only_the_library(exported):
    models = exported.values()
    folders = [model.folder for model in models]
    check(run(sys.executable, "-c", SERVE, LIBRARY, *folders), *models)


@pytest.fixture(scope="module")
def c_program(tmp_path_factory):
    """The example in C, compiled as the documentation says."""
    text = (ROOT / "docs/serving.md").read_text()
    (commands,) = re.findall(r"^```sh\n(TF=.*?)^```$", text, re.M | re.S)
    folder = tmp_path_factory.mktemp("c_program")
    (folder / "examples").symlink_to(ROOT / "examples")
    path = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euc", commands.replace("gcc ", "gcc -Wall -Werror ")],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder / "run_saved_model"


@every_model
def test_c_program(exported, c_program, name):
    model = exported[name]
    check(model.run(c_program, f"--library={LIBRARY}", *model.words), model)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda words: words[:3], "usage: "),
        (lambda words: [*words[:3], "4,x"], "4,x: expected numbers"),
        (lambda words: [*words[:3], "9999,48"], "standard input ends before"),
        (lambda words: [*words[:3], "2147483647,48"], "more than 4 GiB"),
        (lambda words: [*words[:3], "4,47"], "run: "),
        (lambda words: [words[0], "no:0", *words[2:]], "no such tensor"),
        (lambda words: [*words[:2], words[1][:-1] + "7", "4,48"], "outputs"),
        (lambda words: ["no_such_model", *words[1:]], "no_such_model: "),
    ],
)
def test_c_program_says_what_is_wrong(exported, c_program, change, message):
    model = exported["dense"]
    words = change(model.words)
    done = model.run(c_program, f"--library={LIBRARY}", *words)
    assert done.returncode in (1, 2)
    assert message in done.stderr.decode()


MISSING = re.compile(rb"Op type not registered '?Blocksparse>Matmul")


def test_python_without_the_library(exported):
    folder = exported["dense"].folder
    done = run(sys.executable, "-c", SERVE, "", folder)
    assert done.returncode == 1
    assert MISSING.search(done.stderr), done.stderr


def test_c_program_without_the_library(exported, c_program):
    model = exported["dense"]
    done = model.run(c_program, *model.words)
    assert done.returncode == 1
    assert MISSING.search(done.stderr), done.stderr


def test_c_program_with_a_library_that_is_not_there(exported, c_program):
    model = exported["dense"]
    done = model.run(c_program, "--library=/no/such.so", *model.words)
    assert done.returncode == 1
    assert b"/no/such.so: cannot open shared object file" in done.stderr


def test_c_program_tells_of_a_full_disk(exported, c_program):
    model = exported["dense"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [c_program, f"--library={LIBRARY}", *model.words],
            input=b"".join(x.tobytes() for x in model.inputs),
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == 1
    assert b"output: cannot be written" in done.stderr


@pytest.fixture(scope="module")
def static_program():
    """The example with the ops in it, which loads no library."""
    bazel = os.environ.get("BAZEL", "bazel")
    target = "//examples/serving:run_saved_model"
    done = subprocess.run(
        [bazel, "build", target], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return ROOT / ".bazel/bin/examples/serving/run_saved_model"


@pytest.mark.slow
@every_model
def test_program_with_the_ops_linked_in(exported, static_program, name):
    model = exported[name]
    folder = tf.sysconfig.get_lib()
    command = ["env", f"LD_LIBRARY_PATH={folder}", static_program]
    check(model.run(*command, *model.words), model)
    needed = subprocess.check_output(["ldd", static_program], text=True)
    assert "blocksparse" not in needed


def test_training_goes_on_with_a_loaded_model(exported):
    x = tf.constant(exported["products"].inputs[0])
    loaded = tf.saved_model.load(exported["products"].folder)
    fresh = Products()
    gradients = []
    for model in (loaded, fresh):
        with tf.GradientTape() as tape:
            y = model(x)["y"]
        gradients.append(tape.gradient(y, model.blocks))
    np.testing.assert_allclose(*gradients, rtol=1e-4, atol=1e-2)
