# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`ops.conv` and its sisters forward, over the table of convolutions."""

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import ops, reference, testing


def poison(shape, dtype):
    """Leaves NaN in the memory that the next result is likely to get."""
    kept = [tf.fill(shape, tf.constant(np.nan, dtype)) for _ in range(3)]
    kept.clear()


def check_exact(problem):
    x, blocks, dy = problem.integers()
    wide = [tf.cast(value, tf.float64) for value in (x, blocks, dy)]
    expected = problem.call(reference, *wide[:2])
    poison(expected.shape, x.dtype)
    y = problem.call(ops, x, blocks)
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(tf.cast(y, tf.float64), expected)
    expected = problem.sample(reference, wide[0], wide[2])
    poison(expected.shape, x.dtype)
    sampled = problem.sample(ops, x, dy)
    assert sampled.dtype == x.dtype
    np.testing.assert_array_equal(tf.cast(sampled, tf.float64), expected)


def check_close(problem):
    x, blocks, dy = problem.normals()
    x64, blocks64, dy64 = (tf.cast(v, tf.float64) for v in (x, blocks, dy))
    length = problem.taps * max(problem.layout.shape)
    testing.assert_close(
        problem.call(ops, x, blocks),
        problem.call(reference, x64, blocks64),
        length,
        problem.call(reference, tf.abs(x64), tf.abs(blocks64)),
    )
    pixels = max(np.size(v) // problem.layout.inputs for v in (x, dy)) + 1
    testing.assert_close(
        problem.sample(ops, x, dy),
        problem.sample(reference, x64, dy64),
        pixels,
        problem.sample(reference, tf.abs(x64), tf.abs(dy64)),
    )


@pytest.mark.parametrize("problem", testing.conv_problems(2003), ids=str)
def test_integers_are_exact(problem):
    check_exact(problem)


@pytest.mark.parametrize("problem", testing.conv_problems(4001), ids=str)
def test_sums_are_close(problem):
    check_close(problem)


@pytest.mark.complete
@pytest.mark.parametrize("part", range(20))
def test_everywhere(part):
    for problem in testing.conv_problems(211)[part::20]:
        check_exact(problem)
        check_close(problem)


def test_a_forgotten_block_is_found(monkeypatch):
    problem = next(
        problem
        for problem in testing.conv_problems(2003)
        if problem.kind == "random" and not problem.transposed
    )
    correct = ops.conv

    def faulty(x, blocks, layout, *rest, **options):
        kept = np.arange(layout.nnz) != layout.nnz // 2
        kept = kept.reshape(-1, *[1] * (blocks.shape.rank - 1))
        return correct(x, tf.where(kept, blocks, 0), layout, *rest, **options)

    check_exact(problem)
    monkeypatch.setattr(ops, "conv", faulty)
    for check in (check_exact, check_close):
        with pytest.raises(AssertionError):
            check(problem)


def test_eager_and_graph_are_equal():
    for problem in testing.conv_problems(20011):
        x, blocks, dy = problem.normals()

        def both(x, blocks, dy, problem=problem):
            return problem.call(ops, x, blocks), problem.sample(ops, x, dy)

        compiled = tf.function(both, autograph=False)(x, blocks, dy)
        for eager, graph in zip(both(x, blocks, dy), compiled, strict=True):
            assert eager.shape == graph.shape
            np.testing.assert_array_equal(
                tf.cast(eager, tf.float64), tf.cast(graph, tf.float64)
            )
