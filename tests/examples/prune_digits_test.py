# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The example of pruning runs to its end, at sizes of a few seconds."""

import pytest


def test_prunes_saves_and_compares(example):
    pytest.importorskip("sklearn")
    result = example(
        "prune_digits.py",
        "--units=256",
        "--channels=64",
        "--images=128",
        "--epochs=6",
        "--seeds=1",
        "--rounds=2",
        "--calls=1",
    )
    assert result.returncode == 0, result.stderr[-2000:]
    lines = result.stdout.splitlines()
    assert lines[0] == "128 images to learn from, 512 to test on"
    for name in ("perceptron", "convolutional"):
        assert any(line.startswith(f"{name}, seed 1: ") for line in lines)
    files = [line.split() for line in lines if line.startswith("file, MB")]
    assert len(files) == 2
    for cells in files:
        assert float(cells[2]) > 2 * float(cells[3])
    for row in ("accuracy, %", "ms per training step", "ms, second layer"):
        assert sum(line.startswith(row) for line in lines) == 2
