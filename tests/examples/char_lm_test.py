# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The demo runs to its end, at sizes of a few seconds."""


def test_compares_saves_and_writes_in_a_new_process(example, tmp_path):
    result = example(
        "char_lm.py",
        "--width=64",
        "--sparsity=0.75",
        "--block_size=8",
        "--steps=5",
        "--optimizer=tf_blocksparse",
        "--seconds=0.1",
        "--batch=8",
        "--held_out=64",
        "--length=20",
        "--prompt=The statement ",
        f"--output={tmp_path}",
    )
    assert result.returncode == 0, result.stderr[-2000:]
    lines = result.stdout.splitlines()
    for row in (
        "parameters",
        "file size",
        "bits per character, 5 steps",
        "bits per character, 0.1 s",
        "steps in 0.1 s",
        "ms per training step, batch 8",
        "ms per inference, batch 1 ",
        "ms per inference, batch 64 ",
    ):
        (line,) = (line for line in lines if line.startswith(row))
        dense, sparse, small = map(float, line[34:73].split())
        assert min(dense, sparse, small) > 0
        if row in ("parameters", "file size"):
            assert sparse < dense
    assert "\nThe statement " in result.stdout
    assert len(list(tmp_path.glob("*.keras"))) == 3
