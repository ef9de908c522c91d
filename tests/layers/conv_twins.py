# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Convolution layers beside those of Keras: the table and the oracle."""

import keras
import numpy as np
import tensorflow as tf

from tf_blocksparse import layers
from tf_blocksparse.layout import BlockLayout

CONV = (
    layers.BlockSparseConv1D,
    layers.BlockSparseConv2D,
    layers.BlockSparseConv3D,
)
TRANSPOSE = (
    layers.BlockSparseConv1DTranspose,
    layers.BlockSparseConv2DTranspose,
    layers.BlockSparseConv3DTranspose,
)
LAYERS = (*CONV, *TRANSPOSE)

INPUTS, FILTERS = 22, 20
SPATIAL = {1: (11,), 2: (9, 7), 3: (5, 6, 4)}
KERNEL_SIZE = {1: (3,), 2: (3, 2), 3: (2, 3, 1)}
BLOCKS = {"block_size": 4, "sparsity": 0.6, "bias_initializer": "normal"}

BOTH_GEOMETRIES = (
    {},
    {"kernel_size": 1},
    {"padding": "same"},
    {"strides": 2},
    {"strides": 2, "padding": "SAME"},
    {"strides": 3, "kernel_size": 2},
    {"dilation_rate": 2},
    {"dilation_rate": 2, "padding": "same"},
    {"dilation_rate": 2, "strides": 3, "padding": "same"},
    {"dilation_rate": 2, "strides": 2},
    {"padding": 1},
    {"padding": ((0, 1), (1, 0), (0, 0))},
    {"padding": (1, 0, 1), "strides": 2},
    {"padding": "same_symmetric"},
    {"padding": "same_symmetric", "strides": 2},
    {"data_format": "channels_first"},
    {"data_format": "channels_first", "strides": 2, "padding": "same"},
    {"per_tap": True},
    {"per_tap": True, "strides": 2, "data_format": "channels_first"},
    {"block_size": (8, 4), "padding": "same"},
    {"use_bias": False},
    {"activation": "gelu"},
)
GROUPS = {"groups": 2, "inputs": 24, "block_size": (4, 5)}
CONV_GEOMETRIES = (*BOTH_GEOMETRIES, GROUPS)
CAUSAL = (
    {"padding": "causal"},
    {"padding": "CAUSAL", "dilation_rate": 2, "strides": 2},
    {"padding": "causal", "data_format": "channels_first"},
)
TRANSPOSE_GEOMETRIES = (
    *BOTH_GEOMETRIES,
    {"strides": 2, "output_padding": 1},
    {"strides": 3, "output_padding": 1, "padding": "same", "kernel_size": 3},
    {"strides": 2, "output_padding": 0, "padding": "same_symmetric"},
    {"strides": 2, "output_padding": 1, "padding": 1},
)


def cases():
    """Pairs of a class and its arguments."""
    for kind in LAYERS:
        table = CONV_GEOMETRIES if kind in CONV else TRANSPOSE_GEOMETRIES
        for arguments in table:
            yield kind, arguments
    for arguments in CAUSAL:
        yield layers.BlockSparseConv1D, arguments


def case_name(value):
    if isinstance(value, type):
        return value.__name__.removeprefix("BlockSparse")
    if not isinstance(value, dict):
        return None
    return "-".join(f"{k}_{v}" for k, v in value.items()) or "plain"


def keras_class(kind):
    return getattr(keras.layers, case_name(kind))


def make(kind, inputs=INPUTS, **arguments):
    """A built layer and inputs for it; `per_tap` gives it such a layout."""
    arguments = {"kernel_size": KERNEL_SIZE[kind.rank], **BLOCKS, **arguments}
    padding = arguments.get("padding")
    if isinstance(padding, tuple):
        arguments["padding"] = padding[: kind.rank]
    if arguments.pop("per_tap", False):
        kernel_size = arguments["kernel_size"]
        arguments["layout"] = BlockLayout.random(
            (*np.broadcast_to(kernel_size, kind.rank), inputs, FILTERS),
            4,
            sparsity=0.6,
            seed=1,
        )
    layer = kind(FILTERS, **arguments)
    shape = [2, *SPATIAL[kind.rank], inputs]
    if layer.data_format == "channels_first":
        shape.insert(1, shape.pop())
    layer.build((None, *shape[1:]))
    x = np.random.default_rng(0).normal(size=shape)
    return layer, x.astype(layer.compute_dtype)


