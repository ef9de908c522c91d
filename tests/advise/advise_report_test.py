# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""How the advice is written and drawn, from numbers that are made up."""

import io
import json

import pytest

from tf_blocksparse.advise import _machine, _picture, _report
from tf_blocksparse.advise._problem import Problem
from tf_blocksparse.advise._progress import Progress
from tf_blocksparse.advise._search import Crossover, Point

POINTS = [
    Point(size, product, sparsity, dense, dense * share)
    for product, dense in (("forward", 10.0), ("training", 30.0))
    for size, sparsity, share in (
        (8, 0.6, 1.1),
        (8, 0.62, 0.9),
        (8, 0.9, 0.25),
        (64, 0.0, 0.8),
        (64, 0.75, 0.2),
    )
]
PROBLEM = Problem(64, 128, 96)


@pytest.mark.parametrize(
    ("crossover", "text"),
    [
        (Crossover("always", 0.0), "always"),
        (Crossover("never", 0.99), "never (to 99 %)"),
        (Crossover("never", 0.9803), "never (to 98 %)"),
        (Crossover("below", 0.5), "50 % or less"),
        (Crossover("from", 0.617, (0.61, 0.63)), "62 %"),
        (Crossover("from", 0.7, (0.5, 0.75)), "50 to 75 %"),
    ],
)
def test_from_where(crossover, text):
    assert _report.from_where(crossover) == text


def test_table():
    lines = _report.table(POINTS).splitlines()
    assert lines[3].split() == ["8", *["61", "%", "4.00x"] * 2]
    assert lines[4].split() == ["64", *["always", "5.00x", "(75", "%)"] * 2]
    assert len(lines[1]) == len(lines[2]) == len(lines[3]) == len(lines[4])
    assert lines[6] == "dense: forward 10 ms, training 30 ms"
    assert lines[8] == (
        "training: blocks of 64 are the fastest at 75 %, with 6 ms "
        "(5.00x dense)"
    )


def test_json():
    machine = _machine.describe(3)
    found = json.loads(json.dumps(_report.as_json(POINTS, PROBLEM, machine)))
    assert found["machine"]["threads"] == 3
    assert found["problem"]["inputs"] == 128
    assert len(found["points"]) == len(POINTS)
    assert found["points"][2]["speed_up"] == 4
    (first, *_, last) = found["crossovers"]
    assert (first["block_size"], first["product"]) == (8, "forward")
    assert first["sparsity"] == pytest.approx(0.61)
    assert first["between"] == [0.6, 0.62]
    assert (last["kind"], last["between"]) == ("always", None)


def test_machine():
    machine = {**_machine.describe(0), "cores": 8, "load_before": 1.0}
    assert machine["threads"] >= 1
    text = _machine.text(machine)
    assert f"TensorFlow {machine['tensorflow']} (oneDNN o" in text
    assert "busy" not in text
    assert "busy" in _machine.text({**machine, "load_before": 5.0})


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_picture(tmp_path, suffix):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"picture.{suffix}"
    _picture.draw(POINTS, str(path), "title")
    assert path.stat().st_size > 1000


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress():
    stream = Terminal()
    with Progress(stream) as progress:
        progress(0.5)
    shown = stream.getvalue().split("\r")
    assert shown[2] == f"measuring [{'=' * 20:<40}]  50%"
    # The bar is gone where the table begins.
    assert shown[-1] == ""
    assert shown[-2].strip() == ""
    with Progress(silent := io.StringIO()) as progress:
        progress(0.5)
    assert silent.getvalue() == ""
