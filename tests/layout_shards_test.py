# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Layouts cut into shards: they make up the whole, and are balanced."""

import itertools
import pickle

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, LayoutShard, ops
from tf_blocksparse._layout_shards import balanced

RNG = np.random.default_rng(0)


def made(taps=None, block_size=(4, 8), density=0.4):
    """A layout whose last blocks reach beyond the features."""
    mask = RNG.random((5, 6) if taps is None else (taps, 5, 6)) < density
    b_in, b_out = block_size
    return BlockLayout(mask, block_size, 5 * b_in - 1, 6 * b_out - 3)


def integers(*shape):
    # Small: every order of a sum is exact.
    return RNG.integers(-4, 5, shape).astype(np.float32)


AXES = pytest.mark.parametrize("axis", ["inputs", "outputs"])


# --- The shards make up the whole ------------------------------------------


@AXES
@pytest.mark.parametrize("parts", [1, 2, 3, 5, [8], np.array([16])])
def test_products_of_shards_make_the_product(axis, parts):
    layout = made()
    size = layout.shape[axis == "outputs"]
    if not isinstance(parts, int):
        parts = [*parts, size - sum(parts)]
    blocks = integers(*layout.blocks_shape)
    x, bias = integers(3, layout.inputs), integers(layout.outputs)
    shards = layout.split(axis, parts)
    assert all(isinstance(shard, LayoutShard) for shard in shards)
    if axis == "outputs":
        y = tf.concat(
            [
                ops.matmul(
                    x,
                    blocks[s.block_ids],
                    s.layout,
                    bias=bias[s.features],
                    activation="relu",
                )
                for s in shards
            ],
            -1,
        )
    else:
        terms = [
            ops.matmul(x[:, s.features], blocks[s.block_ids], s.layout)
            for s in shards
        ]
        y = tf.nn.relu(tf.add_n(terms) + bias)
    whole = ops.matmul(x, blocks, layout, bias=bias, activation="relu")
    np.testing.assert_array_equal(y, whole)


@AXES
@pytest.mark.parametrize("per_tap", [False, True])
def test_convolutions_of_shards_make_the_convolution(axis, per_tap):
    layout = made(taps=9 if per_tap else None)
    shape = layout.blocks_shape
    blocks = integers(*shape if per_tap else (shape[0], 9, *shape[1:]))
    x = integers(2, 6, 5, layout.inputs)
    given = {"kernel_size": 3, "strides": 2, "padding": "same"}
    parts = []
    for s in layout.split(axis, 3):
        own = x[..., s.features] if axis == "inputs" else x
        parts.append(ops.conv(own, blocks[s.block_ids], s.layout, **given))
    y = tf.add_n(parts) if axis == "inputs" else tf.concat(parts, -1)
    whole = ops.conv(x, blocks, layout, **given)
    np.testing.assert_array_equal(y, whole)


def test_gradients_of_shards_are_those_of_the_whole():
    layout = made()
    blocks = tf.constant(integers(*layout.blocks_shape))
    x = tf.constant(integers(3, layout.inputs))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, blocks])
        y = ops.matmul(x, blocks, layout)
        parts = [
            ops.matmul(x, tf.gather(blocks, s.block_ids), s.layout)
            for s in layout.split("outputs", 4)
        ]
        loss, of_parts = (tf.reduce_sum(z**2) for z in (y, tf.concat(parts, 1)))
    for source in (x, blocks):
        expected = tape.gradient(loss, source)
        got = tf.convert_to_tensor(tape.gradient(of_parts, source))
        np.testing.assert_array_equal(got, expected)


@AXES
@pytest.mark.parametrize("taps", [None, 3])
@pytest.mark.parametrize("parts", [1, 2, 5])
def test_join_is_the_way_back(axis, taps, parts):
    layout = made(taps)
    shards = layout.split(axis, parts)
    joined = BlockLayout.join(axis, [shard.layout for shard in shards])
    assert joined == layout
    assert joined.split(axis, parts) == shards
    blocks = RNG.normal(size=layout.blocks_shape)
    back = np.full_like(blocks, np.nan)
    sizes = [s.features.stop - s.features.start for s in shards]
    for shard, original in zip(joined.split(axis, sizes), shards, strict=True):
        assert shard == original
        back[shard.block_ids] = blocks[original.block_ids]
    np.testing.assert_array_equal(back, blocks)


def test_shards_are_values():
    layout = made()
    shards = layout.split("inputs", 2)
    np.testing.assert_array_equal(
        np.sort(np.concatenate([shard.block_ids for shard in shards])),
        np.arange(layout.nnz),
    )
    again = pickle.loads(pickle.dumps(shards))
    assert again == shards
    assert hash(again) == hash(shards)
    assert shards[0] != shards[1]
    assert shards[0] != made().split("inputs", 2)[0]
    with pytest.raises(AttributeError):
        shards[0].axis = "outputs"
    for shard in (shards[0], again[0]):
        with pytest.raises(ValueError, match="read-only"):
            shard.block_ids[:] = 0


# --- Balance --------------------------------------------------------------


def cuts(load, parts):
    """All ways to cut, by loops."""
    for inner in itertools.combinations(range(1, len(load)), parts - 1):
        bounds = [0, *inner, len(load)]
        yield (
            [*inner, len(load)],
            max(sum(load[a:b]) for a, b in itertools.pairwise(bounds)),
        )


