# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Tests of `BlockLayout`."""

import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

from tf_blocksparse import _packed, layout
from tf_blocksparse.layout import BlockLayout

MASKS = {
    "one": [[1]],
    "none": [[0, 0], [0, 0], [0, 0]],
    "single": [[0, 0], [0, 1], [0, 0]],
    "full": np.ones((3, 5), int),
    "empty row": [[1, 0, 1], [0, 0, 0]],
    "empty column": [[1, 0, 1], [1, 0, 0]],
    "both empty": [[0, 0, 0], [1, 0, 1]],
    "diagonal": np.eye(6, dtype=int),
    "wide": np.arange(40).reshape(2, 20) % 3 == 0,
    "tall": np.arange(40).reshape(20, 2) % 3 == 0,
    "skewed": np.arange(20)[:, None] % np.array([1, 10, 10, 10]) == 0,
}
# (block size, features missing in the last block)
SIZES = [
    (1, (0, 0)),
    (4, (0, 0)),
    (4, (3, 1)),
    ((3, 5), (0, 4)),
    ((16, 2), (15, 0)),
]


@pytest.fixture(params=MASKS, name="mask")
def _mask(request):
    return np.asarray(MASKS[request.param], np.bool_)


@pytest.fixture(params=SIZES, ids=str, name="made")
def _made(request, mask):
    """A layout, with random blocks that are zero beyond the edge."""
    block_size, (less_in, less_out) = request.param
    b_in, b_out = np.broadcast_to(block_size, 2).tolist()
    inputs = mask.shape[0] * b_in - less_in
    outputs = mask.shape[1] * b_out - less_out
    made = BlockLayout(mask, block_size, inputs, outputs)
    weight = np.random.default_rng(0).normal(size=(inputs, outputs))
    return made, made.gather(weight)


def _dense_by_loops(made, blocks):
    """The definition of `blocks`: output-major, input ascending."""
    b_in, b_out = made.block_size
    rows, columns = made.mask.shape
    dense = np.zeros((rows * b_in, columns * b_out), blocks.dtype)
    w = 0
    for k in range(columns):
        for c in range(rows):
            if made.mask[c, k]:
                tile = np.s_[c * b_in : (c + 1) * b_in]
                dense[tile, k * b_out : (k + 1) * b_out] = blocks[w]
                w += 1
    assert w == made.nnz
    return dense[: made.inputs, : made.outputs]


def test_attributes():
    mask = [[1, 0, 1], [0, 0, 1]]
    made = BlockLayout(mask, (4, 8), inputs=7, outputs=17)
    np.testing.assert_array_equal(made.mask, np.array(mask, bool))
    assert made.mask.dtype == np.bool_
    assert made.grid == (2, 3)
    assert made.shape == (made.inputs, made.outputs) == (7, 17)
    assert made.block_size == (4, 8)
    assert made.nnz == 3
    assert made.blocks_shape == (3, 4, 8)
    assert made.density == made.sparsity == 0.5
    assert BlockLayout(mask, 4).shape == (8, 12)


def test_packed_follows_its_definition(mask):
    made = BlockLayout(mask, 2)
    rows, columns = mask.shape
    places = [(c, k) for k in range(columns) for c in range(rows) if mask[c, k]]
    by_input = sorted(range(len(places)), key=lambda w: places[w])
    expected = [
        *(sum(p[1] < k for p in places) for k in range(columns + 1)),
        *(c for c, _ in places),
        *(sum(p[0] < c for p in places) for c in range(rows + 1)),
        *(places[w][1] for w in by_input),
        *by_input,
    ]
    assert made.packed.dtype == np.int32
    assert made.packed.tolist() == expected
    assert BlockLayout.from_packed(made.packed, made.shape, 2) == made


def test_packed_of_more_rows_than_16_bits():
    mask = np.random.default_rng(0).random((70_000, 3)) < 0.1
    made = BlockLayout(mask, 1)
    parts = _packed.split(made.packed, made.grid)
    c, k = np.nonzero(mask)
    np.testing.assert_array_equal(parts.output_index, k)
    np.testing.assert_array_equal(parts.input_index[parts.block_id], c)


