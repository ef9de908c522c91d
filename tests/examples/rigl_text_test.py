# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The example runs to its end, at sizes of a few seconds."""

import pytest


def test_compares_and_draws(example, tmp_path):
    pytest.importorskip("matplotlib")
    result = example(
        "rigl_text.py",
        "--width=64",
        "--sparsity=0.75",
        "--block_size=8",
        "--steps=12",
        "--updates=3",
        "--batch=8",
        "--context=8",
        "--held_out=64",
        "--tests=2",
        "--seeds=3,4",
        folder=tmp_path,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    lines = result.stdout.splitlines()
    (first,) = (i for i, line in enumerate(lines) if "highest" in line)
    rows = [line.split() for line in lines[first + 1 : first + 4]]
    assert [row[0] for row in rows] == ["random", "RigL", "pruning"]
    for row in rows:
        # A quarter of 32 x 8 and of 8 x 8 blocks.
        assert int(row[1]) == 64 + 16
        mean, spread, lowest, highest = map(float, row[2:6])
        assert 0 < lowest <= mean <= highest < 12
        assert spread >= 0
    # The table is of the runs that were told of.
    told = [
        float(line.split()[-4])
        for line in lines
        if line.endswith("bits per character") and ", RigL: " in line
    ]
    assert len(told) == 2
    assert abs(sum(told) / 2 - float(rows[1][2])) < 2e-3
    picture = tmp_path / "rigl_text.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
