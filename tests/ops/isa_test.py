# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""TF_BLOCKSPARSE_MAX_ISA decides which instructions the ops really use.

Results tell: with FMA a product and a sum are rounded once, without it twice,
so that the last bits of long sums differ.
"""

import pathlib
import platform

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, ops, testing

LAYOUT = BlockLayout.random((512, 512), 16, sparsity=0.5, seed=0)
ROWS = (1, 64)


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
def values():
    rng = np.random.default_rng(0)
    return (
        rng.standard_normal((max(ROWS), 512)).astype(np.float32),
        rng.standard_normal(LAYOUT.blocks_shape).astype(np.float32),
    )


def results(values, isa):
    """What ops of a new graph compute: each session makes its kernels anew."""
    feed, products = {}, {}
    with (
        tf.Graph().as_default() as graph,
        pytest.MonkeyPatch.context() as patch,
    ):
        if isa is None:
            patch.delenv("TF_BLOCKSPARSE_MAX_ISA", raising=False)
        else:
            patch.setenv("TF_BLOCKSPARSE_MAX_ISA", isa)
        blocks = tf.compat.v1.placeholder(tf.float32)
        feed[blocks] = values[1]
        for rows in ROWS:
            x = tf.compat.v1.placeholder(tf.float32, (rows, 512))
            feed[x] = values[0][:rows]
            products |= {
                f"matmul {rows}": ops.matmul(x, blocks, LAYOUT),
                f"transposed {rows}": ops.matmul(
                    x, blocks, LAYOUT, transpose=True
                ),
                f"sampled {rows}": ops.sampled_matmul(x, x + 1, LAYOUT),
            }
        with tf.compat.v1.Session(graph=graph) as session:
            return session.run(products, feed)


@pytest.fixture(scope="module")
def found(values):
    return {isa: results(values, isa) for isa in isas()}


def test_every_instruction_set_is_right(found, values):
    x, blocks = values[0].astype(float), values[1]
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
            error = np.abs(y - expected)
            assert np.all(error <= allowed), (isa, name)


@pytest.mark.skipif(not X86, reason="portable code has FMA here, too")
@pytest.mark.skipif(len(isas()) < 2, reason="has only portable instructions")
def test_portable_code_is_what_runs(found):
    """No FMA, so other bits; the same in every kind of product."""
    for isa in isas()[1:]:
        for name, y in found[isa].items():
            if name != "sampled 1":  # a single product has no sum
                portable = found["portable"][name]
                assert not np.array_equal(y, portable), (isa, name)


@pytest.mark.skipif(len(isas()) < 3, reason="has no AVX-512")
def test_avx2_is_what_runs(found):
    """Registers of another width: sums over their lanes differ."""
    assert any(
        not np.array_equal(y, found["avx512"][name])
        for name, y in found["avx2"].items()
    )


def test_best_is_the_default(found, values):
    for name, y in results(values, None).items():
        np.testing.assert_array_equal(y, found[isas()[-1]][name], name)


def test_unknown_name(values):
    message = (
        'TF_BLOCKSPARSE_MAX_ISA is "sse9", expected one of '
        f"{', '.join(COMPILED)}; set it to one of them or unset it"
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        results(values, "sse9")
