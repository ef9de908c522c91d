# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""gpu_check.py: what it says without a GPU, and all of it under an emulator."""

import json
import os
import shutil
import subprocess
import sys

import gpu_check
import pytest
from gpu import building, finding, op_check

SMALL = (
    "--emulate",
    "--step=19",
    "--seed=3",
    "--features=32",
    "--rows=8",
    "--dtypes=f16",
    "--block_sizes=16",
    "--samples=1",
    "--images=1",
    "--side=5",
    "--channels=32",
    "--minutes=60",
)


@pytest.mark.parametrize("plant", ["", "matmul_vectors_f32_f32_128x8"])
def test_the_whole_script_runs_under_the_emulator(bench, tmp_path, plant):
    output = tmp_path / "out/result.json"
    result = bench(
        *SMALL,
        "--only=128x8",
        f"--plant={plant}",
        f"--output={output}",
        f"--pictures={tmp_path}",
        program="gpu_check.py",
    )
    assert result.returncode == (1 if plant else 0), result.stderr[-2000:]
    found = json.loads(output.read_text())
    assert found["gpu"]["name"] == "emulator"
    assert found["correctness"]["kernels"] > 10
    assert found["correctness"]["cases"] > 50
    assert found["no_dense"] == "no libcublas was found"
    lines = found["suites"]["gpu"]["lines"]
    assert [line["density"] for line in lines] == 3 * [0.05, 0.1, 0.25, 0.5]
    assert lines[0]["kernel"] == "matmul_tensor_f16_128x16_rows_forward"
    convolutions = found["suites"]["gpu_conv"]["lines"]
    assert [line["kernel"] for line in convolutions[::4]] == [
        "conv_tensor_f16_128x16_forward",
        "conv_tensor_f16_128x16_transpose",
        "conv_sampled_tensor_f16_64x16",
    ]
    # All blocks of 16 with 9 taps of 2 x 2, of 25 pixels.
    assert convolutions[3]["flops"] == 2 * (32 * 32 / 2) * 9 * 25
    assert "| 1 | dw | f16 | 16 |" in result.stdout
    assert "| 8 | forward | f16 | 16 |" in result.stdout
    assert "checking [====" in result.stderr
    if not plant:
        assert found["failures"] == []
        assert "WRONG" not in result.stdout
        return
    (failure,) = found["failures"]
    assert failure.startswith(f"{plant}: y[0] is ")
    assert f"WRONG: {plant}: y[0] is " in result.stdout


# As cuBLAS's manual has it, for float32: matrices lie column by column.
CUBLAS = """
extern "C" int cublasCreate_v2(void** handle) { *handle = handle; return 0; }
extern "C" int cublasDestroy_v2(void*) { return 0; }
extern "C" int cublasGemmEx(
    void*, int a_op, int b_op, int m, int n, int k, const void* alpha,
    const void* a, int, int lda, const void* b, int, int ldb, const void*,
    void* c, int c_type, int ldc, int compute_type, int) {
  const float* A = static_cast<const float*>(a);
  const float* B = static_cast<const float*>(b);
  if (c_type != 0 || compute_type != 68) return 15;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      float sum = 0;
      for (int l = 0; l < k; ++l) {
        sum += (a_op ? A[l + i * lda] : A[i + l * lda]) *
               (b_op ? B[j + l * ldb] : B[l + j * ldb]);
      }
      static_cast<float*>(c)[i + j * ldc] = SCALE * sum;
    }
  }
  return 0;
}
"""


@pytest.mark.parametrize("scale", [1, 1.001])
def test_dense_products_are_compared_and_checked(bench, tmp_path, scale):
    source, library = tmp_path / "cublas.cc", tmp_path / "cublas.so"
    source.write_text(CUBLAS)
    flags = ["-shared", "-fPIC", f"-DSCALE={float(scale)}f"]
    subprocess.run(["g++", *flags, source, "-o", library], check=True)
    output = tmp_path / "result.json"
    result = bench(
        *SMALL,
        "--only=vectors_f32_f32_128x8",
        "--dtypes=f32",
        "--rows=24",
        f"--cublas={library}",
        f"--output={output}",
        f"--pictures={tmp_path}",
        program="gpu_check.py",
    )
    found = json.loads(output.read_text())
    lines = found["suites"]["gpu"]["lines"]
    assert [line["dense_flops"] for line in lines] == 12 * [2 * 24 * 32 * 32]
    assert (tmp_path / "gpu.png").stat().st_size > 1000
    assert "Density at which sparse and dense (cuBLAS) take as long" in (
        result.stdout.replace("\n", " ")
    )
    assert result.returncode == (scale != 1)
    assert len(found["failures"]) == (0 if scale == 1 else 12)
    assert all("the dense one: number" in each for each in found["failures"])


