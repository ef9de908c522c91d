# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The library of ops by itself: who may load it, and who needs no Python."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import tf_blocksparse
from tf_blocksparse import ops, testing
from tf_blocksparse.ops import _library

PACKAGE = pathlib.Path(tf_blocksparse.__file__).parent
PROGRAMS = pathlib.Path(__file__).parent


def run(*command, cwd, **environment):
    """Runs a program that sees this package only if PYTHONPATH says so."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name != "PYTHONPATH"
    }
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**inherited, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
    )


def import_error(folder, code="import tf_blocksparse", **environment):
    """The last line that a failing import prints."""
    done = run(
        sys.executable,
        "-c",
        code,
        cwd=folder,
        PYTHONPATH=str(folder),
        **environment,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "undefined symbol" not in done.stderr
    assert "During handling" not in done.stderr
    return done.stderr.strip().splitlines()[-1]


@pytest.fixture
def copied(tmp_path):
    """A copy of the package that a test may spoil."""
    shutil.copytree(PACKAGE, tmp_path / "tf_blocksparse", symlinks=True)
    return tmp_path


def test_another_tensorflow(copied):
    built_for = copied / "tf_blocksparse" / "built_for.json"
    built_for.write_text('{"tensorflow": "2.9.1"}')
    assert import_error(copied) == (
        "ImportError: tf_blocksparse: built for TensorFlow 2.9, found "
        f'{tf.__version__}; run `pip install "tensorflow-cpu==2.9.*"`, or '
        'with a GPU `pip install "tensorflow[and-cuda]==2.9.*"`, or build '
        "tf_blocksparse again"
    )


def test_half_uninstalled_tensorflow(copied):
    # Python makes such a module of a folder that pip left behind.
    code = (
        "import sys, types\n"
        "sys.modules['tensorflow'] = types.ModuleType('tensorflow')\n"
        "import tf_blocksparse"
    )
    line = import_error(copied, code)
    assert line.startswith(
        "ImportError: tf_blocksparse: got a TensorFlow without a version, "
        "half uninstalled, expected"
    )
    assert '"tensorflow-cpu==' in line
    assert '"tensorflow[and-cuda]==' in line


def test_no_tensorflow(copied):
    code = "import sys; sys.modules['tensorflow'] = None; import tf_blocksparse"
    line = import_error(copied, code)
    assert line.startswith(
        "ImportError: tf_blocksparse: no TensorFlow, expected"
    )
    assert '"tensorflow-cpu==' in line
    assert '"tensorflow[and-cuda]==' in line


@pytest.mark.parametrize("name", ["libtf_blocksparse.so", "built_for.json"])
def test_not_built(copied, name):
    (copied / "tf_blocksparse" / name).unlink()
    line = import_error(copied)
    assert line.startswith("ImportError: tf_blocksparse: no library in /")
    assert "install tf_blocksparse again" in line
    (copied / "setup.py").touch()  # as in a source tree
    assert "run `make build` there" in import_error(copied)


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_another_keras_backend(copied, backend):
    assert import_error(copied, KERAS_BACKEND=backend) == (
        f"ImportError: tf_blocksparse: got the Keras backend {backend}, "
        "expected tensorflow; set KERAS_BACKEND=tensorflow before importing "
        "keras"
    )


def test_another_platform(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(
        ImportError, match="got platform darwin, expected linux"
    ):
        _library._check_built()


def test_import_makes_no_tensor_and_no_device(copied):
    # Both functions refuse once TensorFlow has set up its devices.
    code = (
        "import tensorflow as tf, tf_blocksparse\n"
        "tf.config.threading.set_intra_op_parallelism_threads(1)\n"
        "cpu = tf.config.list_physical_devices('CPU')[0]\n"
        "two = [tf.config.LogicalDeviceConfiguration()] * 2\n"
        "tf.config.set_logical_device_configuration(cpu, two)\n"
        "assert len(tf.config.list_logical_devices('CPU')) == 2\n"
    )
    done = run(sys.executable, "-c", code, cwd=copied, PYTHONPATH=str(copied))
    assert done.returncode == 0, done.stderr


def test_library_path():
    path = tf_blocksparse.library_path()
    assert os.path.isabs(path)
    assert os.path.isfile(path)


class Product(tf.Module):
    """Every op that inference can meet, in one model."""

    def __init__(self):
        super().__init__()
        self.layout = testing.make_layout("random", (4, 8))
        rng = np.random.default_rng(0)
        shape = [self.layout.nnz, 4, 8]
        self.blocks = tf.Variable(rng.standard_normal(shape), dtype=tf.float32)
        self.gate = tf.Variable(rng.random(shape[0]), dtype=tf.float32)
        self.packed = tf.Variable(self.layout.packed)

    @tf.function(
        input_signature=[tf.TensorSpec([None, 43], tf.float32, name="x")]
    )
    def __call__(self, x):
        layout = ops.LayoutTensor(
            self.packed, self.layout.shape, self.layout.block_size
        )
        y = ops.matmul(x, self.blocks, layout, activation="gelu")
        x = ops.matmul(y, self.blocks, self.layout, transpose=True)
        product = ops.sampled_matmul(x, y, layout, gate=self.gate)
        return {"y": y + tf.reduce_sum(product)}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A folder with a SavedModel, an input and the expected output."""
    folder = tmp_path_factory.mktemp("exported")
    model = Product()
    x = np.random.default_rng(1).standard_normal((3, 43)).astype(np.float32)
    expected = model(x)["y"].numpy()
    tf.saved_model.save(model, str(folder / "model"))
    np.save(folder / "x.npy", x)
    return folder, expected


