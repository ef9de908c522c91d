# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Python's threads may load the library, and call its ops, at once."""

import os
import pathlib
import subprocess
import sys

import tf_blocksparse

FOLDER = pathlib.Path(__file__).parent


def test_many_threads():
    done = subprocess.run(
        [
            sys.executable,
            str(FOLDER / "threads_program.py"),
            tf_blocksparse.library_path(),
        ],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": str(FOLDER.parents[1]),
            "TF_CPP_MIN_LOG_LEVEL": "3",
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
