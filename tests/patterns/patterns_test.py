# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Tests of the makers of block masks."""

import hashlib

import numpy as np
import pytest

from tf_blocksparse import patterns


@pytest.mark.parametrize(
    ("grid", "sparsity", "count"),
    [
        ((10, 10), 0.9, 10),
        ((10, 10), 0.0, 100),
        ((10, 10), 0, 100),
        ((10, 10), 1.0, 0),
        ((10, 10), 1, 0),
        ((10, 10), 0.999, 1),
        ((3, 3), 0.5, 4),  # 4.5 rounds to even, as Python does
        ((1, 1), 0.9, 1),
        ((128, 128), np.float32(0.75), 4096),
        ((4000, 4000), 0.9375, 1_000_000),
    ],
)
def test_block_count(grid, sparsity, count):
    assert patterns.block_count(grid, sparsity) == count


def _spread(counts):
    return int(counts.max() - counts.min())


def test_balanced_random_every_small_grid_and_count():
    for rows in range(1, 7):
        for columns in range(1, 7):
            for count in range(rows * columns + 1):
                for seed in range(3):
                    mask = patterns.balanced_random(
                        (rows, columns), count, seed
                    )
                    assert mask.dtype == np.bool_
                    assert mask.shape == (rows, columns)
                    assert mask.sum() == count
                    assert _spread(mask.sum(axis=0)) <= 1
                    assert _spread(mask.sum(axis=1)) <= 1


@pytest.mark.parametrize("density", [0.0004, 0.01, 0.1, 0.3, 0.5, 0.51, 0.9])
@pytest.mark.parametrize(
    "grid", [(250, 250), (100, 650), (650, 100), (2, 5000), (5000, 3)]
)
def test_balanced_random_large(grid, density):
    count = round(grid[0] * grid[1] * density)
    mask = patterns.balanced_random(grid, count, 5)
    assert mask.sum() == count
    for axis in (0, 1):
        counts = mask.sum(axis=axis)
        assert _spread(counts) <= 1
        assert counts.min() > 0 or count < counts.size


