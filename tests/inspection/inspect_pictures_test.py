# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What `Inspection.plot`, `layout_image` and `norm_image` draw."""

import sys

import keras
import numpy as np
import pytest

from tf_blocksparse import BlockLayout, layers
from tf_blocksparse.inspection import (
    Inspection,
    layout_image,
    norm_image,
)

MASK = [[1, 0], [0, 0], [1, 1]]


def masked_layer():
    layout = BlockLayout(MASK, 8, outputs=12)
    layer = layers.BlockSparseDense(12, layout=layout, gate="mask", name="own")
    layer.build((None, 24))
    layer.gate_mask.assign([True, False, True])
    # Norms 8, 16 and, of 8 x 4 numbers, 4 * 32 ** 0.5.
    layer.blocks.assign(np.array([1, 2, 4])[:, None, None] * np.ones((3, 8, 8)))
    return layer


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


def test_a_layout_has_two_pictures(pyplot):
    figure = Inspection.of(BlockLayout(MASK, 8, outputs=12)).plot()
    drawn, counts = figure.axes
    np.testing.assert_array_equal(drawn.images[0].get_array(), MASK)
    assert drawn.get_xlim() == (0, 12)
    assert drawn.get_ylim() == (24, 0)
    values, edges, _ = counts.patches[0].get_data()
    assert values.tolist() == [2, 1]
    assert edges.tolist() == [0, 8, 12]
    assert figure.number in pyplot.get_fignums()


def test_a_layer_has_three(pyplot):
    figure = Inspection.of(masked_layer()).plot()
    drawn, norms, counts = figure.axes
    np.testing.assert_allclose(
        drawn.images[0].get_array(), [[1, 0], [0, 0], [0.25, 1]]
    )
    assert drawn.get_title() == "own\n50.0% of 8 x 8, 1 closed"
    assert norms.get_title() == "2 open blocks"
    assert sum(bar.get_height() for bar in norms.patches) == 2
    assert counts.patches[0].get_data()[0].tolist() == [1, 1]
    assert counts.get_title() == "1 of each output"


def test_norms_that_are_no_numbers_are_told(pyplot):
    layer = masked_layer()
    layer.blocks.assign(np.full((3, 8, 8), np.nan))
    norms = Inspection.of(layer).plot().axes[1]
    assert norms.get_title() == "2 open blocks, 2 not finite"


@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_files(tmp_path, kind, pyplot):
    path = tmp_path / "picture.png"
    model = keras.Sequential([keras.Input((24,)), masked_layer()])
    Inspection.of(model).plot(kind(path))
    assert path.read_bytes().startswith(b"\x89PNG")
    # Nothing is left open that a program would have to close.
    assert pyplot.get_fignums() == []


def test_axes_that_are_given(pyplot):
    figure, axes = pyplot.subplots(1, 2)
    layout = BlockLayout(MASK, 8)
    assert Inspection.of(layout).plot(axes) is figure
    assert axes[0].get_title() == "layout\n50.0% of 8 x 8"
    with pytest.raises(ValueError, match=r"expected a path or 1 x 2 axes"):
        Inspection.of(layout).plot(axes[0])


def test_nothing_to_draw():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    with pytest.raises(ValueError, match="without a block-sparse layer"):
        Inspection.of(model).plot()


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        Inspection.of(BlockLayout(MASK, 8)).plot()


def test_layout_image():
    (seen,) = Inspection.of(masked_layer()).layers
    image = layout_image(seen, pixels=7)
    assert image.dtype == np.uint8
    assert image.shape == (6, 4)
    assert image[::2, ::2].tolist() == [[0, 255], [255, 255], [191, 0]]
    np.testing.assert_array_equal(image[::2], image[1::2])
    np.testing.assert_array_equal(image[:, ::2], image[:, 1::2])


def test_norm_image():
    (seen,) = Inspection.of(masked_layer()).layers
    image = norm_image(seen, pixels=3)
    # 8 beside 4 * 32 ** 0.5; the closed block is as none.
    expected = round(255 * (1 - 8 / (4 * 32**0.5)))
    assert image.tolist() == [[expected, 255], [255, 255], [255, 0]]


def test_a_large_image_is_averaged():
    (seen,) = Inspection.of(BlockLayout(np.eye(300, 200), 1)).layers
    image = layout_image(seen, pixels=30)
    assert image.shape == (30, 20)
    # Ten blocks of a hundred.
    assert image[4, 4] == round(255 * 0.9)
    assert image[4, 5] == 255
    assert image[25].tolist() == [255] * 20


def test_taps_are_averaged():
    mask = np.zeros((4, 1, 2))
    mask[2, 0, 0] = mask[:, 0, 1] = 1
    (seen,) = Inspection.of(BlockLayout(mask, 4)).layers
    assert layout_image(seen, pixels=2).tolist() == [[191, 0]]


def test_images_of_zeros_and_of_no_numbers():
    layer = masked_layer()
    layer.blocks.assign(np.zeros((3, 8, 8)))
    (seen,) = Inspection.of(layer).layers
    assert np.all(norm_image(seen) == 255)
    layer.blocks.assign(np.full((3, 8, 8), np.nan))
    (seen,) = Inspection.of(layer).layers
    # A gate of 0 does not make a number of NaN: the kernels skip the block.
    assert norm_image(seen, pixels=3).tolist() == [
        [0, 255],
        [255, 255],
        [255, 0],
    ]


def test_a_layout_has_no_norms():
    (seen,) = Inspection.of(BlockLayout(MASK, 8)).layers
    with pytest.raises(ValueError, match="without norms"):
        norm_image(seen)
