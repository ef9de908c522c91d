# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`ops.conv_block_norms` beside the norms of whole kernels' gradients."""

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, ops, reference, testing

TABLE = [
    problem
    for problem in testing.conv_problems(stride=2003)
    if problem.x_dtype == problem.blocks_dtype
]


def sides(problem, x, dy):
    return (dy, x) if problem.transposed else (x, dy)


def of_every_block(problem, x, dy):
    """Norms by the reference, in float64."""
    layout = problem.layout
    every = BlockLayout.dense(
        (*problem.kernel_size, *layout.shape), layout.block_size
    )
    blocks = reference.conv_sampled(
        *(tf.cast(side, tf.float64) for side in sides(problem, x, dy)),
        every,
        problem.kernel_size,
        transpose=problem.transposed,
        **problem.geometry,
    )
    norms = tf.norm(blocks, axis=[1, 2]).numpy()
    rows, columns = layout.grid
    return norms.reshape(columns, rows, problem.taps).transpose(2, 1, 0)


def norms_of(problem, x, dy, **options):
    return ops.conv_block_norms(
        *sides(problem, x, dy),
        problem.kernel_size,
        problem.block_size,
        transpose=problem.transposed,
        **problem.geometry,
        **options,
    )


@pytest.mark.parametrize("problem", TABLE, ids=str)
def test_norms_of_the_dense_gradient(problem):
    x, _, dy = problem.normals()
    expected = of_every_block(problem, x, dy)
    norms = norms_of(problem, x, dy)
    assert norms.dtype == tf.float32
    np.testing.assert_allclose(norms, expected, 1e-4, 1e-4)
    shared = norms_of(problem, x, dy, taps=False)
    expected = np.sqrt((expected**2).sum(0))
    np.testing.assert_allclose(shared, expected, 1e-4, 1e-4)


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
@pytest.mark.parametrize("features", [(100, 230), (1500, 40)])
def test_many_tiles(features, data_format, transpose):
    """Tiles of some inputs and outputs make up the whole."""
    rng = np.random.default_rng(0)
    shapes = [
        [2, 5, 5, features[transpose]],
        [2, 5, 5, features[1 - transpose]],
    ]
    fine, coarse = (rng.normal(size=shape) for shape in shapes)
    options = {"padding": "same", "transpose": transpose}
    if data_format == "channels_first":
        options["data_format"] = data_format
        fine, coarse = (np.moveaxis(side, -1, 1) for side in (fine, coarse))
    fine, coarse = (tf.constant(side, tf.float32) for side in (fine, coarse))
    layout = BlockLayout.dense(features, 32)
    blocks = ops.conv_sampled(fine, coarse, layout, 3, **options)
    expected = tf.norm(blocks, axis=[2, 3]).numpy()
    expected = expected.reshape(*layout.grid[::-1], 9).transpose(2, 1, 0)
    norms = ops.conv_block_norms(fine, coarse, 3, 32, **options)
    np.testing.assert_allclose(norms, expected, 1e-4, 1e-4)


def test_in_a_function_of_unknown_sizes():
    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None, None, 300]),
            tf.TensorSpec([None, None, None, 260]),
        ]
    )
    def norms(fine, coarse):
        return ops.conv_block_norms(fine, coarse, 3, 16)

    shape = norms.get_concrete_function().output_shapes
    assert shape.as_list() == [9, 19, 17]
    for batch in (0, 2):
        fine, coarse = tf.ones([batch, 7, 6, 300]), tf.ones([batch, 5, 4, 260])
        expected = np.full((9, 19, 17), batch * 20 * 16.0)
        expected[:, -1] *= np.sqrt(12 / 16)
        expected[:, :, -1] *= np.sqrt(4 / 16)
        np.testing.assert_allclose(norms(fine, coarse), expected, 1e-5)


def test_is_a_constant_to_a_tape():
    x = tf.ones([1, 4, 3])
    with tf.GradientTape() as tape:
        tape.watch(x)
        norms = ops.conv_block_norms(x, x, 1, 2)
    assert tape.gradient(norms, x) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fine": tf.zeros([1, 6, 2], tf.float64)}, "fine and coarse: got f"),
        ({"fine": tf.zeros([1, 9, 2])}, "fine and coarse: got f"),
        ({"fine": tf.zeros([1, 6, 0])}, "fine: got shape"),
        ({"coarse": tf.zeros([1, 5])}, "coarse: got shape"),
        ({"kernel_size": 0}, "kernel_size: got int 0"),
        ({"block_size": 0}, "block_size: got int 0"),
        ({"taps": None}, "taps: got NoneType"),
        ({"transpose": 1}, "transpose: got int 1"),
    ],
)
def test_refuses(changes, message):
    arguments = {
        "fine": tf.zeros([1, 6, 2]),
        "coarse": tf.zeros([1, 5, 3]),
        "kernel_size": 2,
        "block_size": 2,
        **changes,
    }
    with pytest.raises(ValueError, match=message):
        ops.conv_block_norms(**arguments)
