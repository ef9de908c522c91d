# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Models that are exported and served, with inputs of several sizes."""

import keras
import numpy as np
import tensorflow as tf

from tf_blocksparse import ops, testing
from tf_blocksparse.layers import (
    BlockSparseConv2D,
    BlockSparseConv2DTranspose,
    BlockSparseDense,
)
from tf_blocksparse.layout import BlockLayout


class Products(tf.Module):
    """Both products, from Python's layouts and from a variable's."""

    def __init__(self):
        super().__init__()
        self.layout = testing.make_layout("random", (4, 8))
        rng = np.random.default_rng(0)
        shape = [self.layout.nnz, 4, 8]
        self.blocks = tf.Variable(rng.standard_normal(shape), dtype=tf.float32)
        self.gate = tf.Variable(rng.random(shape[0]), dtype=tf.float32)
        self.packed = tf.Variable(self.layout.packed)

    @tf.function(
        input_signature=[tf.TensorSpec([None, 43], tf.float32, name="x")]
    )
    def __call__(self, x):
        layout = ops.LayoutTensor(
            self.packed, self.layout.shape, self.layout.block_size
        )
        y = ops.matmul(x, self.blocks, layout, activation="gelu")
        x = ops.matmul(y, self.blocks, self.layout, transpose=True)
        product = ops.sampled_matmul(x, y, layout, gate=self.gate)
        return {"y": y + tf.reduce_sum(product)}


def make_dense():
    return keras.Sequential(
        [
            keras.Input((48,)),
            BlockSparseDense(64, "gelu", block_size=8, sparsity=0.5, seed=1),
            BlockSparseDense(12, block_size=4, sparsity=0.5, seed=2),
        ]
    )


def make_conv():
    """Images of any size; a layout for all taps, and one for each."""
    each_tap = BlockLayout.random((3, 3, 16, 16), 4, sparsity=0.5, seed=1)
    return keras.Sequential(
        [
            keras.Input((None, None, 8)),
            BlockSparseConv2D(
                16, 3, 2, "same", activation="relu",
                block_size=4, sparsity=0.5, seed=1,
            ),
            BlockSparseConv2DTranspose(16, 3, 2, "same", layout=each_tap),
        ]
    )  # fmt: skip


# Makers, and the shapes that one loaded model is run with in turn.
MODELS = {
    "products": (Products, [(3, 43), (1, 43), (40, 43)]),
    "dense": (make_dense, [(4, 48), (1, 48), (0, 48), (33, 48)]),
    "conv": (make_conv, [(2, 9, 6, 8), (1, 5, 5, 8), (3, 1, 12, 8)]),
}


def export(name, folder):
    """Exports a model; returns it and its inputs."""
    maker, shapes = MODELS[name]
    model = maker()
    if isinstance(model, keras.Model):
        model.export(folder, verbose=False)
    else:
        tf.saved_model.save(model, str(folder))
    rng = np.random.default_rng(1)
    inputs = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    return model, inputs


def tensor_names(folder):
    """The names of the graph's input and output, as TensorFlow 1 has them."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.load(session, ["serve"], str(folder))
    signature = meta.signature_def["serving_default"]
    (x,), (y,) = signature.inputs.values(), signature.outputs.values()
    return x.name, y.name