def test_what_there_is_no_time_for_is_told(bench, tmp_path):
    output = tmp_path / "result.json"
    result = bench(
        *SMALL,
        "--only=vectors_f32_f32",
        "--minutes=0.001",
        f"--output={output}",
        "--pictures=",
        program="gpu_check.py",
    )
    assert result.returncode == 0, result.stderr[-2000:]
    found = json.loads(output.read_text())
    checked = found["correctness"]
    # Four widths of each of four products, with a case each.
    assert checked["kernels"] == checked["cases"] == 16
    assert checked["left_out"] > 16
    assert found["suites"]["gpu"]["lines"] == []
    assert len(found["left_out"]) == 6
    assert f"left for {checked['left_out']} more cases" in result.stdout
    assert "left for 6 more rows" in result.stdout


def test_a_planted_fault_that_is_not_found_is_told(bench, tmp_path):
    result = bench(
        *SMALL,
        "--only=matmul_vectors_f32_f32_128x8",
        "--minutes=0.001",
        "--plant=matmul_vectors",
        "--output=",
        "--pictures=",
        program="gpu_check.py",
    )
    assert result.returncode == gpu_check.WRONG
    assert "WRONG: matmul_vectors was made wrong, and nobody" in result.stdout


@pytest.mark.parametrize(
    "line",
    [
        "dense forward f16 8 16",
        "sparse forward fp16 8 32 32 16 0.5",
        "sparse backward f16 8 32 32 16 0.5",
        "sparse dx f16 8 40 32 16 0.5",
        "conv dx f16 8 32 32 16 0.5",
        "conv dw f16 8 70000 32 32 16 0.5",
        "conv dw f16 8 5 32 32 16 1.5",
        "rows dw f16 8 32 32 16 0.5",
    ],
)
def test_what_is_no_case_is_not_timed(line):
    done = subprocess.run(
        [building.build_emulated(), "speed"],
        input=line,
        capture_output=True,
        text=True,
    )
    assert done.returncode == gpu_check.CANNOT_CHECK
    assert done.stderr == f"gpu_check: no case: {line}\n"


@pytest.mark.parametrize(
    "plant", ["", "matmul_hopper_bf16_128x64_rows_forward"]
)
def test_hopper_kernels_are_checked(plant):
    flags = ["--only=hopper_bf16_128x64_rows", "--seed=5", f"--plant={plant}"]
    done = subprocess.run(
        [building.build_emulated(), "correctness", "--step=19", *flags],
        capture_output=True,
        text=True,
    )
    head, *kernels = map(json.loads, done.stdout.splitlines())
    assert head["kernels"] == len(kernels) == 2
    assert all(kernel["cases"] > 0 for kernel in kernels)
    wrong = [kernel["kernel"] for kernel in kernels if kernel["failure"]]
    assert wrong == ([plant] if plant else [])
    assert done.returncode == len(wrong)


@pytest.mark.parametrize(
    ("product", "kernel"),
    [
        ("forward", "matmul_hopper_f16_128x64_rows_forward"),
        ("dx", "matmul_hopper_f16_128x64_rows_transpose"),
        ("dw", "sampled_matmul_hopper_f16_64x64_rows"),
    ],
)
def test_hopper_kernels_are_timed_if_they_are_asked_for(product, kernel):
    done = subprocess.run(
        [building.build_emulated(), "speed", "--samples=1"],
        input=f"sparse {product} f16 8 128 128 64 0.5",
        env={**os.environ, "TF_BLOCKSPARSE_HOPPER": "1"},
        capture_output=True,
        text=True,
    )
    timed = json.loads(done.stdout.splitlines()[-1])
    assert (timed["kernel"], timed["error"]) == (kernel, "")


@pytest.mark.skipif(
    shutil.which("nvidia-smi") is not None, reason="there may be a GPU"
)
def test_says_that_there_is_no_gpu(bench):
    result = bench(program="gpu_check.py")
    assert result.returncode == gpu_check.CANNOT_CHECK
    assert "nothing was checked:\n" in result.stderr
    assert "no NVIDIA driver" in result.stderr
    assert result.stdout == ""


def test_ops_agree_with_themselves():
    found = op_check.check(("/CPU:0", "/CPU:0"), 2111, 60007)
    assert found == {"results": 3 * (8 + 8), "failures": []}


def test_an_op_that_differs_is_told(monkeypatch):
    from tf_blocksparse import ops

    right = ops.matmul
    calls = iter(range(1000))
    monkeypatch.setattr(
        ops,
        "matmul",
        # Every other call is of the device that is checked.
        lambda *a, **k: right(*a, **k) + (next(calls) % 2 == 0),
    )
    found = op_check.check(("/CPU:0", "/CPU:0"), 2111, 60007)
    assert found["failures"]
    assert all(f.endswith("y differs") for f in found["failures"])


def test_says_why_no_ops_are_run(monkeypatch):
    import tensorflow as tf

    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [])
    assert op_check.reason() == f"TensorFlow {tf.__version__} sees no GPU"
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    assert "TensorFlow is not installed" in op_check.reason()


# Compiles every kernel.
@pytest.mark.complete
def test_builds_with_nvcc_alone_and_says_that_there_is_no_driver(tmp_path):
    if shutil.which("nvcc") is None:
        pytest.skip("no nvcc in PATH")
    program = building.build(finding.find_toolkit(), 80)
    done = subprocess.run(
        [program, "device"],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("gpu_check: looking at the GPU: ")
