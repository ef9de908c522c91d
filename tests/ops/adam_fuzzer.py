# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Calls the generated op of Adam with malformed variables and numbers."""

import collections
import sys

import matmul_fuzzer
import numpy as np
import tensorflow as tf

NUMBERS = ("alpha", "first", "second", "epsilon")


class AdamFuzzer(matmul_fuzzer.Fuzzer):
    """Draws one valid update after another, and ways to spoil it."""

    def valid_call(self):
        dtype = self.pick(["float32", "float64"])
        shape = self.rng.integers(0, 40, self.rng.integers(4)).tolist()
        call = {
            name: (self.numbers(shape), dtype)
            for name in ("variable", "m", "v", "gradient")
        }
        return call | {name: (self.numbers(()), dtype) for name in NUMBERS}

    def spoil(self, call):
        """Another shape or type; for variables also none, or the same."""
        name = self.pick(list(call))
        value, dtype = call[name]
        if value is None:
            return
        way = self.rng.integers(4)
        if way == 0:
            call[name] = (value, self.pick(["float32", "float64", "int32"]))
        elif way == 1:
            shape = self.rng.integers(0, 5, self.rng.integers(4))
            call[name] = (self.numbers(shape), dtype)
        elif name in ("variable", "m", "v"):
            call[name] = (None, self.pick(["uninitialized", "m"]))

    def handle(self, value, dtype, m):
        """A variable's handle; what is needed to keep the variable alive."""
        if value is not None:
            return tf.Variable(tf.cast(value, dtype))
        if dtype == "uninitialized":
            return tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[])
        return m

    def run(self, library, call):
        m = tf.Variable(tf.zeros([3]))
        kept = [self.handle(*call[name], m) for name in ("variable", "m", "v")]
        handles = [getattr(each, "handle", each) for each in kept]
        library.blocksparse_apply_adam(
            *handles,
            tf.cast(*call["gradient"]),
            *(tf.cast(*call[name]) for name in NUMBERS),
        )
        return kept[0].shape


def fuzz(library, seed, count):
    fuzzer = AdamFuzzer(seed)
    counts = collections.Counter()
    while counts["refused"] < count:
        call = fuzzer.valid_call()
        for _ in range(fuzzer.rng.integers(3)):
            fuzzer.spoil(call)
        try:
            shape = fuzzer.run(library, call)
        except (
            tf.errors.InvalidArgumentError,
            tf.errors.FailedPreconditionError,
            tf.errors.NotFoundError,
        ):
            counts["refused"] += 1
        else:
            if tuple(shape) != np.shape(call["gradient"][0]):
                sys.exit(f"a variable of shape {shape} was updated: {call}")
            counts["accepted"] += 1
    return counts
