# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""BlockSparseDense in exported models, and in new processes."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
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
library, folder = sys.argv[1:]
tf.load_op_library(library)
model = tf.saved_model.load(folder + "/exported")
np.save(folder + "/y.npy", model.serve(np.load(folder + "/x.npy")))
assert not any(name.startswith("tf_blocksparse.") for name in sys.modules)
"""


@pytest.mark.parametrize("arguments", [{}, {"dtype": "mixed_bfloat16"}])
def test_export_needs_only_the_library(tmp_path, arguments):
    model = make_model(**arguments)
    model.export(tmp_path / "exported", verbose=False)
    np.save(tmp_path / "x.npy", X)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", SERVE, library_path(), str(tmp_path)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), model.predict(X))


LOAD = """
import sys
import keras
{imports}
try:
    model = keras.models.load_model(sys.argv[1])
    print(type(model.get_layer("sparse")).__name__)
except Exception as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("imports", "message"),
    [
        ("import tf_blocksparse", "BlockSparseDense\n"),
        ("", "Could not locate class 'BlockSparseDense'. Make sure"),
    ],
)
def test_new_process(tmp_path, imports, message):
    make_model().save(tmp_path / "model.keras")
    result = subprocess.run(
        [
            sys.executable,
            "-c",
            LOAD.format(imports=imports),
            str(tmp_path / "model.keras"),
        ],
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        capture_output=True,
        text=True,
        check=True,
    )
    assert message in result.stdout