@pytest.mark.parametrize("seed", range(60))
def test_the_largest_shard_is_as_small_as_can_be(seed):
    rng = np.random.default_rng(seed)
    load = rng.integers(0, [2, 5, 100][seed % 3], rng.integers(1, 9))
    for parts in range(1, load.size + 1):
        ends = balanced(load, parts)
        found = dict((tuple(e), most) for e, most in cuts(load.tolist(), parts))
        assert found[tuple(ends)] == min(found.values())


@pytest.mark.parametrize(
    ("load", "parts", "ends"),
    [
        ([1, 1, 1, 1], 2, [2, 4]),
        # The first two could have 1 and 6 as well, but share.
        ([1, 1, 1, 1, 1, 1, 1, 9], 3, [5, 7, 8]),
        ([0, 0, 0, 0], 3, [1, 2, 4]),
        ([5, 0, 0, 5], 2, [1, 4]),
        ([2, 0, 0], 3, [1, 2, 3]),
    ],
)
def test_of_equal_cuts_one_is_taken(load, parts, ends):
    assert balanced(np.array(load), parts) == ends


def test_large_layouts_take_no_time():
    load = np.random.default_rng(0).integers(0, 2000, 2**16)
    ends = balanced(load, 256)
    total = np.concatenate([[0], np.cumsum(load)])
    largest = np.diff(total[[0, *ends]]).max()
    assert largest < total[-1] / 256 + 2000


@AXES
@pytest.mark.parametrize("taps", [None, 3])
def test_layouts_without_blocks_have_shards(axis, taps):
    mask = np.zeros((2, 3) if taps is None else (taps, 2, 3), bool)
    layout = BlockLayout(mask, 4)
    shards = layout.split(axis, 2)
    assert [shard.layout.nnz for shard in shards] == [0, 0]
    assert [shard.block_ids.size for shard in shards] == [0, 0]
    layouts = [shard.layout for shard in shards]
    assert BlockLayout.join(axis, layouts) == layout


def test_taps_count():
    mask = np.zeros((4, 1, 3), bool)
    mask[:, 0, 0] = True
    mask[0, 0, 1:] = True
    shards = BlockLayout(mask, 8).split("outputs", 2)
    assert [shard.layout.nnz for shard in shards] == [4, 2]
    swapped = BlockLayout(mask.swapaxes(1, 2), 8).split("inputs", 2)
    assert [shard.layout.nnz for shard in swapped] == [4, 2]


# --- What is refused ------------------------------------------------------


@pytest.mark.parametrize(
    ("axis", "parts", "text"),
    [
        ("rows", 2, "axis: got str 'rows', expected 'inputs' or 'outputs'"),
        (1, 2, "axis: got int 1"),
        (None, 2, "axis: got NoneType"),
        ("inputs", 6, "parts: got int 6, expected an integer from 1 to 5"),
        ("outputs", 7, "from 1 to 6; outputs are 6 blocks"),
        ("inputs", 0, "parts: got int 0"),
        ("inputs", -1, "parts: got int -1"),
        ("inputs", True, "parts: got bool True"),
        ("inputs", 2.0, "parts: got float 2.0"),
        ("inputs", "2", "parts: got str '2'"),
        ("inputs", None, "parts: got NoneType"),
        ("inputs", np.array(2), "parts: got ndarray"),
        (
            "inputs",
            [],
            r"parts: got list \[\] with the sum 0, expected 19 inputs",
        ),
        ("inputs", [8, 8], r"parts: got list \[8, 8\] with the sum 16"),
        ("inputs", [9, 10], r"parts\[0\]: got 9, expected a multiple of .* 4"),
        ("inputs", [19, 0], r"parts\[1\]: got int 0"),
        ("inputs", [23, -4], r"parts\[1\]: got int -4"),
        ("inputs", [8.0, 11], r"parts\[0\]: got float 8.0"),
        ("inputs", np.ones((2, 2), int), r"parts\[0\]: got ndarray"),
    ],
)
def test_wrong_splits_are_refused(axis, parts, text):
    with pytest.raises(ValueError, match=text):
        made().split(axis, parts)


@pytest.mark.parametrize(
    ("axis", "layouts", "text"),
    [
        ("both", [BlockLayout([[1]], 4)], "axis: got str 'both'"),
        ("inputs", [], "layouts: got list"),
        ("inputs", BlockLayout([[1]], 4), "layouts: got BlockLayout"),
        ("inputs", [BlockLayout([[1]], 4), [[1]]], "layouts: got list"),
        (
            "inputs",
            [BlockLayout([[1]], 4), BlockLayout([[1]], 8)],
            r"layouts\[1\]: got block_size=\(8, 8\)",
        ),
        (
            "inputs",
            [BlockLayout([[1]], 4), BlockLayout([[1]], 4, outputs=3)],
            r"layouts\[1\]: .* 3 outputs, expected \(4, 4\), None and 4",
        ),
        (
            "outputs",
            [BlockLayout([[1]], 4), BlockLayout([[[1]]], 4)],
            r"layouts\[1\]: .* taps=1",
        ),
        (
            "outputs",
            [BlockLayout([[1]], 4, outputs=3), BlockLayout([[1]], 4)],
            r"layouts\[0\]: got 3 outputs, expected a multiple .* 4 of all but",
        ),
    ],
)
def test_wrong_joins_are_refused(axis, layouts, text):
    with pytest.raises(ValueError, match=text):
        BlockLayout.join(axis, layouts)
