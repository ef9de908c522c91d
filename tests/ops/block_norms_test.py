# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`ops.block_norms` beside the norms of whole products."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import ops

RNG = np.random.default_rng(0)


def normal(*shape, dtype="float32"):
    return tf.constant(RNG.normal(size=shape), dtype)


def norms_of(whole, block_size):
    """Norms of the blocks of `[..., inputs, outputs]`, in NumPy."""
    rows, columns = (
        -(-size // block)
        for size, block in zip(whole.shape[-2:], block_size, strict=True)
    )
    b_in, b_out = block_size
    padded = np.zeros((*whole.shape[:-2], rows * b_in, columns * b_out))
    padded[..., : whole.shape[-2], : whole.shape[-1]] = whole
    tiles = padded.reshape(*whole.shape[:-2], rows, b_in, columns, b_out)
    return np.sqrt((tiles**2).sum((-3, -1)))


def wide(*values):
    return [tf.cast(value, tf.float64) for value in values]


# Rows, inputs, outputs, block size; several tiles where there are many.
PROBLEMS = [
    ((7,), 6, 8, (2, 4)),
    ((2, 3), 10, 9, (4, 4)),
    ((3,), 5, 7, (8, 8)),
    ((5,), 1, 1, (1, 1)),
    ((), 12, 8, (4, 4)),
    ((0,), 12, 8, (4, 4)),
    ((2, 0, 3), 12, 8, (4, 4)),
    ((4,), 700, 1030, (32, 32)),
    ((4,), 1030, 700, (256, 3)),
    ((3,), 40000, 70, (8, 32)),
    ((3,), 70, 40000, (7, 16)),
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_norms_of_the_dense_product(problem, dtype):
    rows, inputs, outputs, block_size = problem
    a, b = (normal(*rows, size, dtype=dtype) for size in (inputs, outputs))
    norms = ops.block_norms(a, b, block_size)
    assert norms.dtype == tf.float32
    one, two = (np.reshape(each, (-1, each.shape[-1])) for each in wide(a, b))
    expected = norms_of(one.T @ two, block_size)
    np.testing.assert_allclose(norms, expected, 1e-5, 1e-5)


def test_integers_are_exact():
    a, b = (
        tf.constant(RNG.integers(-3, 4, (9, size)), tf.float32)
        for size in (50, 70)
    )
    whole = a.numpy().T @ b.numpy()
    norms = ops.block_norms(a, b, (1, 1))
    np.testing.assert_array_equal(norms, np.abs(whole))


def test_float64_is_summed_in_float64():
    """1e9 + 1 - 1e9, of which float32 would leave 0."""
    a = tf.constant([[1e9], [1.0], [-1e9]], tf.float64)
    norms = ops.block_norms(a, tf.ones([3, 1], tf.float64), 1)
    assert norms.numpy().tolist() == [[1.0]]


def test_16_bits_are_summed_in_float32():
    a = tf.ones([3000, 1], tf.bfloat16)
    assert ops.block_norms(a, a, 1).numpy().tolist() == [[3000.0]]


def test_rows_may_be_unknown_and_nothing_retraces():
    traces = []

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None, 700]),
            tf.TensorSpec([None, None, 1030]),
        ]
    )
    def norms(a, b):
        traces.append(1)
        return ops.block_norms(a, b, 32)

    assert norms.get_concrete_function().output_shapes.as_list() == [22, 33]
    for rows in ((1, 2), (3, 5), (0, 4)):
        a, b = normal(*rows, 700), normal(*rows, 1030)
        np.testing.assert_allclose(
            norms(a, b), ops.block_norms(a, b, 32), 1e-5, 1e-5
        )
    assert len(traces) == 1


def test_is_a_constant_to_a_tape():
    a = normal(4, 40)
    with tf.GradientTape() as tape:
        tape.watch(a)
        norms = ops.block_norms(a, a, 8)
    assert tape.gradient(norms, a) is None


def test_takes_arrays_and_lists():
    a, b = normal(2, 3, dtype="float64"), normal(2, 5)
    norms = ops.block_norms(a, b.numpy().tolist(), 2)
    assert ops.block_norms(b.numpy().tolist(), b.numpy(), 2).shape == (3, 3)
    np.testing.assert_allclose(norms, ops.block_norms(*wide(a, b), 2), 1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"a": tf.zeros([3, 4])}, "a and b: got shapes"),
        ({"a": tf.zeros([2, 4], tf.float64)}, "a and b: got float64"),
        ({"a": tf.zeros([2, 4], tf.int32)}, "a: got dtype int32"),
        ({"a": 1.0}, "a: got shape"),
        ({"b": tf.zeros([2, 0])}, "b: got shape"),
        ({"b": "x"}, "b: got str"),
        ({"block_size": 0}, "block_size: got int 0"),
    ],
)
def test_refuses(changes, message):
    arguments = {"a": tf.zeros([2, 4]), "b": tf.zeros([2, 6]), "block_size": 2}
    with pytest.raises(ValueError, match=message):
        ops.block_norms(**{**arguments, **changes})


MEMORY = """
import pathlib, re
import tensorflow as tf
from tf_blocksparse import ops

def resident(name):
    status = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(name + r":\\s*(\\d+) kB", status)[1]) / 1024

@tf.function
def graph(a, b):
    return ops.block_norms(a, b, 32)

def eager(a, b):
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        return ops.block_norms(a, b, 32)

for norms in (graph, eager):
    norms(tf.ones([8, 1024]), tf.ones([8, 512]))
    a, b = tf.ones([8, 8192]), tf.ones([8, 6144])
    before = resident("VmRSS")
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    found = norms(a, b)
    assert found.shape == (256, 192), found.shape
    print(resident("VmHWM") - before)
"""


def test_no_dense_product_is_held():
    environment = {"PYTHONPATH": os.getcwd(), "TF_ENABLE_ONEDNN_OPTS": "0"}
    result = subprocess.run(
        [sys.executable, "-c", MEMORY],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    # The product would be 192 MiB.
    assert max(map(float, result.stdout.split())) < 40
