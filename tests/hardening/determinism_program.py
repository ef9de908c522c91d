# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Trains with `enable_op_determinism`, then prints digests of all weights.

Usage: determinism_program.py THREADS.
"""

import hashlib
import json
import sys

import keras
import numpy as np
import tensorflow as tf

from tf_blocksparse import BlockLayout, layers, ops
from tf_blocksparse.optimizers import Adam


def trained():
    """Weights of a model of every layer, after steps of training."""
    keras.utils.set_random_seed(1)
    gate = layers.ConcreteGate(seed=0)
    image = keras.Input((12, 12, 8))
    x = layers.BlockSparseConv2D(32, 3, block_size=8, sparsity=0.5)(image)
    x = layers.BlockSparseConv2DTranspose(
        16, 3, strides=2, block_size=8, sparsity=0.5
    )(x)
    x = keras.layers.Reshape((-1, 16))(x)[:, :32]
    x = layers.BlockSparseMultiHeadAttention(2, 8, block_size=8, sparsity=0.5)(
        x, x
    )
    x = keras.layers.Flatten()(x)
    x = layers.BlockSparseDense(
        512, block_size=16, sparsity=0.7, activation="gelu", gate=gate
    )(x)
    model = keras.Model(image, keras.layers.Dense(4)(x))
    model.compile(Adam(1e-2), "mse")
    rng = np.random.default_rng(0)
    images = rng.standard_normal((64, 12, 12, 8)).astype(np.float32)
    model.fit(images, rng.standard_normal((64, 4)), epochs=2, verbose=0)
    return {w.path: w.numpy() for w in model.variables}


def differentiated():
    """Every op with a gradient, first and second order."""
    rng = np.random.default_rng(2)
    layout = BlockLayout.random((512, 512), 16, sparsity=0.7, seed=0)
    x = tf.constant(rng.standard_normal((200, 512)), tf.float32)
    blocks = tf.constant(rng.standard_normal(layout.blocks_shape), tf.float32)
    gate = tf.constant(rng.random(layout.nnz), tf.float32)
    bias = tf.zeros([512])
    sources = [x, blocks, gate, bias]
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(sources)
        with tf.GradientTape() as tape:
            tape.watch(sources)
            y = ops.matmul(
                x, blocks, layout, gate=gate, bias=bias, activation="gelu"
            )
            dense = ops.to_dense(ops.l2_normalize(blocks, layout), layout)
            loss = tf.reduce_sum(tf.sin(y)) + tf.reduce_sum(tf.sin(dense))
        first = tape.gradient(loss, sources)
        total = tf.add_n([tf.reduce_sum(g**2) for g in first])
    second = outer.gradient(total, sources)
    names = ("x", "blocks", "gate", "bias")
    results = {"y": y, "norms": ops.block_norms(x, y, 16)}
    for order, gradients in (("first", first), ("second", second)):
        for name, gradient in zip(names, gradients, strict=True):
            results[f"{order} {name}"] = gradient
    return {name: value.numpy() for name, value in results.items()}


def main(threads):
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.experimental.enable_op_determinism()
    results = {**trained(), **differentiated()}
    digests = {
        name: hashlib.sha256(value.tobytes()).hexdigest()
        for name, value in results.items()
    }
    print(json.dumps(digests))


if __name__ == "__main__":
    main(int(sys.argv[1]))
