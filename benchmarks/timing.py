# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Times block-sparse products and the dense one in turns, and checks them.

Weights are variables, as in training: products with constants would be prepared
or folded.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import check
import layouts
import native
import numpy as np
import tensorflow as tf
import turns
from case import Case, Measured

from tf_blocksparse import BlockLayout, ops


class Inputs:
    """Different tensors of normal numbers, made when they are asked for."""

    def __init__(self, case: Case, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._case = case
        self._made: list[list[tf.Tensor]] = []
        self._sides = {
            "forward": [case.inputs],
            "dx": [case.outputs],
            "dw": [case.inputs, case.outputs],
        }[case.product]

    def __call__(self, index: int) -> list[tf.Tensor]:
        """Arguments of the product's index-th application."""
        while len(self._made) <= index:
            self._made.append(
                [
                    normal(self._rng, self._case.x_dtype, self._case.rows, side)
                    for side in self._sides
                ]
            )
        return self._made[index]


def normal(rng: np.random.Generator, dtype: str, *shape: int) -> tf.Tensor:
    """A tensor of normal numbers."""
    return tf.cast(rng.standard_normal(shape, np.float32), dtype)


def measure(
    cases: Sequence[Case],
    threads: int,
    rounds: int,
    seed: int,
    fma_peak: native.Program,
    progress: Callable[[], None],
    seconds: float = math.inf,
) -> list[Measured]:
    """Times cases with the same dense product, in turns, and checks results.

    Args:
      cases: differ in block size, sparsity, layout and the blocks' dtype.
      threads: what TensorFlow was set to.
      fma_peak: for as many threads.
      progress: called after each round.
      seconds: see `turns.take`.

    Raises:
      AssertionError: if a result is farther from the dense product in float64
        than rounding explains.
    """
    case = cases[0]
    rng = np.random.default_rng(seed)
    inputs = Inputs(case, seed)
    w = tf.Variable(normal(rng, case.x_dtype, case.inputs, case.outputs))
    contenders = [turns.in_graph(dense(case.product, w), inputs)]
    made = []
    for each in cases:
        layout = layouts.of(each, seed)
        blocks = tf.Variable(
            normal(rng, each.blocks_dtype, *layout.blocks_shape)
        )
        turn = turns.in_graph(sparse(each.product, blocks, layout), inputs)
        oracle = check.Oracle(each.product, blocks, layout)
        oracle.check(turn.call()[-1], inputs(turn.count - 1))
        contenders.append(turn)
        made.append(layout)
    peaks: list[float] = []

    def between() -> None:
        peaks.append(fma_peak.measure())
        progress()

    times = turns.take(contenders, rounds, seconds=seconds, between=between)
    dense_ms, *sparse_ms = (1e3 * statistics.median(each) for each in times)
    # 16-bit types are computed in float32.
    lanes = 0.5 if case.x_dtype == "float64" else 1.0
    return [
        Measured(
            case=each,
            threads=threads,
            useful_flops=2.0 * each.rows * layouts.entries(layout),
            dense_ms=dense_ms,
            sparse_ms=ms,
            peak_gflops=lanes * statistics.median(peaks),
        )
        for each, layout, ms in zip(cases, made, sparse_ms, strict=True)
    ]


def dense(product: str, w: tf.Variable) -> Callable[..., Any]:
    """TensorFlow's form of a product."""
    if product == "forward":
        return lambda x: tf.matmul(x, w)
    if product == "dx":
        return lambda dy: tf.matmul(dy, w, transpose_b=True)
    return lambda x, dy: tf.matmul(x, dy, transpose_a=True)


def sparse(
    product: str, blocks: tf.Variable, layout: BlockLayout
) -> Callable[..., Any]:
    """The block-sparse form of a product."""
    if product == "forward":
        return lambda x: ops.matmul(x, blocks, layout)
    if product == "dx":
        return lambda dy: ops.matmul(dy, blocks, layout, transpose=True)
    return lambda x, dy: ops.sampled_matmul(x, dy, layout)
