# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Calls the generated ops of products with malformed arguments."""

import collections
import sys

import numpy as np
import tensorflow as tf

EXTREMES = [0, 1, -1, 2, 255, 2**15, 2**31 - 1, -(2**31)]
# What attributes may be besides; the last ones need 64 bits.
SIZES = [-1, 0, 1, 2, 3, 255, 256, 257, 2**31 - 1, 2**31, 2**40, 2**63 - 1]
# Numbers that no sum is used to: the last ones are the largest and subnormal
# ones of float16, float32 and float64.
ODD = [np.nan, np.inf, -np.inf, -0.0, 65504, 6e-8, 3.4e38, 1e-40, 1e-310]
DTYPES = [
    ("float32", "float32"),
    ("float64", "float64"),
    ("bfloat16", "bfloat16"),
    ("float16", "float16"),
    ("float32", "bfloat16"),
]


def pack(mask):
    """The packed layout of a mask, written down from its description."""
    outputs, inputs = np.nonzero(mask.T)
    by_input = np.lexsort((outputs, inputs))
    splits = [np.searchsorted(outputs, range(mask.shape[1] + 1))]
    splits.append(np.searchsorted(inputs[by_input], range(mask.shape[0] + 1)))
    parts = [splits[0], inputs, splits[1], outputs[by_input], by_input]
    return np.concatenate(parts).astype(np.int32)


