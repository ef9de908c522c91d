# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What `mix_factor` says, also of the small worlds in the literature."""

import itertools

import numpy as np
import pytest

from tf_blocksparse import BlockLayout, patterns

GRID = (576, 576)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (
            lambda seed: patterns.barabasi_albert(GRID, 5, seed),
            [1.9, 25, 92, 100],
        ),
        (
            lambda seed: patterns.watts_strogatz(GRID, 5, 0.2, seed),
            [1.9, 9, 43, 93, 100],
        ),
    ],
)
def test_small_worlds_of_the_paper(make, expected, seed):
    mask = make(seed)
    shares = 100 * patterns.mix_factor(mask, len(expected))
    assert round(shares[0], 1) == 1.9
    np.testing.assert_allclose(shares, expected, rtol=0.12, atol=0.05)
    np.testing.assert_allclose(shares[2:], expected[2:], atol=3)


def test_a_ring_mixes_slowly():
    ring = patterns.watts_strogatz(GRID, 5, 0.0, seed=0)
    shares = patterns.mix_factor(ring, 8)
    expected = (10 * np.arange(1, 9) + 1) / 576
    np.testing.assert_allclose(shares, expected, rtol=1e-12)
    assert round(100 * shares[-1]) == 14


def test_equals_the_products_of_matrices():
    rng = np.random.default_rng(0)
    sides = [3, 7, 5, 1, 4]
    masks = [rng.random(pair) < 0.4 for pair in itertools.pairwise(sides)]
    product = np.eye(3, dtype=int)
    expected = []
    for mask in masks:
        product = product @ mask
        expected.append((product > 0).mean())
    np.testing.assert_array_equal(patterns.mix_factor(masks), expected)
    lists = [mask.astype(int).tolist() for mask in masks]
    np.testing.assert_array_equal(patterns.mix_factor(lists), expected)
    layouts = [BlockLayout(mask, 8) for mask in masks]
    np.testing.assert_array_equal(patterns.mix_factor(layouts), expected)
    np.testing.assert_array_equal(patterns.mix_factor(iter(layouts)), expected)


def test_one_layout_many_times():
    mask = np.eye(4) + np.eye(4, k=1)
    expected = [7 / 16, 9 / 16, 10 / 16, 10 / 16]
    for one in (mask, mask.tolist(), BlockLayout(mask, 4)):
        shares = patterns.mix_factor(one, 4)
        assert shares.dtype == np.float64
        np.testing.assert_array_equal(shares, expected)
        np.testing.assert_array_equal(patterns.mix_factor(one), expected[:1])
    np.testing.assert_array_equal(patterns.mix_factor([mask] * 4), expected)
    assert patterns.mix_factor([]).size == 0


def test_a_tap_with_a_block_connects():
    taps = np.zeros((2, 3, 3))
    taps[0, 0, 1] = taps[1, 1, 2] = 1
    layout = BlockLayout(taps, 4)
    np.testing.assert_array_equal(
        patterns.mix_factor(layout, 3), np.array([2, 1, 0]) / 9
    )
    np.testing.assert_array_equal(patterns.mix_factor([taps, taps])[1], 1 / 9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((2, 3)), 2), "layouts: got one of 2 x 3 blocks at place 1"),
        (([np.ones((2, 2))], 2), "steps: got int 2 with a sequence"),
        ((np.ones((2, 2)), 0), "steps: got int 0"),
        ((3,), "layouts: got int 3"),
        (([3],), "mask: got shape"),
        ((np.full((2, 2), 0.5),), "expected only 0 and 1"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        patterns.mix_factor(*arguments)
