# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The pictures and the table of docs/patterns.md can be made anew."""

import pathlib

import pytest

from tf_blocksparse import patterns

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_pictures_and_table_are_those_of_the_document(bench, tmp_path):
    pytest.importorskip("matplotlib")
    run = bench(tmp_path, program="pattern_diagrams.py")
    assert run.returncode == 0, run.stderr
    names = {path.stem for path in tmp_path.iterdir()}
    # Every maker has a picture.
    others = {"Mask", "block_count", "mix_factor"}
    assert names == set(patterns.__all__) - others
    text = (ROOT / "docs" / "patterns.md").read_text()
    for name in names:
        assert f"\n## {name}\n" in text
        assert f"](images/patterns/{name}.png)" in text
        assert (ROOT / "docs/images/patterns" / f"{name}.png").is_file()
    lines = run.stdout.splitlines()
    assert len(lines) > 10
    for line in lines:
        assert f"\n{line}\n" in text


def test_a_missing_folder_is_asked_for(bench):
    run = bench(program="pattern_diagrams.py")
    assert run.returncode == 1
    assert "expected a folder" in run.stderr
