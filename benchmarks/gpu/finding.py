# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Which GPU, driver and CUDA toolkit there are, or what is missing."""

import ctypes
import dataclasses
import glob
import os
import pathlib
import re
import shutil
import site
import subprocess
import sys
from collections.abc import Iterable

USUAL_NVCC = "/usr/local/cuda/bin"

_SUCCESS = 0
_NO_DEVICE = 100
_DRIVER_MISMATCH = 803
# Of CUdevice_attribute.
_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76

# The first driver whose CUDA is of a major version.
_DRIVERS = {12: "525", 13: "580"}


class CannotCheckError(Exception):
    """What is missing and what to do, a line for each."""


@dataclasses.dataclass(frozen=True)
class Toolkit:
    """An nvcc and its version."""

    nvcc: str
    version: tuple[int, int]

    def __str__(self) -> str:
        return f"CUDA {self.version[0]}.{self.version[1]}"


@dataclasses.dataclass(frozen=True)
class Gpu:
    """The first GPU that CUDA shows.

    Attributes:
      name: as the driver has it.
      capability: 80 for compute capability 8.0.
      driver: the CUDA version that the driver supports.
    """

    name: str
    capability: int
    driver: tuple[int, int]


def find(driver: str = "libcuda.so.1") -> tuple[Gpu, Toolkit]:
    """The GPU and the toolkit to compile for it.

    Args:
      driver: the driver's library.

    Raises:
      CannotCheckError: if anything is missing, with all that is.
    """
    missing = []
    gpu = toolkit = None
    try:
        toolkit = find_toolkit()
    except CannotCheckError as error:
        missing.append(str(error))
    try:
        gpu = find_gpu(driver)
    except CannotCheckError as error:
        missing.append(str(error))
    if gpu and toolkit:
        missing += complaints(gpu, toolkit, gpu_codes(toolkit))
    if not gpu or not toolkit or missing:
        raise CannotCheckError("\n".join(missing))
    return gpu, toolkit


def find_toolkit() -> Toolkit:
    """The nvcc of $CUDA_HOME, $CUDA_PATH, PATH or /usr/local/cuda."""
    named = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    found = shutil.which("nvcc", path=f"{named}/bin" if named else None)
    found = found or shutil.which("nvcc", path=USUAL_NVCC)
    if not found:
        raise CannotCheckError(
            "no nvcc in $CUDA_HOME/bin, PATH or /usr/local/cuda/bin: install "
            "the CUDA toolkit, or set CUDA_HOME to it"
        )
    done = subprocess.run([found, "--version"], capture_output=True, text=True)
    release = re.search(r"release (\d+)\.(\d+)", done.stdout)
    if not release:
        raise CannotCheckError(
            f"{found} --version tells no release: install the CUDA toolkit "
            "anew, or set CUDA_HOME to another"
        )
    return Toolkit(found, (int(release[1]), int(release[2])))


def gpu_codes(toolkit: Toolkit) -> set[str]:
    """What the toolkit compiles for, such as sm_80."""
    command = [toolkit.nvcc, "--list-gpu-code"]
    done = subprocess.run(command, capture_output=True, text=True)
    return set(done.stdout.split())


def find_gpu(driver: str = "libcuda.so.1") -> Gpu:
    """Asks the driver, without any part of a toolkit."""
    try:
        cuda = ctypes.CDLL(driver)
    except OSError as error:
        raise CannotCheckError(
            f"no NVIDIA driver ({error}): install one, or in a container, "
            "start it with its GPUs, as in docker run --gpus=all"
        ) from None
    status = cuda.cuInit(0)
    count = ctypes.c_int(0)
    if status == _SUCCESS:
        status = cuda.cuDeviceGetCount(ctypes.byref(count))
    if status == _NO_DEVICE or (status == _SUCCESS and count.value == 0):
        raise CannotCheckError(
            "there is a driver, but no NVIDIA GPU: check nvidia-smi, and "
            f"CUDA_VISIBLE_DEVICES ({_visible()})"
        )
    if status == _DRIVER_MISMATCH:
        raise CannotCheckError(
            "the driver's library and kernel module are of different "
            "versions: restart the machine"
        )
    if status != _SUCCESS:
        raise CannotCheckError(
            f"the driver does not start (CUDA error {status}): check nvidia-smi"
        )
    version = ctypes.c_int(0)
    cuda.cuDriverGetVersion(ctypes.byref(version))
    name = ctypes.create_string_buffer(256)
    cuda.cuDeviceGetName(name, len(name), 0)
    parts = []
    for attribute in (_CAPABILITY_MAJOR, _CAPABILITY_MINOR):
        value = ctypes.c_int(0)
        cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, 0)
        parts.append(value.value)
    return Gpu(
        name.value.decode(errors="replace"),
        10 * parts[0] + parts[1],
        (version.value // 1000, version.value % 1000 // 10),
    )


def complaints(gpu: Gpu, toolkit: Toolkit, codes: Iterable[str]) -> list[str]:
    """Why programs of a toolkit would not run on a GPU with its driver."""
    found = []
    if gpu.driver[0] < toolkit.version[0]:
        needed = _DRIVERS.get(toolkit.version[0])
        found.append(
            f"the driver supports CUDA {gpu.driver[0]}.{gpu.driver[1]}, too "
            f"old for {toolkit} of {toolkit.nvcc}: install a driver"
            + (f" from {needed} on" if needed else " for it")
            + f", or a toolkit of CUDA {gpu.driver[0]} and set CUDA_HOME to it"
        )
    if f"sm_{gpu.capability}" not in codes:
        found.append(
            f"{toolkit} of {toolkit.nvcc} does not compile for {gpu.name} "
            f"(compute capability {gpu.capability / 10}): kernels are written "
            "for 7.5 and later; a newer GPU needs a newer toolkit"
        )
    return found


def find_cublas(toolkit: Toolkit) -> str | None:
    """A libcublas: the toolkit's, the loader's, or that of a Python package."""
    top = pathlib.Path(toolkit.nvcc).resolve().parent.parent
    packages = [*site.getsitepackages(), site.getusersitepackages(), *sys.path]
    patterns = [
        f"{top}/lib64/libcublas.so",
        f"{top}/targets/*/lib/libcublas.so",
        f"{sys.prefix}/lib/libcublas.so.*",  # of a Conda environment
        *(f"{path}/nvidia/*/lib/libcublas.so.*" for path in packages if path),
        *(f"{path}/torch/lib/libcublas.so.*" for path in packages if path),
    ]
    for pattern in patterns:
        for path in sorted(glob.glob(pattern), reverse=True):
            return path
    for name in ("libcublas.so.13", "libcublas.so.12"):
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return name
    return None


def _visible() -> str:
    return os.environ.get("CUDA_VISIBLE_DEVICES", "not set")
