# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The pictures of docs/performance.md can be drawn anew."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_pictures_are_those_of_the_document(bench, tmp_path):
    run = bench(tmp_path, program="diagrams.py")
    assert run.returncode == 0, run.stderr
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["tile.png", "timeline.png"]
    text = (ROOT / "docs" / "performance.md").read_text()
    for name in names:
        assert f"](images/{name})" in text


def test_a_missing_folder_is_asked_for(bench):
    run = bench(program="diagrams.py")
    assert run.returncode == 1
    assert "expected a folder" in run.stderr
