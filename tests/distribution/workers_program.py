# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""One of two workers.

    workers_program.py FOLDER

with the cluster in TF_CONFIG, compares with what one device does, goes on from
FOLDER/mirrored, writes FOLDER/workers-N, and prints a line for each check that
has passed.
"""

import hashlib
import sys

import tensorflow as tf

# Before anything else is done with TensorFlow.
STRATEGY = tf.distribute.MultiWorkerMirroredStrategy()

import numpy as np  # noqa: E402
import training  # noqa: E402

from tf_blocksparse.callbacks import _workers  # noqa: E402
from tf_blocksparse.layers import BlockSparseDense  # noqa: E402


def digest(loop):
    return hashlib.sha256(loop.all_bytes()).hexdigest()


def check_stage(loop, make, folder, worker):
    """Two workers do as one process, whatever each would have decided."""
    loop.run(make(worker)).check(f"{folder}/{make.__name__}.npz")
    # Of what both workers have to have.
    print("passed:", make.__name__, digest(loop), flush=True)


def check_first_layouts(worker):
    """As of all first values, those of the first worker are taken."""
    with STRATEGY.scope():
        layer = BlockSparseDense(32, block_size=4, sparsity=0.5, seed=worker)
        layer.build((None, 32))
    own = hashlib.sha256(layer.layout.packed.tobytes()).hexdigest()
    print("passed: first layouts", own, flush=True)


def check_bfloat16(worker):
    """Which TensorFlow does not gather; and batches of several sizes."""
    values = tf.fill([1 + worker, 3], tf.cast(worker + 0.5, tf.bfloat16))
    (every,) = _workers.gathered(STRATEGY, [values])
    assert every.dtype == tf.bfloat16
    expected = [[0.5] * 3, [1.5] * 3, [1.5] * 3]
    np.testing.assert_array_equal(tf.cast(every, tf.float32), expected)
    print("passed: bfloat16", 2, flush=True)


def main(folder):
    worker = STRATEGY.cluster_resolver.task_id
    check_first_layouts(worker)
    check_bfloat16(worker)
    for model, stages in training.TRAININGS:
        loop = training.Loop(STRATEGY, **model)
        for make in stages:
            check_stage(loop, make, folder, worker)
    # Of what the model has learnt since, nothing is left then.
    loop.restore(f"{folder}/mirrored").run(training.rigl(worker), steps=3)
    loop.save(f"{folder}/workers-{worker}")
    print("passed: went on", digest(loop), flush=True)
    # The others report one that ends before them as lost.
    STRATEGY.reduce("SUM", tf.zeros([]), axis=None)


if __name__ == "__main__":
    main(sys.argv[1])
