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

import training  # noqa: E402

from tf_blocksparse.layers import BlockSparseDense  # noqa: E402


def digest(loop):
    return hashlib.sha256(loop.all_bytes()).hexdigest()


def check_loop(name, folder, worker):
    """Two workers do as one process, whatever each would have decided."""
    make, model = training.CALLBACKS[name]
    loop = training.Loop(STRATEGY, **model).run(make(worker))
    loop.check(f"{folder}/{name}.npz")
    # Of what both workers have to have.
    print("passed:", name, digest(loop), flush=True)


def check_first_layouts(worker):
    """As of all first values, those of the first worker are taken."""
    with STRATEGY.scope():
        layer = BlockSparseDense(32, block_size=4, sparsity=0.5, seed=worker)
        layer.build((None, 32))
    own = hashlib.sha256(layer.layout.packed.tobytes()).hexdigest()
    print("passed: first layouts", own, flush=True)


def main(folder):
    worker = STRATEGY.cluster_resolver.task_id
    check_first_layouts(worker)
    for name in training.CALLBACKS:
        check_loop(name, folder, worker)
    rigl, _ = training.CALLBACKS["RigL"]
    loop = training.Loop(STRATEGY)
    loop.restore(f"{folder}/mirrored").run(rigl(worker), first=6, steps=3)
    loop.save(f"{folder}/workers-{worker}")
    print("passed: went on", digest(loop), flush=True)
    # The others report one that ends before them as lost.
    STRATEGY.reduce("SUM", tf.zeros([]), axis=None)


if __name__ == "__main__":
    main(sys.argv[1])
