# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`initializers`: values by their definition, in layers, saved, refused."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, initializers, layers, patterns, testing

SIZES = [1, 4, (3, 5), (8, 3), (16, 16)]


def with_taps(layout, taps=6):
    mask = np.random.default_rng(0).random((taps, *layout.grid)) < 0.6
    return BlockLayout(mask, layout.block_size, *layout.shape)


def whole(layout, blocks, kernel_size=None):
    return layout.to_dense(np.asarray(blocks, np.float64), kernel_size)


# --- BlockIdentity --------------------------------------------------------


def identity(inputs, outputs):
    i, j = np.ogrid[:inputs, :outputs]
    return (i % outputs == j % inputs).astype(float)


@pytest.mark.parametrize("block_size", SIZES)
@pytest.mark.parametrize("kind", testing.LAYOUT_KINDS)
def test_identity(kind, block_size):
    layout = testing.make_layout(kind, block_size)
    initializer = initializers.BlockIdentity(0.5)
    blocks = initializer.initialize_blocks(layout)
    assert blocks.dtype == "float32"
    assert tuple(blocks.shape) == layout.blocks_shape
    expected = layout.gather(0.5 * identity(*layout.shape))
    np.testing.assert_array_equal(blocks, expected)


def test_identity_by_blocks_is_openai_s_rule():
    for grid in [(6, 6), (3, 6), (6, 3), (4, 6)]:
        layout = BlockLayout(np.ones(grid), 4)
        blocks = initializers.BlockIdentity(3.0).initialize_blocks(layout)
        tiles = layout.to_dense(blocks).reshape(grid[0], 4, grid[1], 4)
        for c, k in np.ndindex(grid):
            same = c % grid[1] == k % grid[0]
            np.testing.assert_array_equal(tiles[c, :, k], 3 * same * np.eye(4))


@pytest.mark.parametrize(
    ("kernel_size", "centre"),
    [((3,), 1), ((4,), 1), ((3, 5), 7), ((2, 4), 1), ((3, 3, 3), 13), (1, 0)],
)
def test_identity_of_kernels_is_the_central_tap(kernel_size, centre):
    matrix = testing.make_layout("random", (3, 5))
    taps = int(np.prod(kernel_size))
    per_tap = with_taps(matrix, taps)
    for layout in (matrix, per_tap):
        blocks = initializers.BlockIdentity().initialize_blocks(
            layout, kernel_size
        )
        expected = np.zeros([taps, *layout.shape])
        expected[centre] = identity(*layout.shape)
        spatial = np.atleast_1d(kernel_size).tolist()
        expected = expected.reshape([*spatial, *layout.shape])
        np.testing.assert_array_equal(blocks, layout.gather(expected))


@pytest.mark.parametrize("transposed", ["", "Transpose"])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_convolutions_copy_at_first(size, transposed):
    kind = getattr(layers, f"BlockSparseConv2D{transposed}")
    layer = kind(
        24,
        size,
        padding="same",
        kernel_initializer=initializers.BlockIdentity(),
        layout=BlockLayout.from_pattern("butterfly", (24, 24), 8),
    )
    x = np.random.default_rng(0).normal(size=(2, 5, 6, 24)).astype("float32")
    np.testing.assert_array_equal(layer(x), x)


# --- BlockOrthogonal ------------------------------------------------------


def check_orthonormal(layout, blocks, gain, tolerance, kernel_size=None):
    """Every stack of blocks has orthonormal columns, or else rows."""
    taps = 1 if kernel_size is None else int(np.prod(kernel_size))
    dense = whole(layout, blocks, kernel_size)
    dense = dense.reshape(taps, layout.inputs, layout.outputs)
    mask = np.broadcast_to(layout.mask, (taps, *layout.grid))
    sees = np.repeat(mask, layout.block_size[0], axis=1)[:, : layout.inputs]
    for k in range(layout.grid[1]):
        columns = slice(
            k * layout.block_size[1], (k + 1) * layout.block_size[1]
        )
        stack = dense[..., columns][sees[..., k]]
        if len(stack) >= stack.shape[1]:
            product = stack.T @ stack
        else:
            product = stack @ stack.T
        expected = gain**2 * np.eye(len(product))
        np.testing.assert_allclose(product, expected, atol=tolerance)