def check_output(done, expected):
    assert done.returncode == 0, done.stdout + done.stderr
    actual = np.array(json.loads(done.stdout.splitlines()[-1]))
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


def test_saved_model_needs_only_the_library(exported, tmp_path):
    folder, expected = exported
    code = (
        "import json, sys\n"
        "sys.modules['tf_blocksparse'] = None\n"
        "import numpy as np, tensorflow as tf\n"
        "library, folder = sys.argv[1:]\n"
        "tf.load_op_library(library)\n"
        "model = tf.saved_model.load(folder + '/model')\n"
        "x = tf.constant(np.load(folder + '/x.npy'))\n"
        "y = model.signatures['serving_default'](x=x)['y']\n"
        "print(json.dumps(y.numpy().tolist()))\n"
    )
    done = run(
        sys.executable,
        "-c",
        code,
        tf_blocksparse.library_path(),
        str(folder),
        cwd=tmp_path,
    )
    check_output(done, expected)


def test_saved_model_through_the_c_api(exported, tmp_path):
    folder, expected = exported
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.load(
            session, ["serve"], str(folder / "model")
        )
    signature = meta.signature_def["serving_default"]
    done = run(
        sys.executable,
        str(PROGRAMS / "c_api_program.py"),
        str(pathlib.Path(tf.__file__).parent),
        tf_blocksparse.library_path(),
        str(folder),
        signature.inputs["x"].name,
        signature.outputs["y"].name,
        cwd=tmp_path,
    )
    check_output(done, expected)


def test_training_goes_on_with_a_loaded_model(exported):
    folder, expected = exported
    model = tf.saved_model.load(str(folder / "model"))
    x = tf.constant(np.load(folder / "x.npy"))
    with tf.GradientTape() as tape:
        y = model(x)["y"]
    np.testing.assert_allclose(y, expected, rtol=1e-5)
    gradient = tape.gradient(y, model.blocks)
    fresh = Product()
    with tf.GradientTape() as tape:
        y = fresh(x)["y"]
    np.testing.assert_allclose(
        gradient, tape.gradient(y, fresh.blocks), rtol=1e-4, atol=1e-2
    )
