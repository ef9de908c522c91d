# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""TF_BLOCKSPARSE_MAX_ISA decides which instructions the ops really use.

Results tell: with FMA a product and a sum are rounded once, without it twice,
so that the last bits of long sums differ.
"""

import json
import os
import pathlib
import platform
import subprocess
import sys

import numpy as np
import pytest

from tf_blocksparse import BlockLayout, testing

ROOT = pathlib.Path(__file__).parents[2]
LAYOUT = BlockLayout.random((512, 512), 16, sparsity=0.5, seed=0)
ROWS = (1, 64)
PROGRAM = """
import json, sys
import numpy as np, tensorflow as tf
from tf_blocksparse import BlockLayout, ops
values = np.load(sys.argv[1])
layout = BlockLayout.random((512, 512), 16, sparsity=0.5, seed=0)
results = {}
for rows in (1, 64):
    x, blocks = tf.constant(values["x"][:rows]), tf.constant(values["blocks"])
    for name, y in (
        ("matmul", ops.matmul(x, blocks, layout)),
        ("transposed", ops.matmul(x, blocks, layout, transpose=True)),
        ("sampled", ops.sampled_matmul(x, x + 1, layout)),
    ):
        results[f"{name} {rows}"] = y.numpy().ravel().tolist()
print(json.dumps(results))
"""


def flags():
    """What the processor can do, as Linux names it."""
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return set(line.split())
    return set()


X86 = platform.machine() == "x86_64"
# What is compiled for this family of processors.
COMPILED = {
    "x86_64": ["portable", "avx2", "avx512"],
    "aarch64": ["portable", "neon"],
}.get(platform.machine(), ["portable"])


def isas():
    """The instruction sets of this machine, the best last."""
    if not X86:
        return COMPILED
    found = ["portable"]
    if {"avx2", "fma"} <= flags():
        found.append("avx2")
        if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags():
            found.append("avx512")
    return found


@pytest.fixture(scope="module")
def values(tmp_path_factory):
    rng = np.random.default_rng(0)
    values = {
        "x": rng.standard_normal((max(ROWS), 512)).astype(np.float32),
        "blocks": rng.standard_normal(LAYOUT.blocks_shape).astype(np.float32),
    }
    path = tmp_path_factory.mktemp("isa") / "values.npz"
    np.savez(path, **values)
    return path, values


def run(path, isa):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("TF_BLOCKSPARSE_MAX_ISA", None)
    if isa is not None:
        environment["TF_BLOCKSPARSE_MAX_ISA"] = isa
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)],
        env={**environment, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
    )


def results(path, isa):
    done = run(path, isa)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def found(values):
    return {isa: results(values[0], isa) for isa in isas()}


def test_every_instruction_set_is_right(found, values):
    x, blocks = values[1]["x"].astype(float), values[1]["blocks"]
    w = LAYOUT.to_dense(blocks).astype(float)
    for isa, products in found.items():
        for name, y in products.items():
            rows = x[: int(name.split()[1])]
            a, b = {
                "matmul": (rows, w),
                "transposed": (rows, w.T),
                # The sum is rounded to float32 before it is multiplied.
                "sampled": (rows.T, (rows.astype("f") + 1).astype(float)),
            }[name.split()[0]]
            expected, magnitude = a @ b, abs(a) @ abs(b)
            if name.startswith("sampled"):
                expected = LAYOUT.gather(expected)
                magnitude = LAYOUT.gather(magnitude)
            allowed = testing.tolerance(
                "float32", a.shape[1], magnitude, expected
            )
            error = np.abs(np.reshape(y, expected.shape) - expected)
            assert np.all(error <= allowed), (isa, name)


@pytest.mark.skipif(not X86, reason="portable code has FMA here, too")
@pytest.mark.skipif(len(isas()) < 2, reason="has only portable instructions")
def test_portable_code_is_what_runs(found):
    """No FMA, so other bits; the same in every kind of product."""
    for isa in isas()[1:]:
        for name, y in found[isa].items():
            if name != "sampled 1":  # a single product has no sum
                assert y != found["portable"][name], (isa, name)


@pytest.mark.skipif(len(isas()) < 3, reason="has no AVX-512")
def test_avx2_is_what_runs(found):
    """Registers of another width: sums over their lanes differ."""
    assert found["avx2"] != found["avx512"]


def test_best_is_the_default(found, values):
    assert results(values[0], None) == found[isas()[-1]]


def test_unknown_name(values):
    done = run(values[0], "sse9")
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "InvalidArgumentError" in last
    assert (
        'TF_BLOCKSPARSE_MAX_ISA is "sse9", expected one of '
        f"{', '.join(COMPILED)}; set it to one of them or unset it" in last
    )
