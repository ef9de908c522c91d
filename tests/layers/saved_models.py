# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The model that tests save and export."""

import keras
import numpy as np

from tf_blocksparse.layers import BlockSparseDense

X = np.random.default_rng(0).normal(size=(4, 48)).astype("float32")


def make_model(**arguments):
    arguments = {"block_size": 8, "sparsity": 0.6, **arguments}
    return keras.Sequential(
        [
            keras.Input((48,)),
            BlockSparseDense(64, "relu", name="sparse", **arguments),
            keras.layers.Dense(3),
        ]
    )
