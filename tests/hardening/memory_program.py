# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Calls ops that need more memory than the process may have.

Each call must be refused with a ResourceExhaustedError, and what ran before
must run on.
"""

import pathlib
import re
import resource
import sys

import numpy as np
import tensorflow as tf

from tf_blocksparse import BlockLayout, ops

MIB = 2**20
# What a call may need of its own.
ALLOWED = 100 * MIB


def small():
    layout = BlockLayout.dense((16, 16), 16)
    y = ops.matmul(tf.ones([4, 16]), tf.ones([1, 16, 16]), layout)
    assert (y.numpy() == 16).all()


def calls():
    """(name, function) of calls whose operands exist already."""
    wide = BlockLayout.dense((1, 2**18), (1, 256))
    x, blocks = tf.ones([1024, 1]), tf.ones(wide.blocks_shape)
    bias = tf.ones([2**18])
    yield "matmul", lambda: ops.matmul(x, blocks, wide)
    yield (
        "fused",
        lambda: ops.matmul(x, blocks, wide, bias=bias, activation="gelu"),
    )
    tall = BlockLayout.dense((2**13, 2**13), 256)
    a, b = tf.ones([1, 2**13]), tf.ones([1, 2**13])
    yield "sampled", lambda: ops.sampled_matmul(a, b, tall)
    # The result has 256 numbers, the panels of the other side 128 MiB.
    one = BlockLayout(np.arange(2**15).reshape(1, 2**15) == 0, 16)
    few, many = tf.ones([64, 2**4]), tf.ones([64, 2**19])
    yield "scratch", lambda: ops.sampled_matmul(few, many, one)
    pixel = BlockLayout.dense((1, 2**10), (1, 256))
    image, kernel = tf.ones([1, 300, 300, 1]), tf.ones([4, 9, 1, 256])
    yield "conv", lambda: ops.conv(image, kernel, pixel, 3, padding="same")
    yield (
        "conv_transpose",
        lambda: ops.conv_transpose(image, kernel, pixel, 3, strides=2),
    )
    taps = BlockLayout.dense((2**11, 2**11), 256)
    fine, coarse = tf.ones([1, 3, 3, 2**11]), tf.ones([1, 1, 1, 2**11])
    yield "conv_sampled", lambda: ops.conv_sampled(fine, coarse, taps, 3)


def limit(byte_count):
    """Limits what may be mapped besides what is; None for no limit."""
    most = resource.RLIM_INFINITY
    if byte_count is not None:
        status = pathlib.Path("/proc/self/status").read_text()
        mapped = int(re.search(r"VmSize:\s*(\d+) kB", status)[1]) * 1024
        most = mapped + byte_count
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def main():
    small()
    for name, call in list(calls()):
        limit(ALLOWED)
        try:
            call()
        except tf.errors.ResourceExhaustedError as error:
            print(name, "refused:", error)
        else:
            sys.exit(f"{name}: was not refused")
        small()
        limit(None)


if __name__ == "__main__":
    main()
