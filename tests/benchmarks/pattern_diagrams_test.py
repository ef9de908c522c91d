# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The pictures and the table of docs/patterns.md can be made anew."""

import pathlib

import pytest

from tf_blocksparse import patterns

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def main():
    """The program's, which has no flags: no process has to load TensorFlow."""
    pytest.importorskip("matplotlib")
    import pattern_diagrams

    return lambda *words: pattern_diagrams.main(["pattern_diagrams", *words])


def test_pictures_and_table_are_those_of_the_document(main, capsys, tmp_path):
    main(str(tmp_path))
    names = {path.stem for path in tmp_path.iterdir()}
    # Every maker has a picture.
    others = {"Mask", "block_count", "mix_factor"}
    assert names == set(patterns.__all__) - others
    text = (ROOT / "docs" / "patterns.md").read_text()
    for name in names:
        assert f"\n## {name}\n" in text
        assert f"](images/patterns/{name}.png)" in text
        assert (ROOT / "docs/images/patterns" / f"{name}.png").is_file()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 10
    for line in lines:
        assert f"\n{line}\n" in text


def test_a_missing_folder_is_asked_for(main):
    with pytest.raises(SystemExit, match="expected a folder"):
        main()
