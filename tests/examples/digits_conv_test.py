# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The convolutional example runs to its end, at sizes of a few seconds."""

import re

import pytest

COLUMNS = ["dense 64", "sparse 64", "sparse 128", "dense 32"]


def test_trains_and_compares(example):
    pytest.importorskip("sklearn")
    result = example(
        "digits_conv.py",
        "--width=64",
        "--sparsity=0.75",
        "--block_size=8",
        "--images=64",
        "--batch=16",
        "--epochs=1",
        "--seeds=2",
    )
    assert result.returncode == 0, result.stderr[-2000:]
    lines = result.stdout.splitlines()
    assert lines[0] == "64 images to learn from, 512 to test on"
    assert any(line.endswith("] 100%") for line in lines)
    (head,) = (line for line in lines if "sparse 128" in line)
    assert re.split(" {2,}", head.strip()) == COLUMNS
    table = {}
    for row in (
        "parameters, millions",
        "file size, MB",
        "accuracy, %, mean",
        "accuracy, %, lowest",
        "accuracy, %, highest",
        "ms per training step, batch 16",
        "ms per inference, batch 1 ",
        "ms per inference, batch 64 ",
    ):
        (line,) = (line for line in lines if line.startswith(row))
        table[row] = [float(cell) for cell in line[31:].split()]
        assert len(table[row]) == len(COLUMNS)
        assert min(table[row]) > 0
    for row in ("parameters, millions", "file size, MB"):
        dense, sparse, wide, narrow = table[row]
        assert sparse < dense / 3
        assert wide == pytest.approx(dense, rel=0.1)
        assert narrow == pytest.approx(sparse, rel=0.2)
    for lowest, mean, highest in zip(
        table["accuracy, %, lowest"],
        table["accuracy, %, mean"],
        table["accuracy, %, highest"],
        strict=True,
    ):
        assert lowest <= mean <= highest <= 100
