# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Results are the same bit for bit, whatever the number of threads."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent
ROOT = FOLDER.parents[1]


def results(threads):
    """{what: digest}, of a process with so many threads."""
    done = subprocess.run(
        [sys.executable, str(FOLDER / "determinism_program.py"), str(threads)],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "TF_CPP_MIN_LOG_LEVEL": "3",
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def expected():
    return results(1)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_same_bits(expected, threads):
    convolutions = sum(
        name.startswith(("conv", "gated conv")) for name in expected
    )
    assert convolutions > 200
    assert len(expected) - convolutions > 200
    assert results(threads) == expected
