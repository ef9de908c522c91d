# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Tensors of more than 2^31 numbers, on every side of every op.

They are of float16 and take 4.3 GB each; one is there at a time.
"""

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, ops

pytestmark = pytest.mark.complete

DTYPE = tf.float16
FEATURES = 2048
# The last row begins with number 2^31.
ROWS = 2**31 // FEATURES + 1
ODD_ROWS = [0, 1, ROWS // 2, ROWS - 3, ROWS - 2, ROWS - 1]


def available():
    """Bytes of memory that the machine has left."""
    with open("/proc/meminfo") as file:
        sizes = dict(line.split(":") for line in file)
    return int(sizes["MemAvailable"].split()[0]) * 1024


@pytest.fixture(autouse=True)
def memory():
    if available() < 7e9:
        pytest.skip("needs 7 GB of memory")


def integers(*shape):
    rng = np.random.default_rng(0)
    return tf.constant(rng.integers(-2, 3, shape), DTYPE)


def rows_apart(features):
    """Rows of zeros, but for the first, the last and those between."""
    values = integers(len(ODD_ROWS), features)
    indices = tf.constant(ODD_ROWS)[:, None]
    return values, tf.scatter_nd(indices, values, [ROWS, features])


def wide(values):
    return tf.cast(values, tf.float64).numpy()


def test_rows():
    layout = BlockLayout.dense((8, FEATURES), 8)
    blocks = integers(*layout.blocks_shape)
    weight = wide(ops.to_dense(blocks, layout))
    values, x = rows_apart(8)
    y = ops.matmul(x, blocks, layout)
    assert y.shape.num_elements() > 2**31
    odd = tf.gather(y, ODD_ROWS)
    np.testing.assert_array_equal(wide(odd), wide(values) @ weight)
    back = ops.matmul(y, blocks, layout, transpose=True)
    got = wide(tf.gather(back, ODD_ROWS))
    expected = wide(tf.cast(wide(odd) @ weight.T, DTYPE))
    np.testing.assert_array_equal(got, expected)
    assert int(tf.math.count_nonzero(back)) == np.count_nonzero(expected)
    product = ops.sampled_matmul(x, y, layout)
    expected = tf.cast(wide(values).T @ wide(odd), DTYPE)
    got = wide(ops.to_dense(product, layout))
    np.testing.assert_array_equal(got, wide(expected))


def test_blocks():
    count = 2**15 + 1
    layout = BlockLayout.dense((count * 256, 256), 256)
    a, b = integers(1, layout.shape[0]), integers(1, 256)
    blocks = ops.sampled_matmul(a, b, layout)
    assert blocks.shape.num_elements() > 2**31
    for block in (0, count // 2, count - 1):
        part = a[:, block * 256 : (block + 1) * 256]
        expected = np.outer(wide(part), wide(b))
        np.testing.assert_array_equal(wide(blocks[block]), expected)
    # Only the first and the last block meet anything but zeros.
    x = tf.concat([a[:, :256], tf.zeros_like(a[:, 512:]), a[:, -256:]], 1)
    length = float(np.sum(wide(a[:, :256]) ** 2 + wide(a[:, -256:]) ** 2))
    y = ops.matmul(x, blocks, layout)
    expected = tf.cast(tf.constant(wide(b) * length), DTYPE)
    np.testing.assert_array_equal(wide(y), wide(expected))
    back = ops.matmul(b, blocks, layout, transpose=True)
    squares = float(np.sum(wide(b) ** 2))
    expected = tf.cast(tf.constant(wide(a) * squares), DTYPE)
    np.testing.assert_array_equal(wide(back), wide(expected))


def test_pixels():
    layout = BlockLayout.dense((8, FEATURES), 8)
    blocks = integers(layout.nnz, 2, 8, 8)
    values, x = rows_apart(8)
    # An image of one row, whose second tap reads the next pixel.
    image = tf.reshape(x, [1, ROWS, 8])
    y = ops.conv(image, blocks, layout, 2, padding="same")
    assert y.shape.num_elements() > 2**31
    first, second = (
        wide(ops.to_dense(blocks[:, tap], layout)) for tap in range(2)
    )
    following = wide(tf.gather(tf.pad(x, [[0, 1], [0, 0]]), ODD_ROWS))
    after = wide(tf.gather(tf.pad(x, [[0, 1], [0, 0]]), np.add(ODD_ROWS, 1)))
    odd = tf.gather(y[0], ODD_ROWS)
    expected = following @ first + after @ second
    np.testing.assert_array_equal(wide(odd), expected)
    product = ops.conv_sampled(image, y, layout, 2, padding="same")
    got = wide(ops.to_dense(product[:, 0], layout))
    expected = tf.cast(wide(values).T @ wide(odd), DTYPE)
    np.testing.assert_array_equal(got, wide(expected))
    back = ops.conv_transpose(
        y, layout.transpose_blocks(blocks), layout.transpose(), 2
    )
    assert back.shape == (1, ROWS + 1, 8)
    last = wide(odd)[-1] @ second.T
    expected = tf.cast(tf.constant(last), DTYPE)
    np.testing.assert_array_equal(wide(back[0, -1]), wide(expected))