@pytest.mark.parametrize("block_size", SIZES)
@pytest.mark.parametrize("kind", testing.LAYOUT_KINDS)
def test_orthogonal(kind, block_size):
    layout = testing.make_layout(kind, block_size)
    initializer = initializers.BlockOrthogonal(gain=2.0, seed=1)
    blocks = initializer.initialize_blocks(layout, dtype="float64")
    assert blocks.dtype == "float64"
    assert tuple(blocks.shape) == layout.blocks_shape
    check_orthonormal(layout, blocks, 2.0, 1e-12)
    # Zero beyond the edge.
    np.testing.assert_array_equal(blocks, layout.gather(whole(layout, blocks)))


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [("float32", 1e-5), ("float16", 4e-3), ("bfloat16", 3e-2)],
)
def test_orthogonal_dtypes(dtype, tolerance):
    layout = BlockLayout.random((60, 50), 8, sparsity=0.5, seed=0)
    blocks = initializers.BlockOrthogonal(seed=1).initialize_blocks(
        layout, dtype=dtype
    )
    assert blocks.dtype == dtype
    blocks = tf.cast(blocks, tf.float64)
    check_orthonormal(layout, blocks, 1.0, tolerance)


@pytest.mark.parametrize("block_size", [(3, 5), (2, 16)])
def test_orthogonal_kernels(block_size):
    matrix = testing.make_layout("random", block_size)
    for layout in (matrix, with_taps(matrix)):
        blocks = initializers.BlockOrthogonal(seed=1).initialize_blocks(
            layout, (2, 3), "float64"
        )
        assert tuple(blocks.shape) == (
            layout.nnz,
            *([6] if layout.taps is None else []),
            *block_size,
        )
        check_orthonormal(layout, blocks, 1.0, 1e-12, (2, 3))
        again = layout.gather(whole(layout, blocks, (2, 3)))
        np.testing.assert_array_equal(blocks, again)


def test_orthogonal_stacks_differ_and_are_uniform():
    layout = BlockLayout(np.ones((1, 500)), (2, 2))
    blocks = np.asarray(
        initializers.BlockOrthogonal(seed=3).initialize_blocks(layout)
    )
    angle = np.arctan2(blocks[:, 1, 0], blocks[:, 0, 0])
    # A quarter of the circle each, and half of them mirrored.
    quarters = np.histogram(angle, 4, (-np.pi, np.pi))[0]
    assert (abs(quarters - 125) < 4 * np.sqrt(125)).all()
    mirrored = np.count_nonzero(np.linalg.det(blocks) < 0)
    assert abs(mirrored - 250) < 4 * np.sqrt(125)


def test_seeds():
    layout = BlockLayout.banded((32, 32), 4, bandwidth=1)

    def draw(initializer):
        return initializer.initialize_blocks(layout).numpy()

    fixed = initializers.BlockOrthogonal(seed=5)
    np.testing.assert_array_equal(draw(fixed), draw(fixed))
    other = draw(initializers.BlockOrthogonal(seed=6))
    assert not np.array_equal(draw(fixed), other)
    keras.utils.set_random_seed(1)
    one, two = (draw(initializers.BlockOrthogonal()) for _ in range(2))
    assert not np.array_equal(one, two)
    keras.utils.set_random_seed(1)
    np.testing.assert_array_equal(draw(initializers.BlockOrthogonal()), one)
    generator = keras.random.SeedGenerator(3)
    changing = initializers.BlockOrthogonal(seed=generator)
    assert not np.array_equal(draw(changing), draw(changing))


