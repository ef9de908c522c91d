# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Memory that is not there is a ResourceExhaustedError, and nothing else."""

import os
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).parent


def test_no_memory():
    done = subprocess.run(
        [sys.executable, str(FOLDER / "memory_program.py")],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": str(FOLDER.parents[1]),
            "TF_CPP_MIN_LOG_LEVEL": "3",
            # oneDNN's allocator tries for ten seconds before it gives up.
            "TF_ENABLE_ONEDNN_OPTS": "0",
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