def kernel(layer, blocks=None):
    """The kernel of the layer, as the Keras layer has it."""
    blocks = layer.blocks.numpy() if blocks is None else blocks
    whole = layer.layout.to_dense(blocks, layer.kernel_size)
    return whole.swapaxes(-1, -2) if type(layer) in TRANSPOSE else whole


def gathered(layer, whole):
    """The blocks of such a kernel."""
    whole = np.asarray(whole)
    if type(layer) in TRANSPOSE:
        whole = whole.swapaxes(-1, -2)
    return layer.layout.gather(whole)


class Twin:
    """A Keras layer with the weights of a built block-sparse one.

    What Keras's layers cannot do is done around one that can: zeros are put
    between the taps for dilation, and around images for padding; channels are
    brought to the end.
    """

    def __init__(self, layer, activation=None, dtype=None):
        self.layer = layer
        self.transposed = type(layer) in TRANSPOSE
        self.gaps = (
            layer.dilation_rate
            if self.transposed or max(layer.strides) > 1
            else (1,) * layer.rank
        )
        whole = self.dilate(kernel(layer))
        arguments = {
            "kernel_size": whole.shape[: layer.rank],
            "strides": layer.strides,
            "padding": layer.padding,
            "use_bias": layer.use_bias,
            "activation": activation,
            "dtype": dtype or layer.dtype_policy,
        }
        if max(self.gaps) == 1:
            arguments["dilation_rate"] = layer.dilation_rate
        self.margins = self.zeros()
        if self.margins is not None:
            arguments["padding"] = "valid"
        if self.transposed:
            arguments["output_padding"] = layer.output_padding
            if self.margins is not None and layer.output_padding is None:
                arguments["output_padding"] = [
                    stride - 1 if layer.padding == "same_symmetric" else 0
                    for stride in layer.strides
                ]
        self.keras = keras_class(type(layer))(layer.filters, **arguments)
        inputs = layer.layout.inputs
        self.keras.build((None, *[50] * layer.rank, inputs))
        bias = [layer.bias.numpy()] if layer.use_bias else []
        self.keras.set_weights([whole, *bias])

    def zeros(self):
        """What the layer pads, in numbers, where Keras knows no name."""
        padding = self.layer.padding
        if padding in ("valid", "same", "causal"):
            return None
        if padding == "same_symmetric":
            padding = tuple(
                ((size - 1) * dilation + 1) // 2
                for size, dilation in zip(
                    self.layer.kernel_size,
                    self.layer.dilation_rate,
                    strict=True,
                )
            )
        if not isinstance(padding, tuple):
            padding = (padding,) * self.layer.rank
        return [tuple(np.broadcast_to(each, 2).tolist()) for each in padding]

    def dilate(self, whole):
        """A kernel with zeros between its taps."""
        for axis, gap in enumerate(self.gaps):
            shape = list(whole.shape)
            shape[axis] = (shape[axis] - 1) * gap + 1
            wide = np.zeros(shape, whole.dtype)
            wide[(slice(None),) * axis + (slice(None, None, gap),)] = whole
            whole = wide
        return whole

    def blocks(self, whole):
        """The blocks of a kernel of the twin's, or of its gradient."""
        steps = tuple(slice(None, None, gap) for gap in self.gaps)
        return gathered(self.layer, np.asarray(whole)[steps])

    def __call__(self, x):
        first = self.layer.data_format == "channels_first"
        if first:
            x = keras.ops.moveaxis(x, 1, -1)
        margins = self.margins
        if margins is not None and not self.transposed:
            x = keras.ops.pad(x, [(0, 0), *margins, (0, 0)])
        y = self.keras(x)
        if margins is not None and self.transposed:
            ends = [(low, y.shape[1 + i] - high) for i, (low, high) in
                    enumerate(margins)]  # fmt: skip
            y = y[(slice(None), *(slice(*each) for each in ends))]
        return keras.ops.moveaxis(y, -1, 1) if first else y


def results(call, weights, x, dy=None):
    """A layer's output and, where it is sum(output * dy), all gradients."""
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = call(x)
        if dy is None:
            rng = np.random.default_rng(1)
            dy = tf.constant(rng.normal(size=y.shape), y.dtype)
        loss = tf.reduce_sum(y * dy)
    values = [weight.value for weight in weights]
    return y.numpy(), *(g.numpy() for g in tape.gradient(loss, [x, *values]))