# --- In layers ------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16", "float64"])
@pytest.mark.parametrize("name", ["BlockIdentity", "BlockOrthogonal"])
def test_layers_use_them(name, dtype):
    initializer = getattr(initializers, name)()
    arguments = {"kernel_initializer": initializer, "dtype": dtype}
    arguments |= {"block_size": (8, 4), "sparsity": 0.5}
    cases = [(layers.BlockSparseDense(30, **arguments), (20,), None)]
    einsum = layers.BlockSparseEinsumDense(
        "abc,cd->abd", (None, 30), **arguments
    )
    cases.append((einsum, (5, 20), None))
    for rank in (1, 2, 3):
        for transposed in ("", "Transpose"):
            kind = getattr(layers, f"BlockSparseConv{rank}D{transposed}")
            made = kind(30, 3, **arguments)
            cases.append((made, (5,) * rank + (20,), (3,) * rank))
    for layer, shape, kernel_size in cases:
        layer.build((None, *shape))
        blocks = layer.blocks.numpy()
        if name == "BlockIdentity":
            expected = initializer.initialize_blocks(layer.layout, kernel_size)
            np.testing.assert_array_equal(blocks, expected)
        else:
            check_orthonormal(layer.layout, blocks, 1.0, 1e-5, kernel_size)


def test_configs_and_files(tmp_path):
    for initializer in (
        initializers.BlockIdentity(0.25),
        initializers.BlockOrthogonal(gain=2.0, seed=7),
        initializers.BlockOrthogonal(seed=keras.random.SeedGenerator(3)),
    ):
        config = keras.initializers.serialize(initializer)
        assert config["registered_name"].startswith("tf_blocksparse>Block")
        again = keras.initializers.deserialize(config)
        assert type(again) is type(initializer)
        assert again.get_config() == initializer.get_config()
        layer = layers.BlockSparseDense(
            16,
            kernel_initializer=initializer,
            block_size=4,
            sparsity=0.5,
            seed=1,
        )
        model = keras.Sequential([keras.Input((16,)), layer])
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        x = np.ones((2, 16), np.float32)
        np.testing.assert_array_equal(loaded(x), model(x))
        copy = loaded.layers[0].kernel_initializer
        assert copy.get_config() == initializer.get_config()
        assert initializer.clone().get_config() == initializer.get_config()


def test_in_a_graph():
    layout = BlockLayout.banded((12, 12), 4, bandwidth=1)
    for initializer in (
        initializers.BlockIdentity(),
        initializers.BlockOrthogonal(seed=1),
    ):
        made = tf.function(
            lambda made=initializer: made.initialize_blocks(layout)
        )
        np.testing.assert_allclose(
            made(), initializer.initialize_blocks(layout), atol=1e-6
        )


def test_one_s_own_initializer_with_the_layout():
    class ByInput(keras.initializers.Initializer):
        def initialize_blocks(self, layout, kernel_size, dtype):
            assert kernel_size is None
            i = np.arange(layout.inputs)[:, None] + np.zeros(layout.shape)
            return keras.ops.convert_to_tensor(layout.gather(i), dtype)

    layer = layers.BlockSparseDense(
        8, kernel_initializer=ByInput(), block_size=4, sparsity=0.0
    )
    layer.build((None, 7))
    dense = layer.layout.to_dense(layer.blocks.numpy())
    np.testing.assert_array_equal(dense, np.arange(7)[:, None] + np.zeros(8))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: initializers.BlockIdentity("1"), "scale: got str '1'"),
        (lambda: initializers.BlockIdentity(True), "scale: got bool True"),
        (lambda: initializers.BlockOrthogonal(np.nan), "gain: got float nan"),
        (lambda: initializers.BlockOrthogonal(None), "gain: got None"),
        (
            lambda: keras.layers.Dense(
                4, kernel_initializer=initializers.BlockIdentity()
            ).build((None, 4)),
            r"BlockIdentity: got the shape \(4, 4\) alone, expected a layout",
        ),
        (
            lambda: initializers.BlockOrthogonal()((4, 4)),
            r"BlockOrthogonal: got the shape .* keras.initializers.Orthogonal",
        ),
        (
            lambda: initializers.BlockIdentity().initialize_blocks(np.eye(2)),
            "layout: got ndarray",
        ),
        (
            lambda: initializers.BlockOrthogonal().initialize_blocks(
                BlockLayout(np.ones((6, 2, 2)), 4), (2, 2)
            ),
            "kernel_size: got .* expected 6 taps",
        ),
        (
            lambda: initializers.BlockIdentity().initialize_blocks(
                BlockLayout(patterns.banded((2, 2), 1), 4), (0, 2)
            ),
            "kernel_size: got int 0",
        ),
    ],
)
def test_wrong_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
