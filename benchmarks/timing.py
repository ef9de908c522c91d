# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Times a block-sparse product and the dense one in turns, and checks it.

An op costs microseconds, a call of a graph function tens of them, so each
function applies its op to several inputs, one after the other. The inputs
differ and every output is returned: TensorFlow merges equal ops and drops those
whose output nobody reads. Weights are variables, as in training; products with
constants would be prepared or folded.
"""

import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import peak
import tensorflow as tf
from case import Case, Measured

from tf_blocksparse import BlockLayout, ops, testing


def measure(
    case: Case,
    threads: int,
    rounds: int,
    seed: int,
    fma_peak: peak.FmaPeak,
    progress: Callable[[], None],
) -> Measured:
    """Times a case, in rounds of dense, sparse and peak; checks its result.

    Args:
      threads: what TensorFlow was set to.
      fma_peak: for as many threads.
      progress: called after each round.

    Raises:
      AssertionError: if a result is farther from the dense product in float64
        than rounding explains.
    """
    rng = np.random.default_rng(seed)
    layout = BlockLayout.random(
        (case.inputs, case.outputs),
        case.block_size,
        sparsity=case.sparsity,
        seed=seed,
    )

    def normal(dtype: str, *shape: int) -> tf.Tensor:
        return tf.cast(rng.standard_normal(shape, np.float32), dtype)

    w = tf.Variable(normal(case.x_dtype, *layout.shape))
    blocks = tf.Variable(normal(case.blocks_dtype, *layout.blocks_shape))
    sides = {
        "forward": [case.inputs],
        "dx": [case.outputs],
        "dw": [case.inputs, case.outputs],
    }[case.product]
    arguments = [
        [normal(case.x_dtype, case.rows, side) for side in sides]
        for _ in range(_applications(case))
    ]
    dense, sparse = _functions(case.product, w, blocks, layout)
    turns = [_in_sequence(each, arguments) for each in (dense, sparse)]
    times: list[list[float]] = [[], []]
    peaks = []
    for turn in turns:  # fills the caches, and the pools of memory
        results = turn()
    _check(case.product, results[-1], arguments[-1], blocks, layout)
    del results
    for _ in range(rounds):
        for turn, seconds in zip(turns, times, strict=True):
            start = time.perf_counter()
            results = turn()
            seconds.append(time.perf_counter() - start)
            del results  # off the clock
        peaks.append(fma_peak.measure())
        progress()
    dense_ms, sparse_ms = (
        1e3 * statistics.median(seconds) / len(arguments) for seconds in times
    )
    # 16-bit types are computed in float32.
    lanes = 0.5 if case.x_dtype == "float64" else 1.0
    return Measured(
        case=case,
        threads=threads,
        useful_flops=2.0 * case.rows * _entries(layout),
        dense_ms=dense_ms,
        sparse_ms=sparse_ms,
        peak_gflops=lanes * statistics.median(peaks),
    )


def _applications(case: Case) -> int:
    """How often a function applies its op: for about 20 ms of dense work."""
    flops = 2.0 * case.rows * case.inputs * case.outputs
    wanted = math.ceil(2e9 / flops)
    # Outputs are kept until the last is there: no more than 256 MB of them.
    features = {
        "forward": case.rows * case.outputs,
        "dx": case.rows * case.inputs,
        "dw": case.inputs * case.outputs,
    }[case.product]
    return min(max(wanted, 8), 64, max(2, 2**26 // features))


def _functions(
    product: str, w: tf.Variable, blocks: tf.Variable, layout: BlockLayout
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The dense and the sparse form of a product."""
    if product == "forward":
        return (
            lambda x: tf.matmul(x, w),
            lambda x: ops.matmul(x, blocks, layout),
        )
    if product == "dx":
        return (
            lambda dy: tf.matmul(dy, w, transpose_b=True),
            lambda dy: ops.matmul(dy, blocks, layout, transpose=True),
        )
    return (
        lambda x, dy: tf.matmul(x, dy, transpose_a=True),
        lambda x, dy: ops.sampled_matmul(x, dy, layout),
    )


def _in_sequence(
    function: Callable[..., Any], arguments: list[list[tf.Tensor]]
) -> Any:
    @tf.function
    def run() -> list[tf.Tensor]:
        # Captured, since Python spends microseconds on each argument.
        outputs: list[tf.Tensor] = []
        for each in arguments:
            with tf.control_dependencies(outputs[-1:]):
                outputs.append(function(*each))
        return outputs

    return run.get_concrete_function()


def _check(
    product: str,
    actual: tf.Tensor,
    arguments: list[tf.Tensor],
    blocks: tf.Variable,
    layout: BlockLayout,
) -> None:
    left = arguments[0].numpy().astype(np.float64)
    if product == "dw":
        left, length = left.T, left.shape[0]
        right = arguments[1].numpy().astype(np.float64)
    else:
        right = layout.to_dense(blocks.numpy().astype(np.float64))
        right = right.T if product == "dx" else right
        length = left.shape[1]
    expected, magnitude = left @ right, abs(left) @ abs(right)
    if product == "dw":
        expected, magnitude = map(layout.gather, (expected, magnitude))
    testing.assert_close(actual, expected, length, magnitude)


def _entries(layout: BlockLayout) -> int:
    """Entries of the blocks that lie inside of the weight."""
    heights, widths = (
        np.minimum(block, size - np.arange(0, size, block))
        for size, block in zip(layout.shape, layout.block_size, strict=True)
    )
    return int(heights @ layout.mask @ widths)
