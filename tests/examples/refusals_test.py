# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What the examples refuse, before they do anything."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# (program, flags, what it says)
REFUSALS = [
    ("char_lm.py", ["--load=model.keras", "extra"], "expected flags only"),
    ("digits_conv.py", ["extra"], "expected flags only"),
    ("prune_digits.py", ["extra"], "expected flags only"),
    (
        "distributed_training.py",
        ["--ways=RigL,none"],
        "and ways of fixed, RigL, pruning",
    ),
    (
        "distributed_training.py",
        ["--workers=3"],
        "batch=64, workers=3: expected a multiple",
    ),
]

# Loading TensorFlow takes seconds: programs that end soon are forks of one
# process that has loaded it, and has done nothing with it.
PROGRAM = """
import json, os, runpy, sys
import keras, tensorflow

answers = []
for path, *flags in json.load(sys.stdin):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        os.close(writing)
        sys.argv = [path, *flags]
        sys.path[0] = os.path.dirname(path)
        runpy.run_path(path, run_name="__main__")
        sys.exit()
    os.close(writing)
    with os.fdopen(reading) as file:
        said = file.read()
    answers.append([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said])
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers():
    commands = [
        [str(ROOT / "examples" / program), *flags]
        for program, flags, _ in REFUSALS
    ]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(commands),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("number", range(len(REFUSALS)))
def test_refuses(answers, number):
    pytest.importorskip("sklearn")
    code, said = answers[number]
    assert code == 1, said
    assert REFUSALS[number][2] in said
