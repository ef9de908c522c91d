# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The table of convolutions meets what it names, and is small."""

import dataclasses
import math

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import reference, testing

PRIMES = (1009, 2003, 4001)


@pytest.mark.parametrize("stride", PRIMES)
def test_a_thin_table_meets_every_value(stride):
    def values(problems):
        return {
            (field.name, getattr(problem, field.name))
            for problem in problems
            for field in dataclasses.fields(problem)
        }

    problems = testing.conv_problems(stride)
    assert len({str(problem) for problem in problems}) == len(problems)
    assert values(problems) == values(testing.conv_problems(101))


def test_problems_are_small_and_not_empty():
    empty = 0
    problems = testing.conv_problems(PRIMES[1])
    for problem in problems:
        x, blocks, dy = problem.integers()
        layout = problem.layout
        assert max(layout.shape) <= 80
        assert math.prod(x.shape) <= 80 * 2 * 504
        assert math.prod(dy.shape) <= 80 * 2 * 3000
        assert blocks.shape[0] == layout.nnz
        assert x.dtype == dy.dtype == problem.x_dtype
        assert blocks.dtype == problem.blocks_dtype
        nan = tf.math.is_nan(tf.cast(blocks, tf.float32))
        assert np.any(nan) == (layout.nnz > 0) or problem.kind != "full"
        empty += math.prod(dy.shape) == 0
    assert empty < len(problems) / 10


@pytest.mark.parametrize("problem", testing.conv_problems(PRIMES[1]), ids=str)
def test_the_gradient_is_the_sampled_convolution(problem):
    x, blocks, dy = (tf.cast(v, tf.float64) for v in problem.integers())
    with tf.GradientTape() as tape:
        tape.watch(blocks)
        y = problem.call(reference, x, blocks)
    assert y.shape == dy.shape
    assert np.all(np.isfinite(y))
    np.testing.assert_array_equal(
        tape.gradient(y, blocks, dy), problem.sample(reference, x, dy)
    )


def test_refuses_an_unknown_kind():
    with pytest.raises(ValueError, match="kind: got 'other'"):
        testing.make_conv_layout("other", 4)
