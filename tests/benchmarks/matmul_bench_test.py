# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The benchmark runs to its end, at sizes of no meaning; asserts no speed."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def bench(*flags, path=()):
    return subprocess.run(
        [sys.executable, "benchmarks/matmul_bench.py", *flags],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, [*path, ROOT])),
        },
        capture_output=True,
        text=True,
        check=False,
    )


def test_measures_checks_and_prints(tmp_path):
    result = bench(
        "--shapes=8x100x72",
        "--block_sizes=8",
        "--sparsities=0.5",
        "--dtypes=float32,float32:bfloat16",
        "--threads=1,2",
        "--rounds=2",
        f"--output={tmp_path}/out/result.json",
        f"--picture={tmp_path}/out/result.png",
    )
    assert result.returncode == 0, result.stderr[-2000:]
    caption, _, table = result.stdout.partition("\n\n")
    assert "TensorFlow" in caption
    table = table.splitlines()
    assert table[0].startswith("| rows x inputs x outputs | product |")
    assert [line.split(" | ")[1] for line in table[2:]] == [
        "forward",
        "forward float32 x bfloat16",
        "dx",
        "dx float32 x bfloat16",
        "dw",
    ]
    assert all(line.count(" / ") == 5 for line in table[2:])
    written = json.loads((tmp_path / "out/result.json").read_text())
    assert written["machine"]["isa"] in ("avx512", "avx2", "portable")
    assert [line["threads"] for line in written["lines"]] == [1] * 5 + [2] * 5
    for line in written["lines"]:
        assert line["dense_ms"] > 0
        assert line["sparse_ms"] > 0
        assert line["peak_gflops"] > 0
        # Half of 13 x 9 blocks; those at the edge of the inputs are halves.
        assert 2 * 8 * 64 * 50 < line["useful_flops"] <= 2 * 8 * 64 * 59
    assert (tmp_path / "out/result.png").stat().st_size > 1000
    for threads in ("1 thread ", "2 threads "):
        assert threads in result.stderr
    assert "100%" in result.stderr


def test_needs_no_matplotlib(tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError")
    result = bench(
        "--shapes=16x16x16",
        "--products=dx",
        "--block_sizes=4",
        "--threads=1",
        "--rounds=1",
        "--output=",
        f"--picture={tmp_path}/picture.png",
        path=[tmp_path],
    )
    assert result.returncode == 0, result.stderr[-2000:]
    assert "pip install matplotlib" in result.stderr
    assert not (tmp_path / "picture.png").exists()


def test_says_what_is_wrong_with_a_flag():
    for flag, expected in [
        ("--shapes=64x64", "--shapes: got 64x64, expected sizes"),
        ("--shapes=1x64x64", "at least 129 numbers"),
        ("--products=dy", "--products: got dy, expected forward, dx, dw"),
        ("extra", "expected flags only"),
    ]:
        result = bench(flag)
        assert result.returncode != 0
        assert expected in result.stdout + result.stderr
