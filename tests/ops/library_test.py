# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The library of ops by itself: who may load it."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import tensorflow as tf

import tf_blocksparse
from tf_blocksparse.ops import _library

PACKAGE = pathlib.Path(tf_blocksparse.__file__).parent


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
