# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The example of two workers runs to its end, at sizes of a few seconds."""

FLAGS = [
    "--width=64",
    "--block_size=8",
    "--steps=4",
    "--batch=8",
    "--context=8",
    "--embedding=8",
]


def test_workers_learn_what_one_process_does(example):
    result = example("distributed_training.py", *FLAGS)
    assert result.returncode == 0, result.stderr[-2000:]
    lines = result.stdout.splitlines()
    (title,) = (i for i, line in enumerate(lines) if "difference" in line)
    rows = [line.split(maxsplit=5) for line in lines[title + 1 : title + 4]]
    assert [row[0] for row in rows] == ["fixed", "RigL", "pruning"]
    for _, first, last, difference, changes, blocks in rows:
        assert 0 < float(last) < float(first) < 9
        assert float(difference) < 1e-4
        assert 0 <= int(changes) < 4
        assert blocks.split() == ["the", "same"] * 2
    # Fixed blocks stay; the others change after most steps.
    assert int(rows[0][4]) == 0 < min(int(row[4]) for row in rows[1:])


def test_late_workers_are_stopped(example):
    result = example(
        "distributed_training.py", *FLAGS, "--ways=fixed", "--timeout=0"
    )
    assert result.returncode == 1
    assert "took over 0 s" in result.stderr
