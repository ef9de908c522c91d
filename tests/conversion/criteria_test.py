# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Scores of blocks, and the choice of the heaviest."""

import ml_dtypes
import numpy as np
import pytest

from tf_blocksparse import BlockLayout
from tf_blocksparse.conversion import _criteria
from tf_blocksparse.patterns.block_count import keep_count

DTYPES = ["float16", "float32", "float64", ml_dtypes.bfloat16, "int64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 2), (1, 2, 2)])
def test_scores_are_exact_on_small_integers(dtype, shape):
    blocks = np.array([[1, -1, 1, 1], [0, 0, 0, 0], [4, 4, -4, 4]], dtype)
    blocks = blocks.reshape(3, *shape)
    l2 = _criteria.block_scores(blocks, "l2")
    assert l2.tolist() == [2, 0, 8]
    assert _criteria.block_scores(blocks, "l2", mean=True).tolist() == [1, 0, 4]
    assert _criteria.block_scores(blocks, "max").tolist() == [1, 0, 4]
    assert l2.dtype == np.float64


def test_large_values_do_not_overflow():
    blocks = np.full((1, 2, 2), 60000, np.float16)
    assert _criteria.block_scores(blocks).tolist() == [2 * 59999 + 2]
    blocks = np.full((1, 2, 2), 2.0**100, np.float32)
    assert _criteria.block_scores(blocks).tolist() == [2.0**101]


@pytest.mark.parametrize("criterion", ["l2", "max"])
def test_nan_is_refused_with_the_name_of_the_layer(criterion):
    blocks = np.zeros((3, 2, 2), np.float32)
    blocks[1, 0, 1] = np.nan
    with pytest.raises(ValueError, match=r"hidden: got NaN in 1 of 3 .* 1,"):
        _criteria.block_scores(blocks, criterion, "hidden")


def test_no_blocks_have_no_scores():
    assert _criteria.block_scores(np.zeros((0, 4, 4))).shape == (0,)


def test_unknown_criteria_are_refused():
    with pytest.raises(ValueError, match="criterion: got str 'l1', expected"):
        _criteria.block_scores(np.zeros((1, 1, 1)), "l1")


@pytest.mark.parametrize(
    ("count", "sparsity", "kept"),
    [
        (64, 0.9, 6),
        (10, 0.25, 8),  # round half to even, as patterns.block_count
        (10, 0.0, 10),
        (10, 1.0, 0),
        (10, 0.999, 1),
        (1, 0.5, 1),
        (0, 0.5, 0),
        (3, 0.5, 2),
    ],
)
def test_keep_count_rounds(count, sparsity, kept):
    assert keep_count(count, sparsity) == kept


@pytest.mark.parametrize("sparsity", [-0.1, 1.1, np.nan, "0.5", True])
def test_keep_count_refuses_what_is_no_sparsity(sparsity):
    with pytest.raises(ValueError, match="sparsity: got"):
        keep_count(8, sparsity)


def test_of_equal_scores_the_first_are_kept():
    assert np.flatnonzero(_criteria.heaviest(np.ones(100), 7)).tolist() == [
        *range(7)
    ]
    scores = [2, 1, 2, 1, 3, 1]
    chosen = [
        np.flatnonzero(_criteria.heaviest(scores, n)).tolist() for n in range(7)
    ]
    assert chosen == [
        [],
        [4],
        [0, 4],
        [0, 2, 4],
        [0, 1, 2, 4],
        [0, 1, 2, 3, 4],
        [0, 1, 2, 3, 4, 5],
    ]


def test_infinite_scores_are_chosen_first_and_last():
    scores = [-np.inf, 1, np.inf, 0]
    assert _criteria.heaviest(scores, 3).tolist() == [False, True, True, True]


def test_heaviest_equals_its_definition():
    scores = np.random.default_rng(0).integers(0, 20, 300)
    order = sorted(range(300), key=lambda i: (-scores[i], i))
    for count in (0, 1, 150, 299, 300):
        chosen = np.flatnonzero(_criteria.heaviest(scores, count))
        assert chosen.tolist() == sorted(order[:count])


def test_heaviest_refuses_nan_and_too_many():
    with pytest.raises(ValueError, match="scores: got NaN"):
        _criteria.heaviest([1, np.nan], 1)
    with pytest.raises(ValueError, match="count: got int 3"):
        _criteria.heaviest([1, 2], 3)


def test_places_are_those_of_the_groups():
    assert _criteria.places(BlockLayout.dense((16, 8), 4)) == 8
    layout = BlockLayout.random((16, 16), 4, sparsity=0.5, seed=0, groups=2)
    assert _criteria.places(layout, 2) == 8


@pytest.mark.parametrize("taps", [None, 3])
def test_padding_is_what_a_round_trip_through_dense_loses(taps):
    rng = np.random.default_rng(1)
    mask = rng.random((*([taps] if taps else []), 3, 4)) < 0.7
    layout = BlockLayout(mask, (4, 3), 10, 11)
    blocks = rng.normal(size=layout.blocks_shape)
    dense = layout.to_dense(blocks, taps)
    expected = layout.gather(dense)
    assert np.array_equal(_criteria.without_padding(blocks, layout), expected)


def test_padding_of_blocks_that_taps_share():
    rng = np.random.default_rng(2)
    layout = BlockLayout(np.ones((2, 2)), 4, 7, 5)
    blocks = rng.normal(size=(4, 9, 4, 4))
    before = blocks.copy()
    expected = layout.gather(layout.to_dense(blocks, (3, 3)))
    assert np.array_equal(_criteria.without_padding(blocks, layout), expected)
    assert np.array_equal(blocks, before)
