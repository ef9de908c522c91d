# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Malformed calls of the generated ops are refused, and never crash.

They run in another process, so that a crash is a failed test.
"""

import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys

import pytest

import tf_blocksparse

FOLDER = pathlib.Path(__file__).parent
ROOT = FOLDER.parents[1]
COUNT = 600
ISAS = {"x86_64": ["avx2", "avx512"], "aarch64": ["neon"]}.get(
    platform.machine(), []
)


def fuzz(library, seed, **environment):
    path = str(FOLDER / "fuzz_program.py")
    done = subprocess.run(
        [sys.executable, path, str(library), str(seed), str(COUNT)],
        capture_output=True,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
    )
    where = f"seed {seed} ended with {done.returncode}: "
    assert done.returncode == 0, where + done.stdout + done.stderr[-5000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert set(found) == {"matmul_fuzzer", "conv_fuzzer", "adam_fuzzer"}
    for counts in found.values():
        assert counts["refused"] == COUNT
        # Some changes do no harm; some calls must get as far as the kernels.
        assert counts["accepted"] > COUNT // 20


def test_malformed_calls_are_refused():
    fuzz(tf_blocksparse.library_path(), seed=0)


@pytest.mark.parametrize("isa", ["portable", *ISAS[:1]])
def test_on_lower_instruction_sets(isa):
    path = tf_blocksparse.library_path()
    fuzz(path, seed=1, TF_BLOCKSPARSE_MAX_ISA=isa)


@pytest.mark.complete
@pytest.mark.parametrize("seed", range(2, 22))
def test_many_seeds(seed):
    fuzz(tf_blocksparse.library_path(), seed)


@pytest.fixture(scope="module")
def library_with_address_sanitizer():
    bazel = os.environ.get("BAZEL") or shutil.which("bazel")
    bazel = bazel or shutil.which("bazelisk")
    if bazel is None:
        pytest.skip("no Bazel to build with")

    def run(*command):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    run(bazel, "build", "--config=asan", "//:libtf_blocksparse.so")
    folder = run(bazel, "info", "--config=asan", "bazel-bin")
    # The sanitizer looks for what throws exceptions when it starts.
    runtime = [
        run("g++", f"-print-file-name={name}")
        for name in ("libasan.so", "libstdc++.so.6")
    ]
    return pathlib.Path(folder) / "cc/tf/libtf_blocksparse.so", runtime


@pytest.mark.slow
@pytest.mark.parametrize("isa", ["portable", *ISAS])
def test_under_address_sanitizer(library_with_address_sanitizer, isa):
    library, runtime = library_with_address_sanitizer
    fuzz(
        library,
        seed=100,
        LD_PRELOAD=" ".join(runtime),
        # Python and TensorFlow leak by design.
        ASAN_OPTIONS="detect_leaks=0",
        TF_BLOCKSPARSE_MAX_ISA=isa,
    )