class Fuzzer:
    """Draws one valid call after another, and ways to spoil it."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def pick(self, values):
        return values[self.rng.integers(len(values))]

    def numbers(self, shape):
        """Normal ones; in every fourth tensor odd ones, too."""
        values = np.asarray(self.rng.standard_normal(shape))
        if self.rng.integers(4) == 0:
            odd = self.rng.random(shape) < 0.2
            values = np.where(odd, self.rng.choice(ODD, shape), values)
        return values

    def valid_call(self):
        rng = self.rng
        name = self.pick(["matmul", "matmul_fused", "sampled_matmul"])
        grid = rng.integers(1, 6, 2)
        block = [int(self.pick([1, 2, 3, 4, 7, 8, 16, 32, 33])) for _ in "io"]
        mask = rng.random(grid) < rng.random()
        nnz = int(mask.sum())
        sizes = grid * block - [rng.integers(side) for side in block]
        sizes = [int(size) for size in sizes]
        x_dtype, blocks_dtype = self.pick(DTYPES)
        axis = self.pick([-1, 0])
        transpose = name != "sampled_matmul" and bool(rng.integers(2))
        rows = [int(n) for n in rng.integers(0, 9, rng.integers(0, 4))]
        sides = sizes[::-1] if transpose else sizes

        def draw(features):
            shape = [features, *rows] if axis == 0 else [*rows, features]
            return self.numbers(shape), x_dtype

        gate = rng.integers(2)
        call = {
            "x": draw(sides[0]),
            "blocks": (self.numbers([nnz, *block]), blocks_dtype),
            "layout": (pack(mask), "int32"),
        }
        attributes = {
            "inputs": sizes[0],
            "outputs": sizes[1],
            "feature_axis": axis,
            "gate_gradient": bool(rng.integers(2)),
        }
        if gate:
            call["gate"] = (rng.integers(0, 2, nnz) * 0.5, "float32")
        if name == "sampled_matmul":
            call["b"] = draw(sides[1])
            del call["blocks"]
            attributes["Tb"] = blocks_dtype
            attributes["block_size"] = block
        else:
            attributes["transpose"] = transpose
        if name == "matmul_fused":
            self.fuse(call, attributes, sides[1], x_dtype)
        return name, call, attributes

    def fuse(self, call, attributes, outputs, x_dtype):
        """What fused ops take besides."""
        attributes["activation"] = self.pick(["none", "relu", "gelu"])
        attributes["save_preactivation"] = bool(self.rng.integers(2))
        if self.rng.integers(2):
            call["bias"] = (self.numbers(outputs), x_dtype)

    def spoil_layout(self, call, _):
        packed = call["layout"][0].copy()
        if packed.ndim != 1 or packed.size == 0:
            return
        way = self.rng.integers(7)
        place = self.rng.integers(packed.size)
        if way == 0:
            packed[place] = self.pick(EXTREMES)
        elif way == 1:
            packed[place] += self.pick([-1, 1, 3, 1000])
        elif way == 2:
            other = self.rng.integers(packed.size)
            packed[[place, other]] = packed[[other, place]]
        elif way == 3:
            packed = packed[:place]
        elif way == 4:
            packed = np.append(packed, packed[:place])
        elif way == 5:
            packed = self.rng.integers(-3, 40, packed.size, dtype=np.int32)
        else:
            packed = self.rng.permutation(packed)
        if self.rng.random() < 0.05:
            packed = self.pick([packed[None], packed[:, None], packed[:0]])
        call["layout"] = (packed, "int32")

    def spoil_shape(self, call, _):
        name = self.pick([n for n in call if n != "layout"])
        value, dtype = call[name]
        way = self.rng.integers(6) if value.ndim else 0
        if way == 0:
            value = value[None]
        elif way == 1:
            value = np.zeros(value.shape[:-1])
        elif way == 2:
            value = value.reshape(-1)
        elif way == 3:
            axis = int(self.rng.integers(value.ndim))
            value = np.concatenate([value, value], axis)
        elif way == 4:
            axis = int(self.rng.integers(value.ndim))
            value = np.delete(value, slice(0, 1), axis)
        else:
            value = np.zeros(self.rng.integers(0, 5, self.rng.integers(6)))
        call[name] = (value, dtype)

    def spoil_attribute(self, _, attributes):
        name = self.pick(["inputs", "outputs", "feature_axis", "block_size"])
        if name != "block_size":
            attributes[name] = self.pick(SIZES)
        elif name in attributes:
            count = self.rng.integers(4)
            attributes[name] = [self.pick(SIZES) for _ in range(count)]

    def spoilt_call(self):
        name, call, attributes = self.valid_call()
        for _ in range(self.rng.integers(1, 3)):
            spoil = self.pick(
                [
                    self.spoil_layout,
                    self.spoil_layout,
                    self.spoil_shape,
                    self.spoil_attribute,
                ]
            )
            spoil(call, attributes)
        return name, call, attributes

    def run(self, library, name, call, attributes, make):
        """The first result of a generated op; lists where it takes lists."""
        order = ("x", "b", "blocks", "layout")
        values = [make(*call[key]) for key in order if key in call]
        values.append([make(*call["gate"])] if "gate" in call else [])
        if name == "matmul_fused":
            values.append([make(*call["bias"])] if "bias" in call else [])
        function = getattr(library, f"blocksparse_{name}")
        return tf.nest.flatten(function(*values, **attributes))[0]

    def expected_shape(self, name, call, attributes):
        if name == "sampled_matmul":
            block_size = attributes["block_size"]
            grid = [
                -(-attributes[side] // block)
                for side, block in zip(
                    ("inputs", "outputs"), block_size, strict=True
                )
            ]
            nnz = (call["layout"][0].size - sum(grid) - 2) // 3
            return (nnz, *block_size)
        shape = list(call["x"][0].shape)
        side = "inputs" if attributes["transpose"] else "outputs"
        shape[attributes["feature_axis"]] = attributes[side]
        return tuple(shape)


def run_in_graph(fuzzer, library, name, call, attributes, known):
    """The same with shape functions, which may know shapes or not."""
    feed = {}
    casted = {}
    for key, (value, dtype) in call.items():
        casted[key] = (np.asarray(tf.cast(value, dtype).numpy()), dtype)
    with tf.Graph().as_default() as graph:

        def placeholder(value, dtype):
            shape = value.shape if known else None
            tensor = tf.compat.v1.placeholder(dtype, shape)
            feed[tensor] = value
            return tensor

        result = fuzzer.run(library, name, casted, attributes, placeholder)
        with tf.compat.v1.Session(graph=graph) as session:
            value = session.run(result, feed)
        if not result.shape.is_compatible_with(value.shape):
            sys.exit(f"shape function: {result.shape}, op: {value.shape}")
        return value


def refuse(error, counts):
    message = str(error)
    # TensorFlow itself refuses sizes below the minimum that an op declares.
    own = ("must be at least minimum", "less than minimum")
    if "expected" not in message and not any(text in message for text in own):
        sys.exit(f"a message without advice: {message}")
    counts["refused"] += 1


def fuzz(library, seed, count, fuzzer_class=Fuzzer):
    """How many calls were refused, `count`, and how many accepted."""
    fuzzer = fuzzer_class(seed)
    counts = collections.Counter()
    while counts["refused"] < count:
        name, call, attributes = fuzzer.spoilt_call()
        mode = fuzzer.pick(["eager", "eager", "eager", "known", "unknown"])
        try:
            if mode == "eager":
                result = fuzzer.run(library, name, call, attributes, tf.cast)
            else:
                result = run_in_graph(
                    fuzzer, library, name, call, attributes, mode == "known"
                )
        except tf.errors.InvalidArgumentError as error:
            refuse(error, counts)
        except ValueError as error:
            if mode == "eager":
                raise
            # What a shape function refuses.
            refuse(error, counts)
        else:
            shape = fuzzer.expected_shape(name, call, attributes)
            if tuple(result.shape) != shape:
                sys.exit(f"{name}: got shape {result.shape}, expected {shape}")
            np.asarray(result)  # read it all
            counts["accepted"] += 1
    return counts
