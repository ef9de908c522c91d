# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The benchmark of convolutions: tables, JSON, a picture, wrong flags."""

import json

import pytest

SHAPES = """
# kind batch spatial inputs outputs kernel strides dilation blocks sparsity ...
[Small ones]
conv       2 6x5 16 8  3x3 2 1 4,8 0.5 9 9 9
transposed 2 7   8  8  2   2 1 8   0   - - -
[Of one tap]
conv       2 5x5 16 16 1x1 1 1 8   0.5 70% - 1000%
"""


def test_measures_checks_and_prints(bench, tmp_path):
    (tmp_path / "small.txt").write_text(SHAPES)
    result = bench(
        "--suites=convolutions",
        f"--shapes={tmp_path}/small.txt",
        "--threads=1,2",
        "--rounds=2",
        "--seed=7",
        f"--output={tmp_path}/result.json",
        f"--pictures={tmp_path}",
        program="conv_bench.py",
    )
    assert result.returncode == 0, result.stderr[-4000:]
    heading, _, _, *parts = result.stdout.split("\n\n")
    assert heading == "## Convolutions"
    assert parts[0] == "### Small ones"
    assert parts[2] == "### Of one tap"
    small, single = (parts[i].splitlines() for i in (1, 3))
    products = [line.split(" | ")[1] for line in small[2:]]
    assert products == [
        *["forward", "forward", "dx", "dx", "dw", "dw"],
        *["forward", "dx", "dw"],
    ]
    assert "| 2 x 6x5 x 16 to 8, 3x3, stride 2 | dx | 4 |" in small[4]
    assert "| 2 x 7 x 8 to 8, 2, stride 2, transposed | forward |" in small[8]
    assert "of roofline" not in small[0]
    assert "of roofline" in single[0]
    assert "floors are met" in result.stdout
    run = json.loads((tmp_path / "result.json").read_text())
    lines = run["suites"]["convolutions"]["lines"]
    assert [line["threads"] for line in lines] == [1] * 12 + [2] * 12
    for line in lines:
        assert line["dense_ms"] > 0
        assert line["sparse_ms"] > 0
        assert line["peak_gflops"] > 0
        known = line["copied_gb_per_s"] is not None
        assert known == (line["case"]["kernel"] == "1x1")
    # Half of 4 x 2 blocks of 4 x 4, for 3 x 3 pixels and taps.
    assert lines[0]["useful_flops"] == 2 * 2 * 3 * 3 * 9 * 16 * 4
    first = next(line for line in lines if line["floor"] == "70%")
    # x, y and 2 of the 4 blocks.
    assert first["moved_bytes"] == 4 * (2 * 2 * 25 * 16 + 2 * 64)
    assert (tmp_path / "convolutions.png").stat().st_size > 1000


def test_random_cases_and_what_of_the_table_is_chosen(bench, tmp_path):
    result = bench(
        "--suites=convolutions,conv_never_slower",
        "--cases=1 x 7x7",
        "--taps=per_tap,shared",
        "--products=forward",
        "--random_cases=2",
        "--threads=1",
        "--rounds=1",
        "--seed=1",
        f"--output={tmp_path}/result.json",
        "--pictures=",
        program="conv_bench.py",
    )
    assert result.returncode == 0, result.stderr[-4000:]
    assert "2 random cases (`--seed=1`" in result.stdout
    suites = json.loads((tmp_path / "result.json").read_text())["suites"]
    cases = [line["case"] for line in suites["convolutions"]["lines"]]
    assert [case["block_size"] for case in cases] == [8, 8, 16, 16, 32, 32]
    assert [case["per_tap"] for case in cases] == [True, False] * 3
    assert {case["spatial"] for case in cases} == {"7x7"}
    cases = [line["case"] for line in suites["conv_never_slower"]["lines"]]
    assert len(cases) == 2
    assert all(case["batch"] >= 8 for case in cases)
    # compare.py reads it.
    files = [tmp_path / "result.json"] * 2
    result = bench(*files, program="compare.py")
    assert result.returncode == 0
    assert "8 lines in both" in result.stdout
    assert (
        "batch 1, block_size 8, inputs 512, kernel 3x3, outputs"
        in result.stdout
    )
    assert "dilation 1," not in result.stdout


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("--suites=rows", "--suites: got rows, expected convolutions, conv"),
        ("--cases=9x9x9", "--cases: got 9x9x9, expected a part of 8 x 28x28"),
        ("--taps=each", "--taps: got each, expected shared, per_tap"),
        ("--shapes=none.txt", "none.txt: "),
        ("--products=dy", "--products: got dy, expected forward, dx, dw"),
        ("extra", "expected flags only"),
    ],
)
def test_says_what_is_wrong_with_a_flag(bench, flag, expected):
    result = bench(flag, program="conv_bench.py")
    assert result.returncode != 0
    assert expected in result.stdout + result.stderr
