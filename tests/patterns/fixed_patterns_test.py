# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Masks without a seed: strided, butterflies, interleaved, local."""

import itertools
import math

import numpy as np
import pytest

from tf_blocksparse import patterns


def test_strided():
    for rows, columns in itertools.product(range(1, 8), repeat=2):
        for stride in range(1, min(rows, columns) + 1):
            mask = patterns.strided((rows, columns), stride)
            for c, k in np.ndindex(rows, columns):
                assert mask[c, k] == ((c - k) % stride == 0)
            assert mask.any(axis=0).all()
            assert mask.any(axis=1).all()
    # After full groups of as many, everything is connected, once.
    first = patterns.block_diagonal((12, 12), 4)
    second = patterns.strided((12, 12), 3)
    assert (first.astype(int) @ second == 1).all()


def test_butterfly_is_its_factors_together():
    for power in range(5):
        n = 2**power
        # Butterfly factors as Kronecker products: the textbook's definition.
        factors = [
            np.kron(np.kron(np.eye(n // (2 * s)), np.ones((2, 2))), np.eye(s))
            for s in 2 ** np.arange(power)
        ]
        product = np.eye(n)
        for factor in factors:
            product = product @ factor
        assert (product == 1).all()
        for count in range(power + 1):
            expected = np.eye(n, dtype=bool)
            for factor in factors[:count]:
                expected |= factor > 0
            stride = 2 ** (count - 1) if count else 0
            mask = patterns.butterfly((n, n), stride)
            np.testing.assert_array_equal(mask, expected)
        np.testing.assert_array_equal(patterns.butterfly((n, n)), expected)
        assert patterns.mix_factor(mask, max(power, 1))[-1] == 1


def test_butterfly_of_other_grids():
    for n in range(1, 40):
        mask = patterns.butterfly((n, n))
        larger = patterns.butterfly((64, 64))
        np.testing.assert_array_equal(mask, larger[:n, :n])
        steps = max(1, math.ceil(math.log2(n)))
        assert patterns.mix_factor(mask, steps)[-1] == 1
    square = patterns.butterfly((5, 5))
    stretched = np.repeat(square, 3, axis=0)
    np.testing.assert_array_equal(patterns.butterfly((15, 5)), stretched)
    np.testing.assert_array_equal(patterns.butterfly((5, 15)), stretched.T)
    assert patterns.butterfly((7, 5)).any(axis=1).all()


def test_pixelated_butterfly():
    for low_rank in range(6):
        mask = patterns.pixelated_butterfly((8, 5), 2, low_rank)
        expected = patterns.butterfly((8, 5), 2)
        expected[:low_rank] = True
        expected[:, :low_rank] = True
        np.testing.assert_array_equal(mask, expected)
        assert patterns.mix_factor([mask, mask.T])[-1] == 1 or not low_rank


@pytest.mark.parametrize(
    ("grid", "factors", "blocks"),
    [
        ((16, 16), 2, [64, 64]),
        ((16, 16), 4, [32] * 4),
        ((12, 12), 3, [36, 24, 24]),
        ((12, 30), 2, [72, 90]),
        ((64, 64), [(4, 4), (16, 16)], [256, 1024]),
        ((6, 35), [(2, 7), (3, 5)], [42, 105]),
        ((7, 7), 2, [49, 7]),
        ((7, 7), 1, [49]),
        ((1, 6), 2, [3, 6]),
        ((1, 1), 3, [1] * 3),
        ((16, 4), [[4, 1], [4, 4]], [16, 16]),
    ],
)
def test_interleaved_connects_each_pair_once(grid, factors, blocks):
    masks = patterns.interleaved(grid, factors)
    assert [int(mask.sum()) for mask in masks] == blocks
    paths = np.eye(grid[0], dtype=int)
    for mask in masks:
        assert mask.dtype == np.bool_
        # Groups: outputs with a common input have all inputs in common.
        shared = mask.astype(int).T @ mask
        np.testing.assert_array_equal(
            shared, (shared > 0) * mask.sum(axis=0)[:, None]
        )
        paths = paths @ mask
    assert paths.shape == grid
    assert (paths == 1).all()


@pytest.mark.parametrize(("side", "steps"), [(36, 2), (64, 3), (60, 3)])
def test_interleaved_chooses_the_fewest_blocks_of_a_square(side, steps):
    best = min(
        sum(factors)
        for factors in itertools.product(range(1, side + 1), repeat=steps)
        if math.prod(factors) == side
    )
    masks = patterns.interleaved((side, side), steps)
    assert sum(int(mask.sum()) for mask in masks) == side * best


def test_locally_connected():
    for radius in range(3):
        line = patterns.locally_connected((9, 5), radius)
        np.testing.assert_array_equal(line, patterns.banded((9, 5), radius))
    sizes = (4, 5)
    mask = patterns.locally_connected((20, 20), (1, 2), sizes)
    row, column = np.divmod(np.arange(20), 5)
    near = (np.abs(row[:, None] - row) <= 1) & (
        np.abs(column[:, None] - column) <= 2
    )
    np.testing.assert_array_equal(mask, near)
    # A stride of two, and channels that are full.
    mask = patterns.locally_connected(
        (4 * 4 * 3, 2 * 2 * 5), (0, 0, 5), (4, 4, 3), (2, 2, 5)
    )
    tiles = mask.reshape(4, 4, 3, 2, 2, 5)
    for y, x, v, u in np.ndindex(4, 4, 2, 2):
        expected = y // 2 == v and x // 2 == u
        assert (tiles[y, x, :, v, u] == expected).all()
    assert patterns.locally_connected((6, 6), 0, [2, 3]).sum() == 6


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: patterns.strided((4, 3), 4), "stride: .* from 1 to 3"),
        (lambda: patterns.strided((4, 3), 0), "stride: got int 0"),
        (lambda: patterns.butterfly((4, 4), 3), "expected a power of two"),
        (lambda: patterns.butterfly((4, 4), -1), "max_stride: got int -1"),
        (lambda: patterns.butterfly((4, 4), 2.0), "max_stride: got float"),
        (lambda: patterns.pixelated_butterfly((4, 4), 2, 5), "from 0 to 4"),
        (lambda: patterns.interleaved((4, 4), 0), "factors: got int 0"),
        (lambda: patterns.interleaved((4, 4), True), "factors: got bool"),
        (lambda: patterns.interleaved((4, 4), []), "factors: got list"),
        (lambda: patterns.interleaved((4, 4), [2, 2]), r"factors\[0\]: got"),
        (
            lambda: patterns.interleaved((4, 4), [(2, 2), (2, 3)]),
            r"whose products are \(4, 6\), expected those of the grid, \(4, 4",
        ),
        (lambda: patterns.locally_connected((4, 4), -1), "radius: got int"),
        (lambda: patterns.locally_connected((4, 4), (1, 1)), "radius: got tu"),
        (
            lambda: patterns.locally_connected((4, 4), 1, (2, 3)),
            "input_positions: .* the product 4",
        ),
        (
            lambda: patterns.locally_connected((4, 6), 1, (2, 2)),
            "output_positions: got .* expected as many axes",
        ),
        (lambda: patterns.locally_connected((4, 4), 1, (0, 4)), "got int 0"),
    ],
)
def test_wrong_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
