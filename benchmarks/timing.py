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


class Drawn:
    """Tensors of normal numbers of some shapes, made when asked for."""

    def __init__(
        self, shapes: Sequence[Sequence[int]], dtype: str, seed: int
    ) -> None:
        self._rng = np.random.default_rng(seed)
        self._dtype = dtype
        self._shapes = shapes
        self._made: list[list[tf.Tensor]] = []

    def __call__(self, index: int) -> list[tf.Tensor]:
        """Arguments of the index-th application, different from others."""
        while len(self._made) <= index:
            self._made.append(
                [
                    normal(self._rng, self._dtype, *shape)
                    for shape in self._shapes
                ]
            )
        return self._made[index]


class Inputs(Drawn):
    """Arguments of a case's product."""

    def __init__(self, case: Case, seed: int) -> None:
        sides = {
            "forward": [case.inputs],
            "dx": [case.outputs],
            "dw": [case.inputs, case.outputs],
        }[case.product]
        super().__init__(
            [(case.rows, side) for side in sides], case.x_dtype, seed
        )


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
    """Times cases and their dense products in turns, and checks results.

    Args:
      cases: differ in block size, layout and dtypes; those of one x_dtype have
        the dense product in common.
      threads: what TensorFlow was set to.
      fma_peak: for as many threads.
      progress: called after each round.
      seconds: see `turns.take`.

    Raises:
      AssertionError: if a result is farther from the dense product in float64
        than rounding explains.
    """
    inputs = {each.x_dtype: Inputs(each, seed) for each in cases}
    dense_turns = {
        each.x_dtype: _dense_turn(each, inputs[each.x_dtype], seed)
        for each in {each.x_dtype: each for each in cases}.values()
    }
    made = [layouts.of(each, seed) for each in cases]
    sparse_turns = [
        _sparse_turn(each, layout, inputs[each.x_dtype], seed)
        for each, layout in zip(cases, made, strict=True)
    ]
    peaks: list[float] = []

    def between() -> None:
        peaks.append(fma_peak.measure())
        progress()

    times = turns.take(
        [*dense_turns.values(), *sparse_turns],
        rounds,
        seconds=seconds,
        between=between,
    )
    ms = [1e3 * statistics.median(each) for each in times]
    dense_ms = dict(zip(dense_turns, ms, strict=False))
    sparse_ms = ms[len(dense_turns) :]
    return [
        Measured(
            case=each,
            threads=threads,
            useful_flops=2.0 * each.rows * layouts.entries(layout),
            dense_ms=dense_ms[each.x_dtype],
            sparse_ms=found,
            # 16-bit types are computed in float32.
            peak_gflops=statistics.median(peaks)
            * (0.5 if each.x_dtype == "float64" else 1.0),
        )
        for each, layout, found in zip(cases, made, sparse_ms, strict=True)
    ]


def _dense_turn(case: Case, inputs: Inputs, seed: int) -> turns.Turn:
    rng = np.random.default_rng(seed)
    w = tf.Variable(normal(rng, case.x_dtype, case.inputs, case.outputs))
    return turns.in_graph(dense(case.product, w), inputs)


def _sparse_turn(
    case: Case, layout: BlockLayout, inputs: Inputs, seed: int
) -> turns.Turn:
    rng = np.random.default_rng(seed)
    blocks = tf.Variable(normal(rng, case.blocks_dtype, *layout.blocks_shape))
    turn = turns.in_graph(sparse(case.product, blocks, layout), inputs)
    oracle = check.Oracle(case.product, blocks, layout)
    oracle.check(turn.call()[-1], inputs(turn.count - 1))
    return turn


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
