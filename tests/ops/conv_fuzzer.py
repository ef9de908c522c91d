# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Calls the generated ops of convolutions with malformed arguments."""

import math

import matmul_fuzzer
import numpy as np
import tensorflow as tf

# Sizes of results stay small: what is larger is refused.
LISTS = [-1, 0, 1, 2, 3, 9, 257, 2**31 - 1, 2**31, 2**40, 2**63 - 1]
PADDINGS = [-(2**63), -(2**31), 1 - 2**31, -9, -1, 0, 9, 2**31, 2**63 - 1]


class ConvFuzzer(matmul_fuzzer.Fuzzer):
    """Draws one valid convolution after another, and ways to spoil it."""

    def valid_call(self):
        rng = self.rng
        name = self.pick(["conv", "conv_fused", "conv_sampled"])
        attributes = self._geometry()
        rank, taps = len(attributes["kernel_size"]), 1
        if not attributes["shared_taps"]:
            taps = math.prod(attributes["kernel_size"])
        grid = rng.integers(1, 4, 2)
        block = [int(self.pick([1, 2, 3, 4, 7, 8, 16, 17])) for _ in "io"]
        mask = rng.random([grid[0] * taps, grid[1]]) < rng.random()
        nnz = int(mask.sum())
        sides = [
            int(size)
            for size in grid * block - [rng.integers(b) for b in block]
        ]
        attributes["inputs"], attributes["outputs"] = sides
        x_dtype, blocks_dtype = self.pick(matmul_fuzzer.DTYPES)
        batch = int(rng.integers(3))
        spatial = [int(size) for size in rng.integers(0, 7, rank)]

        def draw(features, sizes):
            shape = [batch, *sizes, features]
            if attributes["data_format"] == "channels_first":
                shape = [batch, features, *sizes]
            return self.numbers(shape), x_dtype

        call = {"layout": (matmul_fuzzer.pack(mask), "int32")}
        if rng.integers(2):
            call["gate"] = (rng.integers(0, 2, nnz) * 0.5, "float32")
        if name == "conv_sampled":
            if attributes["adjoint"]:
                sides = sides[::-1]
            other = rng.integers(0, 7, rank)
            call["x"] = draw(sides[0], spatial)
            call["coarse"] = draw(sides[1], other)
            attributes["Tb"] = blocks_dtype
            attributes["block_size"] = block
            return name, call, attributes
        attributes["transpose"] = bool(rng.integers(2))
        if attributes["transpose"]:
            sides = sides[::-1]
        shape = [nnz, *block]
        if attributes["shared_taps"]:
            shape.insert(1, math.prod(attributes["kernel_size"]))
        call["x"] = draw(sides[0], spatial)
        call["blocks"] = (self.numbers(shape), blocks_dtype)
        sizes = rng.integers(0, 7, rank)
        if not attributes["adjoint"] and rng.integers(2):
            sizes = sizes[:0]
        call["out_spatial"] = (sizes.astype(np.int32), "int32")
        if name == "conv_fused":
            self.fuse(call, attributes, sides[1], x_dtype)
        return name, call, attributes

    def _geometry(self):
        rank = int(self.rng.integers(1, 4))
        padding = self.pick(["VALID", "SAME", "EXPLICIT"])
        count = 2 * rank if padding == "EXPLICIT" else 0
        numbers = self.rng.integers
        return {
            "kernel_size": numbers(1, 4, rank).tolist(),
            "strides": numbers(1, 4, rank).tolist(),
            "dilations": numbers(1, 4, rank).tolist(),
            "padding": padding,
            "explicit_paddings": numbers(-2, 5, count).tolist(),
            "data_format": self.pick(["channels_last", "channels_first"]),
            "adjoint": bool(numbers(2)),
            "shared_taps": bool(numbers(2)),
            "gate_gradient": bool(numbers(2)),
        }

    def spoil_attribute(self, call, attributes):
        way = self.rng.integers(6)
        if way == 0:
            super().spoil_attribute(call, attributes)
            if attributes.get("feature_axis") is not None:
                del attributes["feature_axis"]
        elif way == 1:
            name = self.pick(["kernel_size", "strides", "dilations"])
            self._spoil_list(attributes, name, LISTS)
        elif way == 2:
            self._spoil_list(attributes, "explicit_paddings", PADDINGS)
        elif way == 3:
            attributes["padding"] = self.pick(["VALID", "SAME", "EXPLICIT"])
        elif way == 4:
            name = self.pick(["adjoint", "shared_taps", "transpose"])
            if name in attributes:
                attributes[name] = not attributes[name]
        elif "out_spatial" in call:
            sizes = call["out_spatial"][0].copy()
            if sizes.ndim != 1:
                return
            # Alone, the largest would make a result that fits no memory.
            wrong = np.full(3, self.pick([-1, -(2**31), 2**31 - 1]), np.int32)
            choices = [sizes[:-1], np.append(sizes, sizes), wrong, wrong[:2]]
            sizes = choices[self.rng.integers(len(choices))]
            call["out_spatial"] = (sizes, "int32")

    def _spoil_list(self, attributes, name, values):
        numbers = list(attributes[name])
        if numbers and self.rng.integers(4):
            numbers[self.rng.integers(len(numbers))] = self.pick(values)
        elif self.rng.integers(2):
            numbers = numbers[:-1]
        else:
            numbers.append(self.pick(values))
        attributes[name] = numbers

    def run(self, library, name, call, attributes, make):
        lists = {
            key: [make(*call[key])] if key in call else []
            for key in ("gate", "bias")
        }
        order = ("x", "coarse", "blocks", "layout")
        values = [make(*call[key]) for key in order if key in call]
        values.append(lists["gate"])
        if name == "conv_fused":
            values.append(lists["bias"])
        if "out_spatial" in call:
            values.append(make(*call["out_spatial"]))
        function = getattr(library, f"blocksparse_{name}")
        return tf.nest.flatten(function(*values, **attributes))[0]

    def expected_shape(self, name, call, attributes):
        taps = math.prod(attributes["kernel_size"])
        if name == "conv_sampled":
            b_in, b_out = attributes["block_size"]
            rows = -(-attributes["inputs"] // b_in)
            rows *= 1 if attributes["shared_taps"] else taps
            columns = -(-attributes["outputs"] // b_out)
            nnz = (call["layout"][0].size - rows - columns - 2) // 3
            shared = [taps] if attributes["shared_taps"] else []
            return (nnz, *shared, b_in, b_out)
        shape = call["x"][0].shape
        first = attributes["data_format"] == "channels_first"
        sizes = call["out_spatial"][0].tolist()
        if not sizes:
            fine = shape[2:] if first else shape[1:-1]
            sizes = [
                self._coarse_size(attributes, axis, size)
                for axis, size in enumerate(fine)
            ]
        features = attributes[
            "inputs" if attributes["transpose"] else "outputs"
        ]
        if first:
            return (shape[0], features, *sizes)
        return (shape[0], *sizes, features)

    def _coarse_size(self, attributes, axis, fine):
        if attributes["padding"] == "EXPLICIT":
            fine += sum(attributes["explicit_paddings"][2 * axis :][:2])
        if attributes["padding"] != "SAME":
            kernel = attributes["kernel_size"][axis]
            fine -= (kernel - 1) * attributes["dilations"][axis]
        return -(-max(fine, 0) // attributes["strides"][axis])


def fuzz(library, seed, count):
    return matmul_fuzzer.fuzz(library, seed, count, ConvFuzzer)