def test_dense_and_blocks(made):
    made, blocks = made
    dense = made.to_dense(blocks)
    assert dense.shape == made.shape
    np.testing.assert_array_equal(dense, _dense_by_loops(made, blocks))
    np.testing.assert_array_equal(made.gather(dense), blocks)
    # Entries beyond the edge are ignored, and come back as zero.
    dirty = np.where(blocks == 0, np.nan, blocks)
    np.testing.assert_array_equal(made.to_dense(dirty), dense)
    assert BlockLayout.from_dense(dense, made.block_size) == made


def test_transpose(made):
    made, blocks = made
    turned, turned_blocks = made.transpose(), made.transpose_blocks(blocks)
    assert turned.shape == made.shape[::-1]
    assert turned.block_size == made.block_size[::-1]
    assert turned_blocks.shape == turned.blocks_shape
    assert turned_blocks.flags.c_contiguous
    expected = made.to_dense(blocks).T
    np.testing.assert_array_equal(turned.to_dense(turned_blocks), expected)
    assert turned.transpose() == made
    back = turned.transpose_blocks(turned_blocks)
    np.testing.assert_array_equal(back, blocks)


def test_scipy_both_ways(made):
    pytest.importorskip("scipy")
    made, blocks = made
    blocks_before = np.where(blocks == 0, np.nan, blocks)
    bsr = made.to_scipy(blocks_before)
    assert np.isnan(blocks_before).sum() == (blocks == 0).sum()
    inputs, outputs = made.shape
    dense = bsr.toarray()
    np.testing.assert_array_equal(
        dense[:inputs, :outputs], made.to_dense(blocks)
    )
    assert not dense[inputs:].any()
    assert not dense[:, outputs:].any()
    again, again_blocks = BlockLayout.from_scipy(bsr, inputs, outputs)
    assert again == made
    np.testing.assert_array_equal(again_blocks, blocks)


def test_from_scipy_sorts_and_adds_duplicates():
    sparse = pytest.importorskip("scipy.sparse")
    data = np.arange(16, dtype=np.float32).reshape(4, 2, 2)
    # The spare last entry doesn't count, since indptr ends before it.
    bsr = sparse.bsr_array(
        (np.concatenate([data, data[:1]]), [2, 0, 2, 1, 0], [0, 3, 4]),
        shape=(4, 6),
    )
    made, blocks = BlockLayout.from_scipy(bsr)
    assert made == BlockLayout([[1, 0, 1], [0, 1, 0]], 2)
    assert blocks.dtype == np.float32
    expected = np.stack([data[1], data[3], data[0] + data[2]])
    np.testing.assert_array_equal(blocks, expected)
    matrix = sparse.bsr_matrix(np.eye(4), blocksize=(2, 2))
    assert BlockLayout.from_scipy(matrix)[0] == BlockLayout(np.eye(2), 2)


def test_16_bit_blocks():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    made = BlockLayout(np.eye(2, dtype=bfloat16), 2)
    for dtype in (bfloat16, np.float16):
        blocks = np.arange(8).reshape(2, 2, 2).astype(dtype)
        dense = made.to_dense(blocks)
        assert dense.dtype == dtype
        assert made.gather(dense).tobytes() == blocks.tobytes()
        assert made.transpose_blocks(blocks).dtype == dtype
        assert BlockLayout.from_dense(dense, 2) == made


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int32", "int64", "float16", "float32", ">f8"]
)
def test_mask_dtypes_give_the_same_layout(dtype):
    mask = np.array([[1, 0, 1], [0, 1, 1]])
    expected = BlockLayout(mask.tolist(), 8)
    for array in (mask.astype(dtype), np.asfortranarray(mask.astype(dtype))):
        made = BlockLayout(array, np.int64(8))
        assert made == expected
        assert hash(made) == hash(expected)


