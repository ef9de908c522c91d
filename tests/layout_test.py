# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Tests of `BlockLayout`."""

import copy
import hashlib
import json
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


def _makers():
    return {
        "random": BlockLayout.random((30, 50), (4, 8), sparsity=0.7, seed=5),
        "fresh": BlockLayout.random((64, 64), 4, sparsity=0.5),
        "dense": BlockLayout.dense((30, 50), 8),
        "block_diagonal": BlockLayout.block_diagonal((30, 50), 4),
        "groups": BlockLayout.block_diagonal((30, 50), 4, groups=2),
        "banded": BlockLayout.banded((30, 50), 4, bandwidth=np.int64(1)),
        "mask": BlockLayout([[1, 0, 1]], (4, 8), outputs=18),
        "none": BlockLayout(np.zeros((3, 3)), 256),
        "large": BlockLayout(np.arange(90_000).reshape(300, 300) % 7 < 2, 1),
    }


@pytest.mark.parametrize("name", _makers())
def test_config_pickle_and_copies(name):
    made = _makers()[name]
    text = json.dumps(made.get_config())
    again = BlockLayout.from_config(json.loads(text))
    assert again == made
    assert again.get_config() == made.get_config()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        loaded = pickle.loads(pickle.dumps(made, protocol))
        assert loaded == made
        assert loaded.get_config() == made.get_config()
        assert not loaded.packed.flags.writeable
    assert copy.copy(made) is made
    assert copy.deepcopy([made])[0] is made


def test_configs_are_small_and_hold_what_was_asked():
    config = BlockLayout.random(
        (4096, 4096), 16, sparsity=0.9, seed=3
    ).get_config()
    assert config == {
        "inputs": 4096,
        "outputs": 4096,
        "block_size": [16, 16],
        "maker": "random",
        "sparsity": 0.9,
        "seed": 3,
    }
    explicit = BlockLayout(np.eye(300), 1).get_config()
    assert set(explicit) == {
        "inputs",
        "outputs",
        "block_size",
        "maker",
        "mask",
    }
    assert len(explicit["mask"]) < 300 * 300 / 8


def test_no_seed_draws_a_new_one():
    first, second = (
        BlockLayout.random((64, 64), 2, sparsity=0.5) for _ in range(2)
    )
    assert first != second
    assert first.get_config()["seed"] != second.get_config()["seed"]


# What a seed means, for ever: stored configs name only the seed.
@pytest.mark.parametrize(
    ("shape", "block_size", "sparsity", "seed", "digest"),
    [
        ((64, 64), 8, 0.5, 0, "447de22b9a47298e"),
        ((512, 1024), 32, 0.9, 0, "408818af0f9ec545"),
        ((512, 1024), 32, 0.9, 1, "87a9a133a5128dc5"),
        ((1000, 333), (16, 4), 0.2, 42, "9f5107bf07ffaa3a"),
        ((4096, 4096), 16, 0.9, 7, "bda1d8efcd511044"),
        ((100, 100), 1, 0.98, 2**40, "c28ca627ae7958d7"),
    ],
)
def test_random_golden(shape, block_size, sparsity, seed, digest):
    made = BlockLayout.random(shape, block_size, sparsity=sparsity, seed=seed)
    data = made.packed.astype("<i4").tobytes()
    assert hashlib.sha256(data).hexdigest()[:16] == digest


def test_makers_draw_what_they_say():
    made = BlockLayout.random((100, 70), (8, 16), sparsity=0.5, seed=0)
    assert made.shape == (100, 70)
    assert made.grid == (13, 5)
    assert made.nnz == 32
    assert set(made.mask.sum(axis=0)) == {6, 7}
    assert set(made.mask.sum(axis=1)) == {2, 3}
    assert BlockLayout.random((8, 8), 4, sparsity=1, seed=0).nnz == 0
    assert BlockLayout.random((8, 8), 4, sparsity=0.99, seed=0).nnz == 1
    assert BlockLayout.dense((9, 5), 4).mask.all()
    assert BlockLayout.block_diagonal((32, 32), 8).mask.tolist() == (
        np.eye(4).astype(bool).tolist()
    )
    assert BlockLayout.banded((32, 32), 8, bandwidth=3).density == 1.0


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


