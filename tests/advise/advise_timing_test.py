# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What `Timer` measures is what it should be, and wrong results are found."""

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse.advise._problem import Problem
from tf_blocksparse.advise._timing import Timer, check, traced, training

PROBLEMS = {
    "product": Problem(20, 40, 24),
    "edges": Problem(3, 37, 22),
    "float64": Problem(20, 40, 24, "float64"),
    "bfloat16": Problem(20, 40, 24, "bfloat16"),
    "float16": Problem(20, 40, 24, "float16"),
    "conv 1d": Problem(2, 16, 24, "float32", (3,), (9,)),
    "conv 2d": Problem(18, 16, 20, "float32", (3, 2), (5, 6)),
    "conv 3d": Problem(1, 8, 8, "float32", (1, 3, 2), (3, 4, 5)),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_points(name):
    """Every result is checked on the way."""
    problem = PROBLEMS[name]
    requests = [(8, 0.5), (8, 0.0)]
    found = Timer(problem, seed=1).measure(requests, seconds=0.0)
    assert [(p.block_size, p.sparsity, p.product) for p in found] == [
        (8, 0.5, "forward"),
        (8, 0.5, "training"),
        (8, 0.0, "forward"),
        (8, 0.0, "training"),
    ]
    for point in found:
        assert 0 < point.sparse_ms < 1e3
        # Of the same turns.
        assert point.dense_ms == found[point.product == "training"].dense_ms


def results_of(problem, rng):
    layout = problem.layout(8, 0.5, seed=3)

    def drawn(shape):
        return tf.constant(rng.standard_normal(shape), problem.dtype)

    blocks = drawn(problem.blocks_shape(layout))
    x, dy = drawn(problem.x_shape), drawn(problem.y_shape)

    def forward(x, blocks):
        return problem.sparse(x, blocks, layout)

    results = traced(training(forward, blocks, x, dy))()
    return blocks, layout, x, dy, results


@pytest.mark.parametrize("name", ["product", "float64", "conv 2d"])
def test_wrong_results_are_found(name):
    problem = PROBLEMS[name]
    *arguments, right = results_of(problem, np.random.default_rng(0))
    check(problem, *arguments, right)
    for i, product in enumerate(("y", "dx", "dw")):
        for fault in (0.2, np.nan):
            wrong = right[i].numpy()
            wrong.reshape(-1)[5] += fault
            results = [*right[:i], tf.constant(wrong), *right[i + 1 :]]
            with pytest.raises(RuntimeError, match=f"^{product} of blocks"):
                check(problem, *arguments, results)


def test_sizes():
    problem = PROBLEMS["conv 2d"]
    assert problem.kernel_shape == (3, 2, 16, 20)
    assert problem.x_shape == (18, 5, 6, 16)
    assert problem.longest_sum == 18 * 30
    assert problem.places(8) == 6
    assert "kernel 3 x 2, 18 images of 5 x 6" in str(problem)
    assert str(Problem(3, 4, 5)) == "4 inputs x 5 outputs, 3 rows, float32"
