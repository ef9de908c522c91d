# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Runs the benchmark's programs, and lets tests import their modules."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

# Sizes of no meaning, for every suite.
SMALL = (
    "--threads=1",
    "--rounds=2",
    "--seed=5",
    "--features=256",
    "--batch=8",
    "--cases=2",
    "--megabytes=2",
)


@pytest.fixture
def bench():
    """Runs benchmarks/bench.py, or another of its programs."""

    def run(*flags, program="bench.py", path=()):
        return subprocess.run(
            [sys.executable, f"benchmarks/{program}", *map(str, flags)],
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(map(str, [*path, ROOT])),
            },
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture
def suite(bench, tmp_path):
    """Runs small suites and returns what they printed and wrote."""

    def run(names, *flags):
        output = tmp_path / "result.json"
        result = bench(
            f"--suites={names}",
            *SMALL,
            f"--output={output}",
            f"--pictures={tmp_path}",
            *flags,
        )
        assert result.returncode == 0, result.stderr[-4000:]
        return result, json.loads(output.read_text())

    return run
