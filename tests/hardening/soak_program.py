# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Trains for many steps while blocks move; prints the memory used meanwhile.

Usage: soak_program.py [STEPS]. Every fiftieth step RigL moves blocks of a model
with a convolution and two dense layers; a hundred times `set_layout` gives one
of them another layout.
"""

import ctypes
import gc
import json
import os
import sys

import keras
import numpy as np
import tensorflow as tf

from tf_blocksparse import BlockLayout
from tf_blocksparse.callbacks import RigL
from tf_blocksparse.layers import BlockSparseConv2D, BlockSparseDense
from tf_blocksparse.optimizers import Adam

BATCH = 16
# Steps between two looks of Python.
AT_ONCE = 10


def resident():
    """Bytes of this process in memory, without what malloc only keeps."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def make_model():
    model = keras.Sequential(
        [
            keras.Input((6, 6, 8)),
            BlockSparseConv2D(16, 3, block_size=4, sparsity=0.5),
            keras.layers.Flatten(),
            BlockSparseDense(64, "relu", block_size=8, sparsity=0.8),
            BlockSparseDense(32, "relu", block_size=8, sparsity=0.5),
            keras.layers.Dense(4),
        ]
    )
    model.compile(Adam(1e-3), "mse", steps_per_execution=AT_ONCE)
    return model


class Memory(keras.callbacks.Callback):
    """Notes the memory a hundred times, and moves a layout as often."""

    def __init__(self, steps):
        super().__init__()
        self.every = max(1, steps // 100)
        self.steps = steps
        self.table = []

    def on_train_batch_end(self, batch, logs=None):
        step = batch + 1
        if step % self.every != 0:
            return
        layer = self.model.layers[2]
        layer.set_layout(
            BlockLayout.random(
                layer.layout.shape, 8, sparsity=0.8, seed=int(step)
            )
        )
        self.table.append((step, resident()))
        if sys.stderr.isatty():
            print(f"\r{step} of {self.steps} steps", end="", file=sys.stderr)


def main(steps=10000):
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64 * BATCH, 6, 6, 8)).astype(np.float32)
    y = rng.standard_normal((64 * BATCH, 4)).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH).repeat()
    memory = Memory(steps)
    regrowth = RigL((x, y), end_step=steps, frequency=50, batch_size=BATCH)
    history = make_model().fit(
        data,
        steps_per_epoch=steps,
        callbacks=[regrowth, memory],
        verbose=0,
    )
    assert np.isfinite(history.history["loss"]).all()
    print(json.dumps(memory.table))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
