# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Two results beside each other."""

import copy
import json

import compare
import pytest

CASE = {
    "rows": 64,
    "inputs": 128,
    "outputs": 128,
    "product": "forward",
    "block_size": 8,
    "sparsity": 0.9,
    "x_dtype": "float32",
    "blocks_dtype": "bfloat16",
    "layout": "balanced",
}
OLD = {
    "machine": {"processor": "one", "isa": "avx2", "load_before": 0.0},
    "rounds": 15,
    "suites": {
        "products": {
            "lines": [
                {
                    "case": {**CASE, "block_size": size},
                    "threads": 1,
                    "dense_ms": 10.0,
                    "sparse_ms": 1.0,
                }
                for size in (8, 16, 32)
            ]
        },
        "memory": {
            "lines": [
                {"case": {"sparsity": 0.9}, "threads": 2, "peak_mib": 100}
            ]
        },
    },
}


def changed():
    """Block 16 twice as slow on a machine half as fast, block 32 gone."""
    new = copy.deepcopy(OLD)
    new["machine"].update(processor="other", load_before=1.0)
    lines = new["suites"]["products"]["lines"]
    lines[0]["sparse_ms"] = 0.5
    lines[1].update(sparse_ms=2.0, dense_ms=20.0)
    lines[2]["case"]["block_size"] = 64
    return new


def test_sorts_lines_and_names_what_differs():
    text = compare.compare(OLD, changed(), ["products", "memory"])
    head, table = text.split("\n\n")
    assert head.splitlines()[0] == "processor: one, now other"
    assert "load_before" not in head
    assert "3 lines in both, 1 only in the old file, 1 only in the new" in head
    assert "on average 1.000, from 0.50 to 2.00" in head
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    assert [row[0] for row in rows] == ["products", "memory", "products"]
    assert [row[-1] for row in rows] == ["2.00", "1.00", "0.50"]
    assert [row[-2] for row in rows] == ["2.00", "-", "1.00"]
    assert rows[0][1] == (
        "64x128x128, block_size 16, blocks_dtype bfloat16, product forward, "
        "sparsity 0.9"
    )
    assert rows[1][2:4] == ["2", "mib"]


def test_rounds_are_named_and_lines_can_be_fewer():
    text = compare.compare(OLD, {**changed(), "rounds": 3}, ["products"], 1)
    assert "rounds: 15, now 3" in text
    assert len(text.split("\n\n")[1].splitlines()) == 3


def test_refuses_files_without_a_common_line():
    with pytest.raises(ValueError, match="no line in common"):
        compare.compare(OLD, changed(), ["rows"])


def test_reads_files(bench, tmp_path):
    for name, run in (("old", OLD), ("new", changed())):
        (tmp_path / name).write_text(json.dumps(run))
    files = [tmp_path / "old", tmp_path / "new"]
    result = bench(*files, "--worst=1", program="compare.py")
    assert result.returncode == 0
    assert "block_size 16" in result.stdout
    (tmp_path / "other").write_text("[]")
    for arguments, expected in [
        (files[:1], "expected OLD.json NEW.json"),
        ([*files, "--suites=all"], "--suites: got all, expected products"),
        ([files[0], tmp_path / "none"], "No such file"),
        ([files[0], tmp_path / "other"], "got other JSON"),
    ]:
        result = bench(*arguments, program="compare.py")
        assert result.returncode != 0
        assert expected in result.stdout + result.stderr
