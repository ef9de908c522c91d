# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The convolutions that openai/blocksparse was tested with.

Its blocks are pairs of lists of channels, which may overlap; a layout here has
each small block that one of them meets. The oracle convolves block by block.
"""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse import BlockLayout, ops

# Channels of each block: (inputs, outputs), and the size of blocks here.
DIAGONAL = [(np.arange(32) + 32 * i, np.arange(48) + 48 * i) for i in range(4)]
OVERLAP = [(np.arange(16) + 8 * i, np.arange(32) + 16 * i) for i in range(8)]
SIZES = {"diagonal": (DIAGONAL, (32, 48)), "overlap": (OVERLAP, (8, 16))}

# Of openai/blocksparse's blocksparse_conv_test.py: channels, kernel, x, stride,
# dilation, padding, y. Its "SAME" is half of the dilated kernel on both sides.
SAME = "same_symmetric"
CASES = [
    ("diagonal", (1,), (32,), 1, 1, "valid", (32,)),
    ("diagonal", (3,), (32,), 2, 1, SAME, (16,)),
    ("diagonal", (5,), (32,), 2, 1, SAME, (16,)),
    ("overlap", (3,), (32,), 1, 2, SAME, (32,)),
    ("diagonal", (3,), (32,), 2, 1, SAME, (16,)),
    ("diagonal", (3, 3), (8, 8), 1, 1, SAME, (8, 8)),
    ("overlap", (3, 3), (8, 8), 1, 1, "valid", (6, 6)),
    ("diagonal", (3, 3, 3), (4, 4, 4), 1, 1, SAME, (4, 4, 4)),
]
# The ninth is a deconvolution of x to y.
TRANSPOSED = ("diagonal", (3,), (16,), 2, 1, SAME, (32,))


def pairs(fine, coarse, kernel, stride, dilation, padding):
    """(tap, fine pixels, coarse pixels) that meet, as slices."""
    for tap in itertools.product(*map(range, kernel)):
        fine_part, coarse_part = [], []
        for axis, offset in enumerate(tap):
            before = 0
            if padding == SAME:
                before = ((kernel[axis] - 1) * dilation + 1) // 2
            first = offset * dilation - before
            inside = [
                o
                for o in range(coarse[axis])
                if 0 <= o * stride + first < fine[axis]
            ]
            fine_part.append([o * stride + first for o in inside])
            coarse_part.append(inside)
        number = np.ravel_multi_index(tap, kernel)
        yield number, np.ix_(*fine_part), np.ix_(*coarse_part)


def at(values, channels, count):
    """`values` at some of `count` channels, 0 at the others."""
    result = np.zeros([*values.shape[:-1], count])
    result[..., channels] = values
    return result


def oracle(x, dy, kernels, case, transposed):
    """y, dx, and for each block dW, by NumPy in float64."""
    kind, kernel, sizes, stride, dilation, padding, out = case
    y, dx = np.zeros(dy.shape), np.zeros(x.shape)
    fine, coarse = (out, sizes) if transposed else (sizes, out)
    dkernels = [np.zeros(w.shape) for w in kernels]
    for tap, *parts in pairs(fine, coarse, kernel, stride, dilation, padding):
        at_x, at_y = parts[::-1] if transposed else parts
        at_x, at_y = (slice(None), *at_x), (slice(None), *at_y)
        for w, dw, (inputs, outputs) in zip(
            kernels, dkernels, SIZES[kind][0], strict=True
        ):
            x_part, dy_part = x[at_x][..., inputs], dy[at_y][..., outputs]
            rows = list(range(x_part.ndim - 1))
            dw[tap] += np.tensordot(x_part, dy_part, (rows, rows))
            # Each pixel is there once for a tap.
            y[(*at_y, ...)] += at(x_part @ w[tap], outputs, y.shape[-1])
            dx[(*at_x, ...)] += at(dy_part @ w[tap].T, inputs, x.shape[-1])
    return y, dx, dkernels


@pytest.mark.parametrize(
    ("case", "transposed"),
    [*((case, False) for case in CASES), (TRANSPOSED, True)],
    ids=str,
)
@pytest.mark.parametrize(
    ("batch", "data_format"),
    [
        (1, "channels_last"),
        (2, "channels_last"),
        (2, "channels_first"),
        (28, "channels_last"),
    ],
)
def test_as_it_was(case, transposed, batch, data_format):
    kind, kernel, sizes, stride, dilation, padding, out = case
    channels, block_size = SIZES[kind]
    taps = int(np.prod(kernel))
    rng = np.random.default_rng(0)
    kernels = [
        0.1 * rng.standard_normal([taps, len(c), len(k)]) for c, k in channels
    ]
    whole = np.zeros([taps, channels[-1][0][-1] + 1, channels[-1][1][-1] + 1])
    for w, (inputs, outputs) in zip(kernels, channels, strict=True):
        whole[:, inputs[:, None], outputs] += w
    inputs, outputs = whole.shape[1:]
    grid = [
        whole.shape[0], inputs // block_size[0], block_size[0],
        outputs // block_size[1], block_size[1],
    ]  # fmt: skip
    layout = BlockLayout(whole.reshape(grid).any(axis=(0, 2, 4)), block_size)
    x = rng.standard_normal([batch, *sizes, inputs])
    dy = rng.standard_normal([batch, *out, outputs])
    y, dx, dkernels = oracle(x, dy, kernels, case, transposed)
    # A weight in two blocks has the gradient of their sum: that of each.
    dwhole = np.zeros(whole.shape)
    for dw, (c, k) in zip(dkernels, channels, strict=True):
        dwhole[:, c[:, None], k] = dw
    dblocks = layout.gather(dwhole.reshape(*kernel, inputs, outputs))
    blocks = layout.gather(whole.reshape(*kernel, inputs, outputs))

    if data_format == "channels_first":
        x, dy, y, dx = (np.moveaxis(v, -1, 1) for v in (x, dy, y, dx))
    options = {
        "strides": stride,
        "padding": padding,
        "dilation_rate": dilation,
        "data_format": data_format,
    }
    function = ops.conv
    if transposed:
        function, options["output_shape"] = ops.conv_transpose, out
    values = [tf.constant(v, tf.float32) for v in (x, blocks)]
    with tf.GradientTape() as tape:
        tape.watch(values)
        actual = function(*values, layout, kernel, **options)
    gradients = tape.gradient(actual, values, tf.constant(dy, tf.float32))
    assert actual.shape == y.shape
    for a, e in zip([actual, *gradients], [y, dx, dblocks], strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-4, atol=1e-4)
