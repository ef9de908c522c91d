# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The scripts of tools/, as far as they can be run within seconds."""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
SCRIPTS = sorted((ROOT / "tools").glob("*.sh"))


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, cwd="/")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_help(script):
    done = run(script, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"Usage: tools/{script.name} ")
    wrong = run(script, "--no_such_option")
    assert wrong.returncode == 2
    assert wrong.stderr == done.stdout


def test_matrix_lists_what_it_would_do():
    pairs = run(ROOT / "tools/matrix.sh", "--list").stdout.split()
    assert len(pairs) == len(set(pairs)) > 10
    for pair in pairs:
        assert re.fullmatch(r"3\.1[0-3]:tensorflow(-cpu)?==2\.\d+\.\d+", pair)


def test_matrix_runs_tests_that_exist():
    text = (ROOT / "tools/matrix.sh").read_text()
    paths = re.findall(r"^  (tests/\S+)$", text, re.MULTILINE)
    assert len(paths) > 5
    for path in paths:
        assert (ROOT / path).exists()


@pytest.mark.skipif(
    run("git", "-C", ROOT, "ls-files").returncode != 0,
    reason="it copies what git knows",
)
def test_matrix_tells_what_fails(tmp_path):
    done = run(ROOT / "tools/matrix.sh", f"--work={tmp_path}", "3.99:nothing")
    assert done.returncode == 1
    assert "[1/1] Python 3.99, nothing" in done.stderr
    row = "| nothing | 3.99 | | | **fails**: find python3.99 |"
    assert done.stdout.splitlines()[-1] == row
