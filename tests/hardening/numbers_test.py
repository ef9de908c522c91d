# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""NaN, infinities and subnormal numbers go where `tf.matmul` has them go."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent
ROOT = FOLDER.parents[1]


@pytest.mark.parametrize("isa", ["portable", "avx2", "avx512"])
def test_numbers_of_every_op(isa):
    done = subprocess.run(
        [sys.executable, str(FOLDER / "numbers_program.py")],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "TF_BLOCKSPARSE_MAX_ISA": isa,
            "TF_CPP_MIN_LOG_LEVEL": "3",
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["cases"] > 400
