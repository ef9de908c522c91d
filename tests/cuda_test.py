# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""CUDA sources compile where there is an nvcc, and nobody needs one."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
PTXAS_TEST = ROOT / "cc/bazel/ptxas_test.sh"

KERNEL = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z6Kernelv' for 'sm_{arch}'
ptxas info    : Function properties for _Z6Kernelv
    8 bytes stack frame, {spilt} bytes spill stores, 0 bytes spill loads
ptxas info    : Used 128 registers, used 1 barriers
"""


LOOKS_AT_THE_GPU = """
#include <cstdio>
#include "cc/kernels/cuda/find_device.h"
int main() {
  blocksparse::cuda::Device device;
  std::puts(blocksparse::cuda::FindDevice(&device).c_str());
}
"""

# As much of a driver for CUDA 11.4 as it is asked for.
DRIVER = """
int cuInit(unsigned flags) { return 0; }
int cuDriverGetVersion(int* version) { *version = 11040; return 0; }
int cuGetProcAddress(const char* name, void** found, int version,
                     unsigned long flags) { return 500; }
"""


def bazel(*words, **environment):
    """What the command prints; a failure's last lines are in the report."""
    command = os.environ.get("BAZEL") or shutil.which("bazel") or "bazelisk"
    done = subprocess.run(
        [command, *words],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize(
    ("spilt", "asked", "complaint"),
    [
        (0, "80", ""),
        (4, "80", "Kernel() for 'sm_80':"),
        (16, "80", "Kernel() for 'sm_80':"),
        (0, "80,90", "no kernel for sm_90"),
        (0, "8", "no kernel for sm_8 "),
    ],
)
def test_spills_and_missing_kernels_are_found(
    tmp_path, spilt, asked, complaint
):
    log = tmp_path / "kernels.log"
    log.write_text(KERNEL.format(arch=80, spilt=spilt))
    done = subprocess.run(
        [PTXAS_TEST, asked, log], capture_output=True, text=True
    )
    assert (done.returncode == 0) == (complaint == "")
    assert complaint in done.stderr


@pytest.mark.slow
def test_nobody_needs_nvcc():
    package = "//cc/kernels/cuda:all"
    targets = bazel("query", package, TF_BLOCKSPARSE_CUDA="0").split()
    # By the emulator.
    assert "//cc/kernels/cuda:kernels_test" in targets
    assert "//cc/kernels/cuda:conv_test" in targets
    assert "//cc/kernels/cuda:kernels" not in targets
    assert not [name for name in targets if name.endswith("ptxas_test")]


@pytest.mark.slow
def test_cuda_without_nvcc_is_an_error(tmp_path):
    with pytest.raises(AssertionError, match="no nvcc in PATH"):
        bazel(
            "query",
            "//cc/kernels/cuda:all",
            CUDA_HOME=str(tmp_path),
            TF_BLOCKSPARSE_CUDA="1",
        )


@pytest.mark.slow
def test_says_which_driver_is_missing(tmp_path):
    if shutil.which("nvcc") is None:
        pytest.skip("no nvcc in PATH")
    program, main, driver = (
        tmp_path / name for name in ("program", "main.cc", "driver.c")
    )
    main.write_text(LOOKS_AT_THE_GPU)
    driver.write_text(DRIVER)
    source = "cc/kernels/cuda/find_device.cu.cc"
    flags = ["-std=c++17", f"-I{ROOT}", "-x=cu"]
    library = tmp_path / "libcuda.so.1"
    for command in (
        ["nvcc", *flags, source, main, "-o", program],
        ["gcc", "-shared", "-fPIC", driver, "-o", library],
    ):
        subprocess.run(command, cwd=ROOT, check=True)

    def said(folder):
        return subprocess.run(
            [program],
            env={**os.environ, "LD_LIBRARY_PATH": str(folder)},
            capture_output=True,
            text=True,
        ).stdout

    start = "looking at the GPU: CUDA driver version is insufficient"
    assert said(tmp_path).startswith(start)
    assert "; got one for CUDA 11.4, expected one for CUDA 1" in said(tmp_path)
    if shutil.which("nvidia-smi") is None:
        assert "; got no driver, expected one for CUDA 1" in said("")


# Compiles for more than five minutes.
@pytest.mark.complete
def test_kernels_compile_for_every_gpu_without_spills():
    if shutil.which("nvcc") is None:
        pytest.skip("no nvcc in PATH")
    bazel("test", "//cc/kernels/cuda:kernels_all_archs_ptxas_test")
