# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Loads the library from several threads, then calls ops from all of them.

What a thread gets must be what one thread alone gets, bit for bit.
"""

import importlib
import sys
import threading

import keras
import numpy as np
import tensorflow as tf

THREADS = 6
ROUNDS = 20


def together(function):
    """Results of as many calls of a function at once."""
    start = threading.Barrier(THREADS)
    results = [None] * THREADS

    def call(number):
        start.wait()
        results[number] = function(number)

    threads = [
        threading.Thread(target=call, args=(number,))
        for number in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if any(result is None for result in results):
        sys.exit("a thread has failed, see above")
    return results


def load(library_path, number):
    """Half of the threads import the package, half load the library alone."""
    if number % 2 == 0:
        return importlib.import_module("tf_blocksparse")
    return tf.load_op_library(library_path)


def calls():
    """Functions of every op, large enough for all threads of TensorFlow."""
    bs = importlib.import_module("tf_blocksparse")
    ops = bs.ops
    layout = bs.BlockLayout.random((512, 512), 16, sparsity=0.6, seed=0)
    pixels = bs.BlockLayout.random((32, 32), 8, sparsity=0.5, seed=0)
    rng = np.random.default_rng(0)

    def draw(*shape):
        return tf.constant(rng.standard_normal(shape), tf.float32)

    x, blocks, bias = draw(256, 512), draw(*layout.blocks_shape), draw(512)
    gate = tf.constant(rng.integers(0, 2, layout.nnz), tf.float32)
    image, kernel = draw(4, 16, 16, 32), draw(pixels.nnz, 9, 8, 8)
    update = draw(2**17)

    @tf.function
    def graph(x):
        y = ops.matmul(x, blocks, layout, bias=bias, activation="silu")
        return ops.matmul(y, blocks, layout, transpose=True)

    def adam():
        weights = keras.Variable(update)
        optimizer = bs.optimizers.Adam(1e-2)
        optimizer.build([weights])
        optimizer.apply([update], [weights])
        return weights

    return [
        lambda: ops.matmul(x, blocks, layout, gate=gate),
        lambda: ops.sampled_matmul(x, x, layout),
        lambda: ops.conv(image, kernel, pixels, 3, padding="same"),
        lambda: ops.conv_sampled(image, image, pixels, 3, padding="same"),
        lambda: graph(x),
        adam,
    ]


def main(library_path):
    tf.config.threading.set_intra_op_parallelism_threads(3)
    together(lambda number: load(library_path, number))
    functions = calls()
    expected = [function().numpy() for function in functions]

    def work(number):
        """Each thread begins with another op, so that all run at once."""
        for turn in range(ROUNDS):
            which = (number + turn) % len(functions)
            if not np.array_equal(functions[which]().numpy(), expected[which]):
                return which
        return -1

    wrong = together(work)
    if any(which >= 0 for which in wrong):
        sys.exit(f"other results in several threads: {wrong}")
    same = together(lambda _: functions[0]().numpy())
    if not all(np.array_equal(y, expected[0]) for y in same):
        sys.exit("other results of one op in several threads")


if __name__ == "__main__":
    main(sys.argv[1])
