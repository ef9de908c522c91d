# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The parts of the benchmark that can be wrong without anyone noticing."""

import dataclasses

import check
import grids
import layouts
import numpy as np
import pytest
import settings
import tensorflow as tf
import turns
from case import PRODUCTS, Case
from pictures import sparsity
from suites import never_slower

from tf_blocksparse import BlockLayout, ops

SETTINGS = settings.Settings(
    suites=("never_slower",),
    threads=(1,),
    rounds=1,
    seed=1,
    shapes=None,
    products=None,
    block_sizes=None,
    sparsities=None,
    dtypes=None,
    rows=None,
    features=4096,
    batch=1,
    cases=300,
    megabytes=1,
    instruction_sets=("avx2",),
    other_python="python",
)


def test_random_cases_cover_what_they_say():
    cases = never_slower.draw(SETTINGS)
    assert cases == never_slower.draw(SETTINGS)
    assert cases != never_slower.draw(dataclasses.replace(SETTINGS, seed=2))
    assert {case.product for case in cases} == set(PRODUCTS)
    assert {case.layout for case in cases} == set(never_slower.LAYOUTS)
    assert {0.0, 1.0} < {case.sparsity for case in cases}
    assert min(case.rows for case in cases) < 3
    assert max(case.rows for case in cases) > 2000
    assert all(8 <= case.block_size <= 128 for case in cases)
    assert all(1024 - 127 <= case.inputs <= 4096 for case in cases)
    assert any(case.inputs % case.block_size for case in cases)
    assert not all(case.inputs % case.block_size for case in cases)


@pytest.mark.parametrize("density", [0.0, 0.1, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("product", ["forward", "dx"])
def test_skewed_layouts_are_skewed(density, product):
    case = Case(1, 8000, 8000, product, 40, 1 - density, layout="skewed")
    layout = layouts.of(case, seed=3)
    assert layout.nnz / 200**2 == pytest.approx(density, abs=0.01)
    counts = np.sort(layout.mask.sum(axis=int(product == "dx")))
    if density == 0.5:
        assert np.median(counts[100:]) / np.median(counts[:100]) == (
            pytest.approx(10, abs=1)
        )


def test_diagonal_layouts_have_about_the_sparsity():
    case = Case(1, 800, 640, "forward", 8, 0.9, layout="block_diagonal")
    assert layouts.of(case, 0).density == pytest.approx(0.1, abs=0.01)
    whole = dataclasses.replace(case, sparsity=0.1)
    assert layouts.of(whole, 0).density == 1


def test_entries_beyond_the_edge_do_no_useful_work():
    layout = BlockLayout.dense((10, 7), 4)
    assert layouts.entries(layout) == 70


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("block_size", [8, 16])
def test_wrong_results_are_found(product, block_size):
    layout = BlockLayout.random((60, 90), block_size, sparsity=0.5, seed=0)
    rng = np.random.default_rng(0)
    blocks = tf.constant(rng.random(layout.blocks_shape), tf.float32)
    x = tf.constant(rng.random((70, 60)), tf.float32)
    dy = tf.constant(rng.random((70, 90)), tf.float32)
    arguments, actual = {
        "forward": ([x], ops.matmul(x, blocks, layout)),
        "dx": ([dy], ops.matmul(dy, blocks, layout, transpose=True)),
        "dw": ([x, dy], ops.sampled_matmul(x, dy, layout)),
    }[product]
    oracle = check.Oracle(product, blocks, layout)
    oracle.check(actual, arguments)
    wrong = actual.numpy()
    wrong[-1, 0] *= 1.0001
    with pytest.raises(AssertionError):
        oracle.check(tf.constant(wrong), arguments)


def test_turns_time_each_function_in_every_round():
    calls = []
    pair = [
        turns.Turn(lambda name=name: calls.append(name), 2) for name in "ab"
    ]
    betweens = []
    times = turns.take(pair, 4, between=lambda: betweens.append(1))
    assert "".join(calls) == "ab" * 5  # One round warms up.
    assert [len(each) for each in times] == [4, 4]
    assert len(betweens) == 4
    times = turns.take(pair, 9, seconds=0)
    assert [len(each) for each in times] == [3, 3]


def test_graphs_apply_an_op_to_different_inputs():
    turn = turns.in_graph(tf.square, lambda i: [tf.fill([1000], float(i))])
    results = turn.call()
    assert turn.count == len(results) >= 8
    assert [each[0].numpy() for each in results[:3]] == [0, 1, 4]


def test_groups_share_a_size_a_product_and_a_sparsity():
    cases = grids.default()
    groups = grids.groups(cases)
    assert sorted(map(str, cases)) == sorted(
        str(case) for group in groups for case in group
    )
    for group in groups:
        first = group[0]
        for case in group:
            rest = {
                "block_size": first.block_size,
                "x_dtype": first.x_dtype,
                "blocks_dtype": first.blocks_dtype,
            }
            assert dataclasses.replace(case, **rest) == first


def test_crossover_is_where_a_curve_reaches_1():
    assert sparsity.crossover([(0.0, 0.5), (0.5, 1.5)]) == 0.25
    assert sparsity.crossover([(0.0, 2.0), (0.5, 3.0)]) is None
