# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Builds the program of cc/gpu_check: by nvcc alone, for one GPU."""

import concurrent.futures
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from progress import Progress

from gpu.finding import CannotCheckError, Toolkit

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = ROOT / ".build/gpu_check"
FOLDERS = (
    "cc/base",
    "cc/layout",
    "cc/kernels",
    "cc/kernels/reference",
    "cc/kernels/cuda",
    "cc/testing",
    "cc/gpu_check",
)
# What stands in for a GPU.
_EMULATOR = (
    "cuda_emulator.cc",
    "cuda_exchanges.cc",
    "cuda_hopper.cc",
    "fiber.cc",
)
_NO_GPU = (*_EMULATOR, "device_emulated.cc")
# GPUs with instructions that code for later ones may not use.
_OWN_CODE = {90: "90a", 100: "100a"}

EMULATED = "//cc/gpu_check:gpu_check_emulated"


def sources() -> list[pathlib.Path]:
    """What the program is made of; what takes longest to compile first."""
    found = [
        path
        for folder in FOLDERS
        for path in sorted((ROOT / folder).glob("*.cc"))
        if not path.name.endswith("_test.cc") and path.name not in _NO_GPU
    ]
    return sorted(found, key=lambda path: not path.name.endswith(".cu.cc"))


def flags(capability: int) -> list[str]:
    """Those that nvcc takes for every source."""
    arch = _OWN_CODE.get(capability, str(capability))
    return [
        "-std=c++17",
        "-O3",
        "-I.",
        f"-gencode=arch=compute_{arch},code=sm_{arch}",
        *(["-DTF_BLOCKSPARSE_SM90A"] if arch == "90a" else []),
    ]


def build(toolkit: Toolkit, capability: int, jobs: int | None = None) -> str:
    """Compiles the program anew if it has to be, and returns its path.

    Args:
      jobs: how many compilers run at once; as many as there are processors if
        None.

    Raises:
      CannotCheckError: if nvcc does not compile a source, with its words.
    """
    program = BUILT / f"gpu_check_{_digest(toolkit, capability)}"
    if program.is_file():
        return str(program)
    BUILT.mkdir(parents=True, exist_ok=True)
    # Nothing is left of a build that is broken off, and none meets another.
    with tempfile.TemporaryDirectory(dir=BUILT) as folder:
        made = _compile(pathlib.Path(folder), toolkit, capability, jobs)
        made.rename(program)
    return str(program)


def _compile(
    folder: pathlib.Path, toolkit: Toolkit, capability: int, jobs: int | None
) -> pathlib.Path:
    files = sources()
    objects = [folder / f"{path.parent.name}_{path.stem}.o" for path in files]
    common = [toolkit.nvcc, *flags(capability)]
    progress = Progress("compiling", len(files) + 1)
    jobs = jobs or len(os.sched_getaffinity(0))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        tasks = []
        for path, made in zip(files, objects, strict=True):
            kind = "cu" if path.name.endswith(".cu.cc") else "c++"
            name = path.relative_to(ROOT)
            command = [*common, f"-x={kind}", "-c", str(name), "-o", str(made)]
            tasks.append(pool.submit(_run, command))
        try:
            for task in concurrent.futures.as_completed(tasks):
                task.result()
                progress()
        except CannotCheckError:
            pool.shutdown(cancel_futures=True)
            raise
    program = folder / "gpu_check"
    _run([*common, *map(str, objects), "-ldl", "-o", str(program)])
    progress()
    return program


def build_emulated() -> str:
    """The same program for the emulator, by Bazel; returns its path."""
    sys.path.insert(0, str(ROOT / "cc/bazel"))
    import bazel_command

    try:
        bazel = bazel_command.find_bazel()
    except bazel_command.CannotBuildError as error:
        raise CannotCheckError(str(error)) from None
    _run([bazel, "build", EMULATED])
    return str(ROOT / ".bazel/bin/cc/gpu_check/gpu_check_emulated")


def _digest(toolkit: Toolkit, capability: int) -> str:
    """Differs where a program would: by sources, compiler and flags."""
    digest = hashlib.sha256(repr((toolkit, flags(capability))).encode())
    for path in sorted((ROOT / "cc").rglob("*")):
        if path.suffix in (".cc", ".h"):
            digest.update(path.relative_to(ROOT).as_posix().encode())
            digest.update(path.read_bytes())
    return f"sm_{capability}_{digest.hexdigest()[:16]}"


def _run(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except OSError as error:
        raise CannotCheckError(f"{command[0]} does not run: {error}") from None
    if done.returncode:
        raise CannotCheckError(
            f"{' '.join(command)}\nended with {done.returncode}:\n"
            f"{done.stderr}{done.stdout}"
        )
