# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Which instruction set is chosen on processors that are not this one.

QEMU plays them. docs/portability.md has what takes longer: the C++ tests on
emulated processors.
"""

import os
import pathlib
import platform
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[1]
PROGRAM = """
#include <cstdio>
#include "cc/base/isa.h"
int main() {
  blocksparse::Isa isa;
  std::string error;
  const bool known = blocksparse::MaxIsa(&isa, &error);
  std::puts(known ? blocksparse::NameOf(isa) : error.c_str());
}
"""


def output(*command, **environment):
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def find(emulator, package):
    path = shutil.which(emulator)
    if path is None:
        pytest.skip(f"no {emulator}: apt-get install {package}")
    return path


def compiled(compiler, folder):
    source = folder / "print_isa.cc"
    source.write_text(PROGRAM)
    program = folder / "print_isa"
    # Static: the emulator needs no libraries of the processor's.
    options = ["-std=c++17", "-O1", "-static", f"-I{ROOT}"]
    files = [source, ROOT / "cc/base/isa.cc"]
    output(compiler, *options, *files, "-o", program)
    return program


@pytest.fixture(scope="module")
def emulated_x86(tmp_path_factory):
    if platform.machine() != "x86_64":
        pytest.skip(f"compiles for {platform.machine()}")
    emulator = find("qemu-x86_64", "qemu-user")
    version = re.search(r"version (\d+)\.(\d+)", output(emulator, "--version"))
    if (int(version[1]), int(version[2])) < (7, 2):
        pytest.skip(f"QEMU {version[1]}.{version[2]} has no AVX2, 7.2 has")
    program = compiled("g++", tmp_path_factory.mktemp("x86"))
    return lambda processor: output(emulator, "-cpu", processor, program)


@pytest.mark.parametrize(
    ("processor", "isa"),
    [
        ("Nehalem", "portable"),
        ("SandyBridge", "portable"),
        ("Haswell", "avx2"),
        ("EPYC", "avx2"),
        # One thing missing, and whatever it is: none of it may be used.
        ("Haswell,-avx2", "portable"),
        ("Haswell,-fma", "portable"),
        ("Haswell,-f16c", "portable"),
        ("Haswell,-avx", "portable"),
        # An operating system that keeps no wide registers.
        ("Haswell,-xsave", "portable"),
    ],
)
def test_old_processors(emulated_x86, processor, isa):
    assert emulated_x86(processor) == isa


def test_aarch64(tmp_path):
    emulator = find("qemu-aarch64", "qemu-user")
    compiler = find("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu")
    program = compiled(compiler, tmp_path)
    assert output(emulator, program) == "neon"
    limit = {"TF_BLOCKSPARSE_MAX_ISA": "portable"}
    assert output(emulator, program, **limit) == "portable"
    limit = {"TF_BLOCKSPARSE_MAX_ISA": "avx2"}
    assert "expected one of portable, neon;" in output(
        emulator, program, **limit
    )
