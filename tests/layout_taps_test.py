# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Tests of `BlockLayout` for kernels: layouts per tap, and shared ones."""

import hashlib
import json
import pickle

import numpy as np
import pytest

from tf_blocksparse import _packed
from tf_blocksparse.layout import BlockLayout

KERNELS = [(1,), (5,), (2, 3), (1, 2, 2)]


def made(kernel, block_size=(2, 3), density=0.5):
    """A layout per tap whose last blocks reach beyond the kernel."""
    taps = int(np.prod(kernel))
    mask = np.random.default_rng(taps).random((taps, 3, 4)) < density
    b_in, b_out = block_size
    return BlockLayout(mask, block_size, 3 * b_in - 1, 4 * b_out - 1)


def kernel_by_loops(layout, blocks, kernel):
    """The definition of `blocks`: by output, then input, then tap."""
    b_in, b_out = layout.block_size
    rows, columns = layout.grid
    whole = np.zeros((layout.taps, rows * b_in, columns * b_out))
    w = 0
    for k in range(columns):
        for c in range(rows):
            for tap in range(layout.taps):
                if layout.mask[tap, c, k]:
                    rows_of_tile = slice(c * b_in, (c + 1) * b_in)
                    tile = rows_of_tile, slice(k * b_out, (k + 1) * b_out)
                    whole[tap][tile] = blocks[w]
                    w += 1
    assert w == layout.nnz
    whole = whole[:, : layout.inputs, : layout.outputs]
    return whole.reshape(*kernel, *layout.shape)


def test_attributes():
    mask = np.array([[[1, 0, 1], [0, 0, 1]], [[0, 0, 0], [1, 0, 0]]])
    layout = BlockLayout(mask, (4, 8), inputs=7, outputs=17)
    np.testing.assert_array_equal(layout.mask, mask.astype(bool))
    assert layout.taps == 2
    assert layout.grid == (2, 3)
    assert layout.packed_grid == (4, 3)
    assert layout.shape == (7, 17)
    assert layout.nnz == 4
    assert layout.blocks_shape == (4, 4, 8)
    assert layout.density == 4 / 12
    assert repr(layout).startswith("BlockLayout(taps=2, inputs=7, outputs=17")
    matrix = BlockLayout(mask[0], 4)
    assert matrix.taps is None
    assert matrix.packed_grid == matrix.grid


@pytest.mark.parametrize("kernel", KERNELS)
def test_packed_is_that_of_a_matrix_with_a_row_for_each_tap(kernel):
    layout = made(kernel)
    rows = [layout.mask[tap, c] for c in range(3) for tap in range(layout.taps)]
    as_matrix = BlockLayout(np.stack(rows), 1)
    np.testing.assert_array_equal(layout.packed, as_matrix.packed)
    assert layout.packed_grid == as_matrix.grid
    shape = (*kernel, *layout.shape)
    again = BlockLayout.from_packed(layout.packed, shape, (2, 3))
    assert again == layout
    other = (layout.taps + 1, *layout.shape)
    with pytest.raises(ValueError, match="packed: got"):
        BlockLayout.from_packed(layout.packed, other, (2, 3))


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_and_blocks(kernel):
    layout = made(kernel)
    blocks = np.random.default_rng(0).normal(size=layout.blocks_shape)
    expected = kernel_by_loops(layout, blocks, kernel)
    whole = layout.to_dense(blocks, kernel)
    np.testing.assert_array_equal(whole, expected)
    gathered = layout.gather(whole)
    np.testing.assert_array_equal(layout.to_dense(gathered, kernel), whole)
    np.testing.assert_array_equal(
        layout.gather(whole.reshape(-1, *layout.shape)), gathered
    )
    assert BlockLayout.from_dense(whole, (2, 3)) == layout
    if len(kernel) == 1:
        np.testing.assert_array_equal(layout.to_dense(blocks, kernel[0]), whole)