def test_equality_and_hash():
    made = BlockLayout([[1, 0], [1, 1]], 4)
    same = BlockLayout([[1, 0], [1, 1]], (4, 4), inputs=8, outputs=8)
    others = [
        BlockLayout([[1, 1], [1, 0]], 4),
        BlockLayout([[1, 0], [1, 1]], 8),
        BlockLayout([[1, 0], [1, 1]], (4, 2)),
        BlockLayout([[1, 0], [1, 1]], 4, inputs=7),
        BlockLayout([[1, 0], [1, 1]], 4, outputs=7),
    ]
    assert made == same
    assert len({made, same, *others}) == 6
    assert all(made != other for other in others)
    assert made != "layout"
    assert BlockLayout.dense((8, 8), 4) == BlockLayout(np.ones((2, 2)), 4)


def test_nothing_can_be_changed():
    mask = np.ones((2, 2), np.bool_)
    made = BlockLayout(mask, 4)
    mask[0, 0] = False
    assert made.nnz == made.mask.sum() == 4
    for name in ("mask", "inputs", "_packed", "other"):
        with pytest.raises(AttributeError, match=f"{name}: a layout cannot"):
            setattr(made, name, 1)
    with pytest.raises(AttributeError, match="cannot be changed"):
        del made._packed
    for array in (made.mask, made.packed):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)


def test_a_million_blocks_are_packed_checked_and_pickled():
    mask = np.arange(16_000_000).reshape(4000, 4000) * 7919 % 16_001 < 1000
    made = BlockLayout(mask, 8)
    assert made.nnz == np.count_nonzero(mask)
    assert BlockLayout.from_packed(made.packed, made.shape, 8) == made
    assert pickle.loads(pickle.dumps(made)) == made


def test_from_dense_keeps_blocks_with_any_value():
    weight = np.zeros((5, 7), np.float32)
    weight[4, 6] = 1.0
    weight[0, 3] = np.nan
    weight[2, 0] = -0.0
    made = BlockLayout.from_dense(weight, (2, 3))
    assert np.argwhere(made.mask).tolist() == [[0, 1], [2, 2]]


def test_text():
    small = BlockLayout([[1, 0], [0, 1]], 4)
    assert str(small).splitlines()[2:] == ["#.", ".#"]
    assert "\n" not in repr(small)
    mask = np.zeros((1000, 1000), np.bool_)
    mask[0, 0] = True
    mask[500:] = True
    mask[999, 999] = False
    lines = str(BlockLayout(mask, 1)).splitlines()
    assert len(lines) == 2 + 32
    assert all(len(line) <= 80 for line in lines[1:])
    assert lines[2] == "0" + "." * 63
    assert lines[18] == "#" * 64
    assert lines[-1] == "#" * 63 + "9"
    wide = str(BlockLayout(np.ones((2, 100)), 1)).splitlines()
    assert wide[2:] == ["#" * 64] * 2


def test_plot(monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    made = BlockLayout([[1, 0, 1], [0, 0, 1]], (4, 8), inputs=7, outputs=17)
    mine = Figure().add_subplot()
    assert made.plot(mine) is mine
    ax = made.plot()
    assert ax is not mine
    assert ax.get_xlim() == (0, 17)
    assert ax.get_ylim() == (7, 0)
    (image,) = ax.get_images()
    np.testing.assert_array_equal(image.get_array(), made.mask)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        made.plot()


def test_without_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(ImportError, match="pip install scipy"):
        BlockLayout([[1]], 1).to_scipy(np.ones((1, 1, 1)))


def test_imports_nothing_but_numpy():
    # A stand-in for the package, whose __init__ loads TensorFlow.
    program = """
import sys, types
for name in ("tensorflow", "keras", "scipy", "matplotlib"):
    sys.modules[name] = None
package = types.ModuleType("tf_blocksparse")
package.__path__ = [sys.argv[1]]
sys.modules["tf_blocksparse"] = package
from tf_blocksparse.layout import BlockLayout
print(BlockLayout.random((64, 64), 8, sparsity=0.5, seed=0).nnz)
"""
    folder = str(pathlib.Path(layout.__file__).parent)
    output = subprocess.run(
        [sys.executable, "-c", program, folder],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert output == "32\n"
