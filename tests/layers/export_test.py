# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Layers in exported models, and in files that a new process loads."""

import os
import subprocess
import sys

import keras
import numpy as np
import tensorflow as tf
from conv_twins import CONV, INPUTS, TRANSPOSE, make
from saved_models import X, make_model

from tf_blocksparse import library_path


def test_export(tmp_path):
    model = make_model()
    model.export(tmp_path / "exported", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "exported")
    np.testing.assert_allclose(loaded.serve(X), model(X), rtol=1e-6, atol=1e-6)


def test_saved_model_of_a_function(tmp_path):
    model = make_model()
    tf.saved_model.save(model, str(tmp_path / "saved"))
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    call = loaded.signatures["serving_default"]
    served = next(iter(call(tf.constant(X)).values()))
    np.testing.assert_allclose(served, model(X), rtol=1e-6, atol=1e-6)


SERVE = """
import sys
sys.modules["tf_blocksparse"] = None
import numpy as np
import tensorflow as tf
library, folder, count = sys.argv[1:]
tf.load_op_library(library)
for i in range(int(count)):
    model = tf.saved_model.load(f"{folder}/exported{i}")
    x = np.load(f"{folder}/x{i}.npy")
    np.save(f"{folder}/y{i}.npy", tf.cast(model.serve(x), tf.float32))
assert not any(name.startswith("tf_blocksparse.") for name in sys.modules)
"""


def exportable():
    """(model, x): convolutions of images whose sizes are known when it runs."""
    for arguments in ({}, {"dtype": "mixed_bfloat16"}):
        yield make_model(**arguments), X
    for kind, arguments in (
        (CONV[1], {"padding": "same", "strides": 2}),
        (CONV[0], {"padding": "causal", "dtype": "mixed_bfloat16"}),
        (TRANSPOSE[1], {"padding": "same", "strides": 2, "per_tap": True}),
    ):
        layer, x = make(kind, **arguments)
        inputs = keras.Input((*[None] * kind.rank, INPUTS))
        yield keras.Model(inputs, layer(inputs)), x.astype("float32")


def test_an_export_needs_only_the_library(tmp_path):
    expected = []
    for i, (model, x) in enumerate(exportable()):
        model.export(tmp_path / f"exported{i}", verbose=False)
        np.save(tmp_path / f"x{i}.npy", x)
        expected.append(model.predict(x, verbose=0))
    count = str(len(expected))
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", SERVE, library_path(), str(tmp_path), count],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for i, y in enumerate(expected):
        got = np.load(tmp_path / f"y{i}.npy")
        np.testing.assert_array_equal(got, y.astype("float32"))


LOAD = """
import sys
import keras

def load():
    for path in sys.argv[1:]:
        try:
            model = keras.models.load_model(path)
            print(type(model.get_layer("sparse")).__name__)
        except Exception as error:
            print(str(error).replace("\\n", " "))

load()
import tf_blocksparse
load()
"""


def test_a_new_process_loads_files_once_it_knows_the_layers(tmp_path):
    layer, x = make(TRANSPOSE[1], name="sparse")
    conv = keras.Sequential([keras.Input(x.shape[1:]), layer])
    paths = []
    for model in (make_model(), conv):
        paths.append(str(tmp_path / f"{len(paths)}.keras"))
        model.save(paths[-1])
    done = subprocess.run(
        [sys.executable, "-c", LOAD, *paths],
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    names = ["BlockSparseDense", "BlockSparseConv2DTranspose"]
    for line, name in zip(lines, names, strict=False):
        assert f"Could not locate class '{name}'. Make sure" in line
    assert lines[2:] == names