@pytest.mark.parametrize("kernel", KERNELS)
def test_shared_blocks_are_those_of_every_tap(kernel):
    mask = np.random.default_rng(0).random((3, 4)) < 0.5
    taps = int(np.prod(kernel))
    shared = BlockLayout(mask, (2, 3), 5, 11)
    each = BlockLayout(np.stack([mask] * taps), (2, 3), 5, 11)
    whole = np.random.default_rng(1).normal(size=(*kernel, 5, 11))
    blocks = shared.gather(whole)
    assert blocks.shape == (shared.nnz, taps, 2, 3)
    np.testing.assert_array_equal(blocks.reshape(-1, 2, 3), each.gather(whole))
    np.testing.assert_array_equal(
        shared.to_dense(blocks, kernel),
        each.to_dense(each.gather(whole), kernel),
    )
    turned = shared.transpose_blocks(blocks)
    np.testing.assert_array_equal(
        turned.reshape(-1, 3, 2), each.transpose_blocks(each.gather(whole))
    )


@pytest.mark.parametrize("kernel", KERNELS)
def test_transpose(kernel):
    layout = made(kernel)
    blocks = np.random.default_rng(0).normal(size=layout.blocks_shape)
    turned, turned_blocks = layout.transpose(), layout.transpose_blocks(blocks)
    assert turned.taps == layout.taps
    assert turned.shape == layout.shape[::-1]
    whole = layout.to_dense(blocks, kernel)
    np.testing.assert_array_equal(
        turned.to_dense(turned_blocks, kernel), np.swapaxes(whole, -1, -2)
    )
    assert turned.transpose() == layout
    back = turned.transpose_blocks(turned_blocks)
    np.testing.assert_array_equal(back, blocks)


def test_equality_and_hash():
    mask = np.ones((2, 2, 2), bool)
    layouts = [
        BlockLayout(mask, 4),
        BlockLayout(mask[:1], 4),
        BlockLayout(mask[0], 4),
        # The same packed vector.
        BlockLayout(mask.reshape(4, 1, 2), 4),
        BlockLayout(mask.reshape(4, 2), 4),
        BlockLayout(mask.reshape(1, 4, 2), 4),
    ]
    assert len(set(layouts)) == len(layouts)
    assert layouts[0] != layouts[3]
    assert layouts[0] == BlockLayout.dense((1, 2, 8, 8), 4)
    assert layouts[0] == BlockLayout.dense((2, 8, 8), 4)


def makers():
    return {
        "random": BlockLayout.random((3, 3, 30, 50), (4, 8), sparsity=0.7),
        "groups": BlockLayout.random(
            (3, 64, 32), 8, sparsity=0.5, seed=1, groups=4
        ),
        "matrix": BlockLayout.random(
            (64, 32), 8, sparsity=0.5, seed=1, groups=np.int64(2)
        ),
        "dense": BlockLayout.dense((2, 2, 30, 50), 8),
        "diagonal": BlockLayout.block_diagonal((3, 30, 50), 8, groups=2),
        "banded": BlockLayout.banded((1, 30, 50), 4, bandwidth=1),
        "mask": BlockLayout([[[1, 0, 1]], [[0, 0, 0]]], (4, 8), outputs=18),
    }


@pytest.mark.parametrize("name", makers())
def test_config_and_pickle(name):
    layout = makers()[name]
    config = json.loads(json.dumps(layout.get_config()))
    again = BlockLayout.from_config(config)
    assert again == layout
    assert again.get_config() == config
    loaded = pickle.loads(pickle.dumps(layout))
    assert loaded == layout
    assert loaded.get_config() == config
    assert config.get("taps") == layout.taps


def test_makers_draw_what_they_say():
    layout = BlockLayout.random((3, 3, 64, 80), 16, sparsity=0.8, seed=0)
    assert layout.taps == 9
    assert layout.grid == (4, 5)
    assert layout.nnz == 36
    assert set(layout.mask.sum(axis=(0, 1))) == {7, 8}
    assert set(layout.mask.sum(axis=2).ravel()) == {1}
    same = BlockLayout.random((9, 64, 80), 16, sparsity=0.8, seed=0)
    assert same == layout
    matrix = BlockLayout.banded((64, 64), 16, bandwidth=1)
    kernel = BlockLayout.banded((2, 2, 64, 64), 16, bandwidth=1)
    np.testing.assert_array_equal(kernel.mask, [matrix.mask] * 4)
    matrix = BlockLayout.block_diagonal((64, 64), 16, groups=2)
    kernel = BlockLayout.block_diagonal((3, 64, 64), 16, groups=2)
    np.testing.assert_array_equal(kernel.mask, [matrix.mask] * 3)


