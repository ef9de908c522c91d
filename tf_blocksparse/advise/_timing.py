# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Times products with blocks and dense ones in turns, and checks them."""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tf_blocksparse.advise._problem import Problem
from tf_blocksparse.advise._search import PRODUCTS, Point, Request
from tf_blocksparse.layout import BlockLayout

# A call takes tens of microseconds besides its work, so it applies the op
# several times, until it takes this long; but tracing takes time, too.
_CALL_SECONDS = 5e-3
_MOST = 16
# The outputs of a call are kept until its end.
_OUTPUT_BYTES = 2**28
_FEWEST_ROUNDS, _MOST_ROUNDS = 3, 15
_CHECKED_ROWS = 16

Function = Callable[[], Sequence[tf.Tensor]]


class Timer:
    """Measures requests of `search` on this machine."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self._problem = problem
        self._seed = seed
        self._rng = np.random.default_rng(seed)
        self._sides: list[tuple[tf.Variable, tf.Variable]] = []
        kernel = self._drawn(problem.kernel_shape)
        self._dense = [
            self._call(problem.dense, kernel, product) for product in PRODUCTS
        ]

    def measure(self, requests: list[Request], seconds: float) -> list[Point]:
        """Medians of rounds in which each product has a turn.

        Raises:
          RuntimeError: if a result is wrong.
        """
        end = time.perf_counter() + seconds
        calls = list(self._dense)
        for request in requests:
            calls += self._calls_of(*request)
        times: list[list[float]] = [[] for _ in calls]
        for done in range(_MOST_ROUNDS):
            if done >= _FEWEST_ROUNDS and time.perf_counter() > end:
                break
            for call, found in zip(calls, times, strict=True):
                found.append(call())
        ms = [1e3 * statistics.median(found) for found in times]
        count = len(PRODUCTS)
        return [
            Point(size, product, sparsity, ms[i], ms[count * (place + 1) + i])
            for place, (size, sparsity) in enumerate(requests)
            for i, product in enumerate(PRODUCTS)
        ]

    def _calls_of(
        self, block_size: int, sparsity: float
    ) -> list[Callable[[], float]]:
        problem = self._problem
        layout = problem.layout(block_size, sparsity, self._seed)
        blocks = self._drawn(problem.blocks_shape(layout))

        def forward(x: Any, blocks: Any) -> tf.Tensor:
            return problem.sparse(x, blocks, layout)

        x, dy = self._side(0)
        results = traced(training(forward, blocks, x, dy))()
        check(problem, blocks, layout, x, dy, results)
        return [self._call(forward, blocks, product) for product in PRODUCTS]

    def _call(
        self, forward: Callable[..., Any], weight: tf.Variable, product: str
    ) -> Callable[[], float]:
        """A function that gives the seconds of the work done once."""

        def applied(index: int) -> Function:
            x, dy = self._side(index)
            if product == "forward":
                return lambda: [forward(x, weight)]
            return training(forward, weight, x, dy)

        single = traced(applied(0))
        size = sum(
            each.shape.num_elements() * each.dtype.size for each in single()
        )
        seconds = min(_seconds(single) for _ in range(2))
        count = max(
            1,
            min(
                math.ceil(_CALL_SECONDS / seconds),
                _MOST,
                _OUTPUT_BYTES // max(size, 1),
            ),
        )
        call = single
        if count > 1:
            call = traced(*(applied(index) for index in range(count)))
            call()  # fills the caches, and the pools of memory
        return lambda: _seconds(call) / count

    def _side(self, index: int) -> tuple[tf.Variable, tf.Variable]:
        """Both x and dy of the index-th application, different from others."""
        while len(self._sides) <= index:
            x = self._drawn(self._problem.x_shape)
            self._sides.append((x, self._drawn(self._problem.y_shape)))
        return self._sides[index]

    def _drawn(self, shape: Sequence[int]) -> tf.Variable:
        # Variables, as in training: products with constants would be folded.
        values = self._rng.standard_normal(shape, np.float32)
        return tf.Variable(tf.cast(values, self._problem.dtype))


def training(
    forward: Callable[..., Any], weight: Any, x: Any, dy: Any
) -> Function:
    """What a layer does in a training step: y, dx and dw."""

    def run() -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch([x, weight])
            y = forward(x, weight)
        return [y, *tape.gradient(y, [x, weight], dy)]

    return run


def traced(*functions: Function) -> Function:
    """A graph that calls each function, one after the other."""

    # There is nothing for AutoGraph to do, which takes as long as measuring.
    @tf.function(autograph=False)
    def run() -> list[tf.Tensor]:
        outputs: list[tf.Tensor] = []
        last: list[tf.Tensor] = []
        for function in functions:
            with tf.control_dependencies(last):
                last = list(function())
            outputs += last
        return outputs

    return run.get_concrete_function()


def check(
    problem: Problem,
    blocks: Any,
    layout: BlockLayout,
    x: Any,
    dy: Any,
    results: Sequence[tf.Tensor],
) -> None:
    """Compares y, dx and dw with those of the dense weight that has the blocks.

    Each may be off by the rounding of its sums, in either of the two; of y and
    dx, sixteen rows are compared.

    Raises:
      RuntimeError: if one is further off.
    """
    exact = tf.float64 if problem.dtype == "float64" else tf.float32
    size = problem.kernel_size or None
    x, dy = (tf.cast(tf.identity(side), exact) for side in (x, dy))
    weight = layout.to_dense(tf.cast(blocks, exact).numpy(), size)

    def dense(x: tf.Tensor, dy: tf.Tensor, values: Any) -> list[Any]:
        kernel = tf.constant(values)
        few = slice(0, _CHECKED_ROWS)
        some = training(problem.dense, kernel, x[few], dy[few])
        # Of a convolution in three dimensions, TensorFlow has no eager one.
        y, dx, dw = traced(some)()
        if x.shape[0] > _CHECKED_ROWS:
            dw = traced(training(problem.dense, kernel, x, dy))()[2]
        return [y.numpy(), dx.numpy(), layout.gather(dw.numpy())]

    expected = dense(x, dy, weight)
    magnitudes = dense(tf.abs(x), tf.abs(dy), np.abs(weight))
    ulp = {"float16": 2.0**-10, "bfloat16": 2.0**-7}.get(problem.dtype, 0.0)
    rounding = 2 * (problem.longest_sum + 2) * np.finfo(weight.dtype).eps
    for name, result, value, magnitude in zip(
        ("y", "dx", "dw"), results, expected, magnitudes, strict=True
    ):
        got = tf.cast(result, exact).numpy()
        if name != "dw":
            got = got[:_CHECKED_ROWS]
        allowed = rounding * magnitude + ulp * np.abs(value)
        if not np.all(np.abs(got - value) <= allowed):  # NaN is wrong, too
            raise RuntimeError(
                f"{name} of blocks of {layout.block_size[0]} at a sparsity of "
                f"{layout.sparsity:.3f}, {problem}: got other numbers than the "
                "dense product's; please report this as a bug"
            )


def _seconds(function: Function) -> float:
    start = time.perf_counter()
    results = function()
    seconds = time.perf_counter() - start
    del results  # off the clock
    return seconds