def _bsr(**changes):
    sparse = pytest.importorskip("scipy.sparse")
    bsr = sparse.bsr_array(np.ones((4, 4)), blocksize=(2, 2))
    for name, value in changes.items():
        setattr(bsr, name, value)
    return bsr


_ONE = BlockLayout([[1, 0]], (2, 3), outputs=5)
_RANDOM = BlockLayout.random((8, 8), 4, sparsity=0.5, seed=0).get_config()
_MASK = _ONE.get_config()

WRONG = [
    # the mask
    (lambda: BlockLayout([1, 0], 4), r"got shape \(2,\)"),
    (lambda: BlockLayout(np.ones((1, 2, 2, 2)), 4), r"got shape \(1, 2, 2"),
    (lambda: BlockLayout(1, 4), r"got shape \(\)"),
    (lambda: BlockLayout(np.ones((0, 3)), 4), "at least 1 x 1"),
    (lambda: BlockLayout([[1, 0], [1]], 4), "mask: got list that is no array"),
    (lambda: BlockLayout([[1, 2]], 4), "got the entry 2, expected only 0"),
    (lambda: BlockLayout([[1, -1]], 4), "got the entry -1"),
    (lambda: BlockLayout([[1, 0.5]], 4), r"got the entry 0\.5"),
    (lambda: BlockLayout([[1, np.nan]], 4), "got the entry nan"),
    (lambda: BlockLayout([["1", "0"]], 4), "list of dtype <U1"),
    (lambda: BlockLayout([[None, 1]], 4), "list of dtype object"),
    (lambda: BlockLayout(np.ones((2, 2), object), 4), "dtype object"),
    (lambda: BlockLayout(np.ones((2, 2), complex), 4), "dtype complex128"),
    (lambda: BlockLayout(np.ones((2, 2), "V4"), 4), r"dtype \|V4"),
    (lambda: BlockLayout(None, 4), "mask: got NoneType"),
    (lambda: BlockLayout(_bsr(), 4), "mask: got bsr_array of dtype object"),
    # block sizes
    (lambda: BlockLayout([[1]], 0), "block_size: got int 0"),
    (lambda: BlockLayout([[1]], 257), "from 1 to 256; give one size"),
    (lambda: BlockLayout([[1]], True), "block_size: got bool True"),
    (lambda: BlockLayout([[1]], 8.0), "block_size: got float 8.0"),
    (lambda: BlockLayout([[1]], "8"), "block_size: got str '8'"),
    (lambda: BlockLayout([[1]], None), "block_size: got None"),
    (lambda: BlockLayout([[1]], (8,)), "expected two integers"),
    (lambda: BlockLayout([[1]], (8, 8, 8)), "expected two integers"),
    (lambda: BlockLayout([[1]], (8, 0)), r"block_size\[1\]: got int 0"),
    (lambda: BlockLayout([[1]], (8, 300)), r"block_size\[1\]: got int 300"),
    (lambda: BlockLayout([[1]], (8, np.True_)), r"block_size\[1\]: got bool"),
    # features
    (lambda: BlockLayout([[1], [1]], 4, inputs=4), "from 5 to 8; the mask"),
    (lambda: BlockLayout([[1], [1]], 4, inputs=9), "inputs: got int 9"),
    (lambda: BlockLayout([[1, 1]], 4, outputs=4), "outputs: got int 4"),
    (lambda: BlockLayout([[1]], 4, inputs=-1), "inputs: got int -1"),
    (lambda: BlockLayout([[1]], 4, inputs=4.0), "inputs: got float"),
    (lambda: BlockLayout([[1]], 4, outputs=True), "outputs: got bool"),
    (lambda: BlockLayout.dense((8, 0), 4), r"shape\[1\]: got int 0"),
    (lambda: BlockLayout.dense((8, -8), 4), r"shape\[1\]: got int -8"),
    (lambda: BlockLayout.dense(8, 4), "expected two integers; give the feat"),
    (lambda: BlockLayout.dense((8, None), 4), r"shape\[1\]: got NoneType"),
    (lambda: BlockLayout.dense((2**20, 2**20), 1), "larger block size"),
    (lambda: BlockLayout.dense((2**15, 2**15), 1), "2147483647; choose a la"),
    # makers
    (
        lambda: BlockLayout.random((8, 8), 4, sparsity=1.5, seed=0),
        "sparsity: got float 1.5",
    ),
    (
        lambda: BlockLayout.random((8, 8), 4, sparsity=np.nan, seed=0),
        "sparsity: got float nan",
    ),
    (
        lambda: BlockLayout.random((8, 8), 4, sparsity=0.5, seed=-1),
        "seed: got int -1",
    ),
    (
        lambda: BlockLayout.random((8, 8), 4, sparsity=0.5, seed=True),
        "seed: got bool True",
    ),
    (
        lambda: BlockLayout.block_diagonal((8, 8), 4, groups=3),
        "groups: got int 3, expected an integer from 1 to 2",
    ),
    (
        lambda: BlockLayout.banded((8, 8), 4, bandwidth=-1),
        "bandwidth: got int -1",
    ),
    (lambda: BlockLayout.from_dense(np.ones(4), 2), r"got shape \(4,\)"),
    (lambda: BlockLayout.from_dense(np.ones((4, 0)), 2), r"shape\[1\]"),
    (lambda: BlockLayout.from_dense([[1], [1, 2]], 2), "weight: got list"),
    (lambda: BlockLayout.from_dense([["a"]], 2), "dtype <U1"),
    # SciPy
    (lambda: BlockLayout.from_scipy(np.ones((4, 4))), "expected a SciPy BSR"),
    (lambda: BlockLayout.from_scipy(_bsr().tocsr()), "convert it by .tobsr"),
    (lambda: BlockLayout.from_scipy(_bsr(), inputs=2), "inputs: got int 2"),
    (
        lambda: BlockLayout.from_scipy(_bsr().astype(complex)),
        "dtype complex128",
    ),
    (
        lambda: BlockLayout.from_scipy(_bsr(indices=np.array([0, 1, 0, 2]))),
        "column index",
    ),
    # values
    (lambda: _ONE.to_dense(np.ones((2, 2, 3))), r"expected \(nnz, b_in, b_ou"),
    (lambda: _ONE.to_dense(np.ones((1, 3, 2))), r"got shape \(1, 3, 2\)"),
    (lambda: _ONE.to_dense([[[1, 2, 3], [1]]]), "blocks: got list"),
    (lambda: _ONE.transpose_blocks(np.ones((2, 3))), "take the blocks of"),
    (lambda: _ONE.to_scipy(np.ones(6)), r"got shape \(6,\)"),
    (lambda: _ONE.gather(np.ones((2, 6))), r"got shape \(2, 6\)"),
    (lambda: _ONE.gather(np.ones((5, 2))), "transpose or reshape it"),
    (lambda: _ONE.gather(np.ones((2, 5), object)), "dtype object"),
    # configs
    (lambda: BlockLayout.from_config(None), "config: got None"),
    (lambda: BlockLayout.from_config({}), "'maker' one of"),
    (lambda: BlockLayout.from_config({"maker": []}), "'maker' one of"),
    (lambda: BlockLayout.from_config({"maker": "from_scipy"}), "'maker' one"),
    (lambda: BlockLayout.from_config({"maker": "dense"}), "a value for each"),
    (lambda: BlockLayout.from_config({**_RANDOM, "seed": None}), "each of"),
    (lambda: BlockLayout.from_config({**_RANDOM, "new": 1}), "each of"),
    (lambda: BlockLayout.from_config({**_RANDOM, "inputs": -8}), "got int -8"),
    (lambda: BlockLayout.from_config({**_RANDOM, "seed": "1"}), "seed: got"),
    (lambda: BlockLayout.from_config({**_MASK, "mask": 1}), "got int 1"),
    (lambda: BlockLayout.from_config({**_MASK, "mask": "%"}), "other text"),
    (lambda: BlockLayout.from_config({**_MASK, "mask": "AAAA"}), "other text"),
    (
        lambda: BlockLayout.from_config(
            {**_MASK, "mask": _MASK["mask"][: -len(_MASK["mask"]) // 2]}
        ),
        r"config\['mask'\]",
    ),
    (
        lambda: BlockLayout.from_config({**_MASK, "inputs": 2000}),
        "another number of blocks",
    ),
    (
        lambda: BlockLayout.from_config(
            {**BlockLayout(np.ones((99, 99)), 1).get_config(), "inputs": 9}
        ),
        "another number of blocks",
    ),
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_wrong_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# Index of the entry, its wrong value and the complaint, for the layout
# [[1, 0], [1, 1]]: 0 2 3 | 0 1 1 | 0 1 3 | 0 0 1 | 0 1 2.
@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (0, 1, "output_splits from 1 to 3"),
        (1, 4, "expected them to ascend"),
        (1, -1, "expected them to ascend"),
        (1, 1, "for 2 different blocks"),
        (2, 2, "output_splits from 0 to 2"),
        (3, -1, r"input_index\[0\] = -1, expected 0 to 1"),
        (3, 2, r"input_index\[0\] = 2, expected 0 to 1"),
        (3, 1, "3 entries of input_index for 2 different"),
        (6, 1, r"input_splits\[0\] = 1, expected 0"),
        (7, 2, r"input_splits\[1\] = 2, expected 1"),
        (9, 1, r"output_index\[0\] = 1, expected 0"),
        (12, 1, r"block_id\[0\] = 1, expected 0"),
        (14, 2**31 - 1, r"block_id\[2\] = 2147483647, expected 2"),
    ],
)
def test_from_packed_refuses_a_wrong_entry(at, value, message):
    packed = BlockLayout([[1, 0], [1, 1]], 4).packed.copy()
    packed[at] = value
    with pytest.raises(ValueError, match=message):
        BlockLayout.from_packed(packed, (8, 8), 4)


def test_from_packed_refuses_what_is_no_layout():
    packed = BlockLayout([[1, 0], [1, 1]], 4).packed
    unsorted = packed.copy()
    unsorted[[3, 4]] = unsorted[[4, 3]]
    for wrong, message in [
        (packed[:-1], r"got 14 entries, expected 6 \+ 3 \* nnz"),
        (packed[:5], "got 5 entries"),
        (packed[None], r"got shape \(1, 15\)"),
        (packed.astype(float), "of float64, expected a vector of int32"),
        (packed.astype(bool), "of bool"),
        ([[1], [1, 2]], "packed: got list"),
        (unsorted, r"input_index\[0\] = 1, expected 0: blocks ascend"),
    ]:
        with pytest.raises(ValueError, match=message):
            BlockLayout.from_packed(wrong, (8, 8), 4)
    with pytest.raises(ValueError, match="got 15 entries, expected 7"):
        BlockLayout.from_packed(packed, (12, 8), 4)
    as_int64 = packed.astype(np.int64)
    assert BlockLayout.from_packed(as_int64, (8, 8), 4).nnz == 3


def test_from_packed_survives_random_damage():
    rng = np.random.default_rng(0)
    made = BlockLayout.random((40, 56), 8, sparsity=0.6, seed=0)
    for _ in range(300):
        packed = made.packed.copy()
        at = rng.integers(packed.size, size=2)
        packed[at] = rng.choice([-(2**31), -1, 0, 1, 3, 9, 2**31 - 1], size=2)
        if np.array_equal(packed, made.packed):
            continue
        with pytest.raises(ValueError, match=r"^packed: got .*; pass"):
            BlockLayout.from_packed(packed, made.shape, 8)


def test_the_vector_stays_below_the_limit_of_int32(monkeypatch):
    # 4 + 8 + 2 + 3 * 32 entries.
    monkeypatch.setattr(_packed, "MAX_INT32", 110)
    assert BlockLayout.dense((4, 8), 1).packed.size == 110
    monkeypatch.setattr(_packed, "MAX_INT32", 109)
    for make in (
        lambda: BlockLayout.dense((4, 8), 1),
        lambda: BlockLayout.random((4, 8), 1, sparsity=0.0, seed=0),
        lambda: BlockLayout(np.ones((4, 8)), 1),
    ):
        with pytest.raises(ValueError, match="need 110 int32 entries"):
            make()