def test_balanced_random_in_groups():
    for rows, columns, groups in ((6, 4, 2), (8, 8, 4), (3, 9, 3)):
        grid = (rows, columns)
        within = patterns.block_diagonal(grid, groups)
        for count in range(rows * columns // groups + 1):
            mask = patterns.balanced_random(grid, count, 1, groups)
            assert mask.sum() == count
            assert not np.any(mask & ~within)
            assert _spread(mask.sum(axis=0)) <= 1
            assert _spread(mask.sum(axis=1)) <= 1
    assert patterns.block_count((8, 8), 0.5, groups=2) == 16


def test_balanced_random_million_blocks():
    mask = patterns.balanced_random((4000, 4000), 1_000_000, 0)
    assert (mask.sum(axis=0) == 250).all()
    assert (mask.sum(axis=1) == 250).all()


# What a seed means, for ever: stored configs name only the seed.
@pytest.mark.parametrize(
    ("grid", "count", "seed", "digest"),
    [
        ((1, 1), 1, 0, "76be8b528d0075f7"),
        ((4, 6), 12, 0, "17d28d95939a5c5c"),
        ((16, 16), 26, 1, "b93faa824019104d"),
        ((16, 16), 230, 1, "d65a87faa132cd10"),
        ((128, 128), 1638, 7, "5bc9d20252b8d8ed"),
        ((100, 37), 1850, 2**63, "87b4ca06a9bf4f9b"),
        ((1000, 1000), 62500, 123456789, "1021d59d79bf3f2c"),
    ],
)
def test_balanced_random_golden(grid, count, seed, digest):
    mask = patterns.balanced_random(grid, count, seed)
    bits = np.packbits(mask).tobytes()
    assert hashlib.sha256(bits).hexdigest()[:16] == digest


@pytest.mark.parametrize("density", [0.1, 0.3, 0.5, 0.8])
def test_balanced_random_shows_no_structure(density):
    size = 256
    count = round(size * size * density)
    mask = patterns.balanced_random((size, size), count, 3)
    other = patterns.balanced_random((size, size), count, 4)
    # Two independent choices of d out of n share d * d / n, with this variance.
    d = count / size
    mean = d * d / size
    variance = mean * (1 - d / size) * (size - d) / (size - 1)
    for view in (mask, mask.T):
        lines = view.astype(np.float64)
        shared = lines.T @ lines
        pairs = shared[np.triu_indices(size, 1)]
        # Even counts leave a little less than d * d / n to share.
        even = (d * d - d) / (size - 1)
        assert abs(pairs.mean() - even) < 0.01 * mean
        assert 0.9 < pairs.var() / variance < 1.1
        # Neighbours and the two ends are pairs like any other.
        for offset in (1, 2, size // 2, size - 64):
            near = np.diag(shared, offset)
            bound = 5 * np.sqrt(variance / near.size) + 0.05
            assert abs(near.mean() - mean) < bound
    # Quarters of the mask are equally full.
    quarters = mask.reshape(4, size // 4, 4, size // 4).sum(axis=(1, 3))
    deviation = np.sqrt((size / 4) ** 2 * density * (1 - density))
    assert (np.abs(quarters - count / 16) < 5 * deviation).all()
    # Seeds are independent.
    both = np.count_nonzero(mask & other)
    deviation = size * density * (1 - density)
    assert abs(both - count * density) < 5 * deviation


def test_balanced_random_reaches_every_mask_of_a_small_grid():
    masks = [
        patterns.balanced_random((3, 3), 4, seed).tobytes()
        for seed in range(2000)
    ]
    _, times = np.unique(masks, return_counts=True)
    # Counts (2, 1, 1) both ways: 9 choices of the two full lines, and 5 masks
    # for each.
    assert times.size == 45
    assert times.min() > 2000 / 45 / 2
    assert times.max() < 2000 / 45 * 2


@pytest.mark.parametrize(
    ("grid", "groups", "picture"),
    [
        ((3, 3), None, "#../.#./..#"),
        ((4, 4), 2, "##../##../..##/..##"),
        ((4, 2), None, "#./#./.#/.#"),
        ((2, 5), None, "###../...##"),
        ((5, 3), 2, "##./##./##./..#/..#"),
        ((3, 2), 1, "##/##/##"),
    ],
)
def test_block_diagonal(grid, groups, picture):
    assert _picture(patterns.block_diagonal(grid, groups)) == picture


@pytest.mark.parametrize(
    ("grid", "bandwidth", "picture"),
    [
        ((3, 3), 0, "#../.#./..#"),
        ((4, 4), 1, "##../###./.###/..##"),
        ((2, 4), 0, "##../..##"),
        ((4, 2), 0, "#./#./.#/.#"),
        ((2, 3), 0, "##./.##"),
        ((2, 3), 5, "###/###"),
        ((1, 4), 0, "####"),
        ((3, 3), 10**30, "###/###/###"),
    ],
)
def test_banded(grid, bandwidth, picture):
    mask = patterns.banded(grid, bandwidth)
    assert _picture(mask) == picture
    transposed = patterns.banded(grid[::-1], bandwidth)
    np.testing.assert_array_equal(transposed, mask.T)


def test_banded_and_block_diagonal_follow_their_formulas():
    for rows in range(1, 9):
        for columns in range(1, 9):
            c = np.arange(rows)[:, None]
            k = np.arange(columns)[None, :]
            shorter = min(rows, columns)
            for bandwidth in range(3):
                distance = np.abs((c + 0.5) / rows - (k + 0.5) / columns)
                expected = distance * shorter <= bandwidth + 0.5 + 1e-9
                mask = patterns.banded((rows, columns), bandwidth)
                np.testing.assert_array_equal(mask, expected)
                assert mask.any(axis=0).all()
                assert mask.any(axis=1).all()
            for groups in range(1, shorter + 1):
                mask = patterns.block_diagonal((rows, columns), groups)
                assert mask.any(axis=0).all()
                assert mask.any(axis=1).all()


def test_a_long_thin_grid_does_not_overflow():
    assert patterns.banded((1, 10**7), 10**7).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: patterns.banded((0, 3), 1), r"grid\[0\]: got int 0"),
        (lambda: patterns.banded((-1, 3), 1), r"grid\[0\]: got int -1"),
        (lambda: patterns.banded((2, True), 1), r"grid\[1\]: got bool True"),
        (lambda: patterns.banded((2, 3, 4), 1), "expected two integers"),
        (lambda: patterns.banded(5, 1), "expected two integers"),
        (lambda: patterns.banded((2**16, 2**15), 1), "larger block size"),
        (lambda: patterns.banded((2, 2), -1), "bandwidth: got int -1"),
        (lambda: patterns.banded((2, 2), 1.0), "bandwidth: got float 1.0"),
        (lambda: patterns.block_diagonal((2, 3), 3), "from 1 to 2"),
        (lambda: patterns.block_diagonal((2, 3), 0), "groups: got int 0"),
        (lambda: patterns.block_diagonal((2, 3), True), "groups: got bool"),
        (lambda: patterns.balanced_random((2, 2), 5, 0), "from 0 to 4"),
        (lambda: patterns.balanced_random((2, 2), -1, 0), "count: got int"),
        (lambda: patterns.balanced_random((2, 2), 1, -1), "seed: got int -1"),
        (lambda: patterns.balanced_random((2, 2), 1, None), "seed: got None"),
        (lambda: patterns.balanced_random((2, 2), 1, 0.5), "seed: got float"),
        (lambda: patterns.balanced_random((4, 4), 9, 0, 2), "from 0 to 8"),
        (lambda: patterns.balanced_random((4, 3), 1, 0, 2), "got 2 for a gr"),
        (lambda: patterns.balanced_random((4, 4), 1, 0, 0), "groups: got int"),
        (lambda: patterns.block_count((3, 4), 0.5, 2), "divisor of both"),
        (lambda: patterns.block_count((2, 2), 1.01), "from 0 to 1"),
        (lambda: patterns.block_count((2, 2), -0.1), "got float -0.1"),
        (lambda: patterns.block_count((2, 2), np.nan), "got float nan"),
        (lambda: patterns.block_count((2, 2), 10**400), "sparsity: got int"),
        (lambda: patterns.block_count((2, 2), True), "got bool True"),
        (lambda: patterns.block_count((2, 2), "0.9"), "got str '0.9'"),
        (lambda: patterns.block_count((2, 2), None), "got None"),
        (lambda: patterns.block_count((2, 2), 0.9j), "got complex"),
    ],
)
def test_wrong_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def _picture(mask):
    return "/".join("".join(".#"[int(v)] for v in line) for line in mask)
