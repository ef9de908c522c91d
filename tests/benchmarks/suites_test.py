# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Every suite runs to its end, at sizes of no meaning; no speed is asserted."""

import pytest


def lines(run, name, *numbers):
    found = run["suites"][name]["lines"]
    for line in found:
        assert line["threads"] == 1
        assert all(line[number] > 0 for number in numbers)
    return found


def test_sweeps_over_random_cases_rows_and_small_layers(suite, tmp_path):
    result, run = suite(
        "never_slower,rows,small_layer", "--rows=2,3,65,66", "--block_sizes=16"
    )
    times = ("dense_ms", "sparse_ms")
    found = lines(run, "never_slower", *times)
    assert len(found) == 2
    assert "2 random cases (`--seed=5`" in result.stdout
    found = lines(run, "rows", "sparse_ms")
    assert len(found) == 8
    # Dense at the first two only, once for each product.
    assert sum("dense_ms" in line for line in found) == 4
    assert "| forward | 16 | 1 | " in result.stdout
    assert " (2 to 3) | " in result.stdout
    assert " (65 to 66) |" in result.stdout
    assert len(lines(run, "small_layer", *times)) == 3
    assert (tmp_path / "rows.png").stat().st_size > 1000


def test_cold_weights(suite):
    result, run = suite("cold_weights", "--rows=1", "--block_sizes=16")
    found = lines(run, "cold_weights", "dense_ms", "sparse_ms", "read_gb_per_s")
    dtypes = [line["case"]["blocks_dtype"] for line in found]
    assert dtypes == ["float32", "bfloat16"]
    # 26 of 256 blocks.
    assert found[0]["blocks_bytes"] == 4 * 26 * 16**2
    assert found[1]["blocks_bytes"] == 2 * 26 * 16**2
    assert "of memory" in result.stdout


def test_training_step(suite):
    result, run = suite("training_step", "--block_sizes=16")
    found = lines(run, "training_step", "dense_ms", "sparse_ms")
    steps = [line["case"]["step"] for line in found]
    assert steps == [
        "fit, Keras's Adam",
        "fit, our Adam",
        "fit, SGD",
        "forward and backward",
    ]
    # One dense model under Keras's Adam, which all are compared with.
    assert {line["usual_ms"] for line in found} == {found[0]["dense_ms"]}
    assert "2 hidden layers of 256, batch 8, 90%" in result.stdout


def test_xla(suite):
    result, run = suite("xla", "--block_sizes=16")
    times = ("dense_ms", "dense_xla_ms", "sparse_ms", "sparse_xla_ms")
    assert len(lines(run, "xla", *times)) == 2
    assert "speed-up under XLA" in result.stdout


def test_constant_parameters(suite, tmp_path):
    result, run = suite("constant_parameters", "--block_sizes=16")
    found = lines(run, "constant_parameters", "ms", "narrow_ms")
    assert [line["case"]["width"] for line in found] == [*range(1, 9)] * 2
    assert found[0]["case"]["features"] == 160
    assert found[0]["case"]["rows"] == 4
    # Of 20 x 20 blocks 25.62 %, as many as of 10 x 10 all, within rounding.
    weights = [line["weights"] for line in found[:8]]
    assert weights[:2] == [100 * 16**2, 102 * 16**2]
    assert max(weights) < 1.1 * min(weights) * 1.1
    assert "| 8x | 1280 | 1.41 % | 16 |" in result.stdout
    assert (tmp_path / "constant_parameters.png").stat().st_size > 1000


def test_instruction_sets(suite):
    result, run = suite(
        "instruction_sets",
        "--instruction_sets=portable",
        "--shapes=8x64x64",
        "--products=forward",
        "--block_sizes=8",
    )
    (line,) = lines(run, "instruction_sets", "dense_ms", "sparse_ms")
    assert line["case"]["instruction_set"] == "portable"
    assert "portable at most" in result.stdout


@pytest.mark.slow  # A process for each layer.
def test_memory(suite):
    # A dense weight has 64 MiB, much more than TensorFlow takes anyway.
    result, run = suite("memory", "--features=2048", "--sparsities=0.9")
    found = lines(run, "memory", "built_mib", "step_mib", "peak_mib")
    weights = [line["dense_weight_mib"] for line in found]
    assert weights == [64] * 4
    for dense, sparse in (found[:2], found[2:]):
        assert dense["case"]["block_size"] == 0
        assert dense["step_mib"] > 64
        # Of the blocks' size, a few times.
        assert sparse["step_mib"] < 64
    assert "| 90% sparse | Adam | 64 |" in result.stdout


@pytest.mark.slow  # A process for each library.
def test_others(suite):
    result, run = suite("others", "--shapes=8x64x64", "--block_sizes=8")
    names = {line["case"]["library"] for line in lines(run, "others", "ms")}
    assert names >= {"tf_blocksparse", "TF oneDNN", "TF without oneDNN"}
    skipped = {each["skipped"] for each in run["suites"]["others"]["skipped"]}
    # What is not there is said to be.
    for name in ("torch dense", "SciPy BSR", "MKL BSR"):
        assert (name in names) != (f"{name}, 1 thread" in skipped)
    for each in skipped:
        assert f"skipped {each}: " in result.stderr
    assert "over dense" in result.stdout
