# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`python -m tf_blocksparse.advise` runs to its end, at tiny sizes."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(folder, *words):
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_table_picture_and_json(tmp_path):
    pytest.importorskip("matplotlib")
    result = run(
        tmp_path,
        "-m",
        "tf_blocksparse.advise",
        "--inputs=100",
        "--outputs=70",
        "--rows=8",
        "--block_sizes=32,16",
        "--threads=1",
        "--seconds=2",
        "--json=found.json",
    )
    assert result.returncode == 0, result.stderr[-2000:]
    lines = result.stdout.splitlines()
    assert lines[0] == "100 inputs x 70 outputs, 8 rows, float32"
    assert ", 1 thread on " in lines[1]
    assert lines[5].split() == [
        "block",
        "size",
        *["faster", "from", "at", "90", "%"] * 2,
    ]
    assert lines[7].split()[0] == "16"
    assert lines[8].split()[0] == "32"
    found = json.loads((tmp_path / "found.json").read_text())
    assert {p["block_size"] for p in found["points"]} == {16, 32}
    assert len(found["crossovers"]) == 4
    assert (tmp_path / "advise.png").read_bytes().startswith(b"\x89PNG")
    # No bar in a log.
    assert "measuring" not in result.stderr


PROGRAM = """
from absl import app, flags
from absl.testing import flagsaver
from tf_blocksparse.advise import __main__ as advise
for words in {cases}:
    with flagsaver.flagsaver():
        left = flags.FLAGS(["advise", *words])
        try:
            advise.main(left)
        except app.UsageError as error:
            print(error)
print(flags.FLAGS.module_help(advise))
advise.main(flags.FLAGS(["advise", *{words}]))
"""


def test_what_it_refuses_its_help_and_a_convolution(tmp_path):
    """In one process, since TensorFlow takes seconds to start."""
    cases = {
        "--kernel_size=3x3": "--image: got None",
        "--image=28,28": "expected 1 to 3 sizes joined by x",
        "--block_sizes=8,300": "expected integers from 1 to 256",
        "--block_sizes=": "expected integers from 1 to 256",
        "--json=missing/file.json": "make the folder",
        "extra": "expected flags only",
    }
    convolution = [
        "--inputs=16",
        "--outputs=16",
        "--rows=2",
        "--kernel_size=3x3",
        "--image=6x5",
        "--block_sizes=8",
        "--seconds=0",
        "--picture=",
    ]
    program = PROGRAM.format(
        cases=[[case] for case in cases], words=convolution
    )
    result = run(tmp_path, "-c", program)
    assert result.returncode == 0, result.stderr[-2000:]
    lines = result.stdout.splitlines()
    for line, complaint in zip(lines, cases.values(), strict=False):
        assert complaint in line
    for name in ("inputs", "rows", "block_sizes", "kernel_size", "seconds"):
        assert f"  --{name}:" in result.stdout
    assert "kernel 3 x 3, 2 images of 6 x 5" in result.stdout
    assert list(tmp_path.iterdir()) == []