@pytest.mark.parametrize("kernel", [(), (1,), (3, 3)])
def test_groups(kernel):
    layout = BlockLayout.random(
        (*kernel, 96, 48), 8, sparsity=0.5, seed=0, groups=3
    )
    taps = layout.taps or 1
    mask = layout.mask.reshape(taps, 3, 4, 3, 2)
    counts = mask.sum(axis=(0, 2, 4))
    assert layout.nnz == taps * 3 * 4 * 2 // 2
    assert set(np.diag(counts)) == {taps * 4}
    assert counts.sum() == layout.nnz
    per_output = layout.mask.reshape(-1, 6).sum(axis=0)
    assert np.ptp(per_output) <= 1
    full = BlockLayout.random((*kernel, 96, 48), 8, sparsity=0, groups=3)
    expected = BlockLayout.block_diagonal((*kernel, 96, 48), 8, groups=3)
    assert full == expected


# What a seed means, for ever: stored configs name only the seed.
@pytest.mark.parametrize(
    ("shape", "block_size", "groups", "digest"),
    [
        ((3, 3, 64, 128), 16, 1, "ada61a193f87b154"),
        ((3, 64, 128), 8, 4, "8557a9d6c97e558e"),
        ((64, 128), 8, 2, "8773d679df1a34ba"),
    ],
)
def test_random_golden(shape, block_size, groups, digest):
    layout = BlockLayout.random(
        shape, block_size, sparsity=0.8, seed=3, groups=groups
    )
    data = layout.packed.astype("<i4").tobytes()
    assert hashlib.sha256(data).hexdigest()[:16] == digest


def test_the_packed_vector_stays_below_the_limit_of_int32(monkeypatch):
    # 2 * 4 rows, 8 columns and 2 * 32 blocks.
    monkeypatch.setattr(_packed, "MAX_INT32", 210)
    assert BlockLayout.dense((2, 4, 8), 1).packed.size == 210
    monkeypatch.setattr(_packed, "MAX_INT32", 209)
    for make in (
        lambda: BlockLayout.dense((2, 4, 8), 1),
        lambda: BlockLayout.banded((2, 4, 8), 1, bandwidth=8),
        lambda: BlockLayout.random((2, 4, 8), 1, sparsity=0.0, seed=0),
        lambda: BlockLayout(np.ones((2, 4, 8)), 1),
    ):
        with pytest.raises(ValueError, match="need 210 int32 entries"):
            make()


def test_text_and_plot():
    mask = np.zeros((4, 2, 3), bool)
    mask[:, 0, 0] = mask[:2, 1, 1] = mask[0, 1, 2] = True
    lines = str(BlockLayout(mask, 4)).splitlines()
    assert lines[0].startswith("BlockLayout(taps=4, ")
    assert lines[1].endswith("blocks: # all, 9-0 tenths, . none; 4 taps")
    assert lines[2:] == ["#..", ".52"]
    large = str(BlockLayout(np.ones((3, 100, 100)), 1)).splitlines()
    assert large[2:] == ["#" * 64] * 32
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = BlockLayout(mask, 4).plot()
    (image,) = ax.get_images()
    np.testing.assert_array_equal(image.get_array(), mask.mean(axis=0))
    assert "in 4 taps" in ax.get_title()


_TAPS = BlockLayout(np.ones((2, 2, 2)), 4)
_MATRIX = BlockLayout(np.ones((2, 2)), 4)
_RANDOM = BlockLayout.random((2, 8, 8), 4, sparsity=0.5, seed=0).get_config()

