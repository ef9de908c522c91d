# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The benchmark's entry point: tables, JSON, pictures, wrong flags."""

import json

import pytest

PRODUCTS = (
    "--suites=products",
    "--shapes=8x100x72",
    "--block_sizes=8",
    "--rounds=2",
)


def test_measures_checks_and_prints(bench, tmp_path):
    result = bench(
        *PRODUCTS,
        "--sparsities=0.5",
        "--dtypes=float32,float32:bfloat16",
        "--threads=1,2",
        "--seed=7",
        f"--output={tmp_path}/out/result.json",
        f"--pictures={tmp_path}/out",
    )
    assert result.returncode == 0, result.stderr[-2000:]
    heading, caption, table, *_ = result.stdout.split("\n\n")
    assert heading == "## Products"
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
    run = json.loads((tmp_path / "out/result.json").read_text())
    assert run["machine"]["isa"] in ("avx512", "avx2", "neon", "portable")
    assert run["machine"]["tensorflow"]
    assert run["seed"] == 7
    assert "--seed=7" in run["flags"]
    lines = run["suites"]["products"]["lines"]
    assert [line["threads"] for line in lines] == [1] * 5 + [2] * 5
    for line in lines:
        assert line["dense_ms"] > 0
        assert line["sparse_ms"] > 0
        assert line["peak_gflops"] > 0
        # Half of 13 x 9 blocks; those at the edge of the inputs are halves.
        assert 2 * 8 * 64 * 50 < line["useful_flops"] <= 2 * 8 * 64 * 59
    assert (tmp_path / "out/speed_up.png").stat().st_size > 1000
    for threads in ("1 thread ", "2 threads "):
        assert threads in result.stderr
    assert "100%" in result.stderr
    assert "--seed=7 makes the same layouts" in result.stderr


def test_needs_no_matplotlib(bench, tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError")
    result = bench(
        *PRODUCTS,
        "--products=dx",
        "--threads=1",
        "--output=",
        f"--pictures={tmp_path}/pictures",
        path=[tmp_path],
    )
    assert result.returncode == 0, result.stderr[-2000:]
    assert "pip install matplotlib" in result.stderr
    assert not (tmp_path / "pictures").exists()


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("--suites=all", "--suites: got all, expected products, never_slower"),
        ("--shapes=64x64", "--shapes: got 64x64, expected sizes"),
        ("--shapes=1x64x64", "at least 129 numbers"),
        ("--products=dy", "--products: got dy, expected forward, dx, dw"),
        ("--block_sizes=300", "got 300, expected integers from 1 to 256"),
        ("--block_sizes=", "--block_sizes: got nothing"),
        ("--sparsities=90", "--sparsities: got 90, expected numbers from 0"),
        ("--dtypes=int8", "--dtypes: got int8, expected float32"),
        ("--rows=0", "--rows: got 0, expected integers from 1"),
        ("--threads=two", "--threads: got two, expected integers from 1"),
        ("--instruction_sets=sse", "expected avx2, portable, avx512"),
        ("--other_python=no_python", "expected a Python that has NumPy"),
        ("extra", "expected flags only"),
    ],
)
def test_says_what_is_wrong_with_a_flag(bench, flag, expected):
    result = bench(flag)
    assert result.returncode != 0
    assert expected in result.stdout + result.stderr
