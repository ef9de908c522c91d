# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What `BlockLayout` refuses: arguments, configs, damaged packed layouts."""

import numpy as np
import pytest

from tf_blocksparse import _packed
from tf_blocksparse.layout import BlockLayout


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