WRONG = [
    (lambda: BlockLayout(np.ones((0, 2, 2)), 4), r"got shape \(0, 2, 2\)"),
    (lambda: BlockLayout(np.ones((2, 2, 0)), 4), "at least 1 x 1"),
    (lambda: BlockLayout([[[1, 2]]], 4), "got the entry 2"),
    (lambda: BlockLayout.dense((0, 8, 8), 4), r"shape\[0\]: got int 0"),
    (lambda: BlockLayout.dense((3, 3.0, 8, 8), 4), r"shape\[1\]: got float"),
    (lambda: BlockLayout.dense((3, 8, 0), 4), r"shape\[1\]: got int 0"),
    (lambda: BlockLayout.dense((8,), 4), "kernel_size \\+ \\(inputs, outputs"),
    (lambda: BlockLayout.dense((2**12, 2**10, 2**10), 1), "larger block size"),
    (
        lambda: BlockLayout.random((3, 8, 8), 4, sparsity=0.5, groups=0),
        "groups: got int 0",
    ),
    (
        lambda: BlockLayout.random((8, 9), 4, sparsity=0.5, groups=2),
        "groups: got 2 for 9 outputs, expected groups of a multiple of the "
        "block size 4",
    ),
    (
        lambda: BlockLayout.random((12, 8), 4, sparsity=0.5, groups=2),
        "groups: got 2 for 12 inputs",
    ),
    (
        lambda: BlockLayout.random((8, 8), 4, sparsity=0.5, groups=True),
        "groups: got bool True",
    ),
    (
        lambda: BlockLayout.block_diagonal((3, 8, 8), 4, groups=3),
        "from 1 to 2",
    ),
    # values
    (lambda: _TAPS.to_dense(np.ones((8, 4, 4))), "kernel_size: got NoneType"),
    (lambda: _TAPS.to_dense(np.ones((8, 4, 4)), 3), "expected 2 taps"),
    (lambda: _TAPS.to_dense(np.ones((8, 4, 4)), ()), "at least one integer"),
    (lambda: _TAPS.to_dense(np.ones((8, 4, 4)), (2, 0)), "got int 0"),
    (lambda: _TAPS.to_dense(np.ones((8, 2, 4, 4)), 2), r"got shape \(8, 2, 4"),
    (lambda: _MATRIX.to_dense(np.ones((4, 4, 4)), 1), "expected None"),
    (lambda: _MATRIX.to_dense(np.ones((4, 2, 4, 4))), "got NoneType"),
    (lambda: _MATRIX.to_dense(np.ones((4, 0, 4, 4)), 1), r"got shape \(4, 0"),
    (lambda: _TAPS.gather(np.ones((8, 8))), "kernel_size of 2 taps"),
    (lambda: _TAPS.gather(np.ones((3, 8, 8))), r"got shape \(3, 8, 8\)"),
    (lambda: _MATRIX.gather(np.ones((3, 8, 7))), r"got shape \(3, 8, 7\)"),
    (lambda: _MATRIX.gather(np.ones((0, 8, 8))), r"got shape \(0, 8, 8\)"),
    (lambda: BlockLayout.from_dense(np.ones((0, 8, 8)), 4), r"shape\[0\]"),
    (lambda: _TAPS.to_scipy(np.ones((8, 4, 4))), "expected those of a matrix"),
    (lambda: _MATRIX.to_scipy(np.ones((4, 1, 4, 4))), "of a kernel"),
    # configs
    (lambda: BlockLayout.from_config({**_RANDOM, "taps": 0}), "got int 0"),
    (lambda: BlockLayout.from_config({**_RANDOM, "taps": None}), "each of"),
    (lambda: BlockLayout.from_config({**_RANDOM, "groups": 3}), "groups: got"),
    (
        lambda: BlockLayout.from_config({**_MATRIX.get_config(), "groups": 2}),
        "each of",
    ),
    (
        lambda: BlockLayout.from_config(
            {**BlockLayout(np.ones((9, 9, 9)), 1).get_config(), "taps": 2}
        ),
        "another number of blocks",
    ),
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_wrong_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
