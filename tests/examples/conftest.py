# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Runs the examples as a user does: as programs."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def example():
    """Runs a program of examples/ with flags, in the repository or a folder."""

    def run(program, *flags, folder=ROOT):
        return subprocess.run(
            [sys.executable, ROOT / "examples" / program, *flags],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )

    return run
