# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`tf.config.experimental.enable_op_determinism` refuses no op, and holds."""

import json
import os
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).parent


def digests(threads):
    done = subprocess.run(
        [sys.executable, str(FOLDER / "determinism_program.py"), str(threads)],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": str(FOLDER.parents[1]),
            "TF_CPP_MIN_LOG_LEVEL": "3",
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_training_and_gradients():
    expected = digests(1)
    assert len(expected) > 20
    assert digests(2) == expected
    assert digests(2) == expected
