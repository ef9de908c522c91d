# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Times block-sparse convolutions and the dense one in turns.

As in training, kernels are variables, and the dense products are the ops that
`tf.nn.convolution`, `tf.nn.conv_transpose` and their gradients consist of.
Before anything is timed, both convolve the same small integers, of which every
sum is exact, and their results have to be equal.
"""

import dataclasses
import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import layouts
import native
import numpy as np
import numpy.typing as npt
import tensorflow as tf
import turns
from conv_case import LARGEST_INTEGER, ConvCase, ConvMeasured, Sizes
from timing import Drawn, normal

from tf_blocksparse import BlockLayout, ops


def measure(
    cases: Sequence[ConvCase],
    threads: int,
    rounds: int,
    seed: int,
    fma_peak: native.Program,
    progress: Callable[[], None],
    seconds: float = math.inf,
) -> list[ConvMeasured]:
    """Times cases and the dense convolution in turns, and checks results.

    Of kernels of one tap, which move as many bytes as they multiply numbers, a
    copy of these bytes is timed, too.

    Args:
      cases: differ in block size and layout only.
      threads: what TensorFlow was set to.
      fma_peak: for as many threads.
      progress: called after each round.
      seconds: see `turns.take`.

    Raises:
      AssertionError: if a result is not the dense one's.
    """
    first = cases[0]
    dense = Dense(first)
    inputs = Drawn(dense.argument_shapes(), "float32", seed)
    made = [layouts.of_kernel(case, seed) for case in cases]
    w = tf.Variable(tf.zeros(dense.kernel_shape))
    contenders = []
    for case, layout in zip(cases, made, strict=True):
        blocks = tf.Variable(tf.zeros(blocks_shape(case, layout)))
        function = sparse(case, blocks, layout)
        check(case, layout, (dense.product(w), w), (function, blocks), seed)
        _draw(blocks, seed)
        contenders.append(turns.in_graph(function, inputs))
    _draw(w, seed)
    contenders.insert(0, turns.in_graph(dense.product(w), inputs))
    sizes = [_moved_bytes(*item) for item in zip(cases, made, strict=True)]
    copied = 0
    if first.kernel_size == (1,) * len(first.kernel_size):
        copied = int(max(sizes)) // 8  # numbers, read and written
        numbers = Drawn([(copied,)], "float32", seed)
        contenders.append(
            turns.in_graph(lambda x: tf.raw_ops.DeepCopy(x=x), numbers)
        )
    peaks: list[float] = []

    def between() -> None:
        peaks.append(fma_peak.measure())
        progress()

    times = turns.take(contenders, rounds, seconds=seconds, between=between)
    ms = [1e3 * statistics.median(each) for each in times]
    rate = 8 * copied / ms[-1] / 1e6 if copied else None
    pixels = first.batch * math.prod(first.coarse)
    return [
        ConvMeasured(
            case=case,
            threads=threads,
            useful_flops=2.0 * pixels * _entries(case, layout),
            dense_ms=ms[0],
            sparse_ms=found,
            peak_gflops=statistics.median(peaks),
            moved_bytes=size if rate else None,
            copied_gb_per_s=rate,
        )
        for case, layout, size, found in zip(
            cases, made, sizes, ms[1 : 1 + len(cases)], strict=True
        )
    ]


class Dense:
    """TensorFlow's form of a case."""

    def __init__(self, case: ConvCase) -> None:
        self._case = case
        fine, coarse = case.inputs, case.outputs
        if case.transposed:
            fine, coarse = coarse, fine
        self._fine = (case.batch, *case.fine, fine)
        self._coarse = (case.batch, *case.coarse, coarse)
        # Of a transposed one `[..., outputs, inputs]`, as TensorFlow has it.
        self.kernel_shape = (*case.kernel_size, fine, coarse)
        self._settings = {
            "strides": _step(case, case.strides),
            "dilations": _step(case, case.dilation),
            "padding": case.padding.upper(),
        }

    def argument_shapes(self) -> list[Sizes]:
        """Of x, of dy, or of both, as the case's product takes them."""
        x, y = self._fine, self._coarse
        if self._case.transposed:
            x, y = y, x
        return {"forward": [x], "dx": [y], "dw": [x, y]}[self._case.product]

    def product(self, w: tf.Variable) -> Callable[..., tf.Tensor]:
        """The case's product."""
        case = self._case
        if case.product == "dw":
            if case.transposed:
                return lambda x, dy: self._to_kernel(dy, x)
            return self._to_kernel
        if (case.product == "forward") == case.transposed:
            return lambda coarse: self._to_fine(coarse, w)
        return lambda fine: self._to_coarse(fine, w)

    def _to_coarse(self, fine: tf.Tensor, w: tf.Variable) -> tf.Tensor:
        op = tf.raw_ops.Conv3D if self._is_3d else tf.raw_ops.Conv2D
        y = op(input=_flat(fine), filter=_flat(w, 0), **self._settings)
        return tf.reshape(y, self._coarse)

    def _to_fine(self, coarse: tf.Tensor, w: tf.Variable) -> tf.Tensor:
        op = tf.raw_ops.Conv2DBackpropInput
        if self._is_3d:
            op = tf.raw_ops.Conv3DBackpropInputV2
        shape = self._fine
        if len(shape) == 3:
            shape = (shape[0], 1, *shape[1:])
        x = op(
            input_sizes=shape,
            filter=_flat(w, 0),
            out_backprop=_flat(coarse),
            **self._settings,
        )
        return tf.reshape(x, self._fine)

    def _to_kernel(self, fine: tf.Tensor, coarse: tf.Tensor) -> tf.Tensor:
        op = tf.raw_ops.Conv2DBackpropFilter
        if self._is_3d:
            op = tf.raw_ops.Conv3DBackpropFilterV2
        shape = self.kernel_shape
        if len(shape) == 3:
            shape = (1, *shape)
        w = op(
            input=_flat(fine),
            filter_sizes=shape,
            out_backprop=_flat(coarse),
            **self._settings,
        )
        return tf.reshape(w, self.kernel_shape)

    @property
    def _is_3d(self) -> bool:
        return len(self._case.kernel_size) == 3


def sparse(
    case: ConvCase, blocks: tf.Variable, layout: BlockLayout
) -> Callable[..., tf.Tensor]:
    """The block-sparse form of a case's product."""
    geometry = {
        "kernel_size": case.kernel_size,
        "strides": case.strides,
        "dilation_rate": case.dilation,
        "padding": case.padding,
    }
    if case.product == "dw":
        if case.transposed:
            return lambda x, dy: ops.conv_sampled(
                dy, x, layout, transpose=True, **geometry
            )
        return lambda x, dy: ops.conv_sampled(x, dy, layout, **geometry)

    def forward(x: tf.Tensor) -> tf.Tensor:
        if case.transposed:
            return ops.conv_transpose(
                x, blocks, layout, output_shape=case.fine, **geometry
            )
        return ops.conv(x, blocks, layout, **geometry)

    if case.product == "forward":
        return forward
    dense = Dense(dataclasses.replace(case, product="forward"))
    x = tf.zeros(dense.argument_shapes()[0])

    def backward(dy: tf.Tensor) -> tf.Tensor:
        # dx does not depend on y, so that graphs leave its computation out.
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(x)
            y = forward(x)
        return tape.gradient(y, x, output_gradients=dy)

    return backward


def blocks_shape(case: ConvCase, layout: BlockLayout) -> Sizes:
    """That of the blocks, which have all taps unless these have their own."""
    if layout.taps is not None:
        return layout.blocks_shape
    taps = math.prod(case.kernel_size)
    return (layout.nnz, taps, *layout.block_size)


def check(
    case: ConvCase,
    layout: BlockLayout,
    dense: tuple[Callable[..., tf.Tensor], tf.Variable],
    sparse: tuple[Callable[..., tf.Tensor], tf.Variable],
    seed: int,
) -> None:
    """Compares the products of small integers, and leaves some in the kernels.

    Raises:
      AssertionError: if they are not equal.
    """
    rng = np.random.default_rng(seed)
    (function, w), (sparse_function, blocks) = dense, sparse
    values = _integers(rng, blocks.shape)
    blocks.assign(values)
    kernel = layout.to_dense(values, case.kernel_size)
    w.assign(kernel.swapaxes(-1, -2) if case.transposed else kernel)
    arguments = [
        tf.constant(_integers(rng, shape))
        for shape in Dense(case).argument_shapes()
    ]
    expected = function(*arguments).numpy()
    if case.product == "dw":
        if case.transposed:
            expected = expected.swapaxes(-1, -2)
        expected = layout.gather(expected)
    actual = sparse_function(*arguments).numpy()
    np.testing.assert_array_equal(actual, expected, case.label)


def _integers(rng: np.random.Generator, shape: Any) -> npt.NDArray[np.float32]:
    return rng.integers(
        -LARGEST_INTEGER, LARGEST_INTEGER, tuple(shape), endpoint=True
    ).astype(np.float32)


def _draw(variable: tf.Variable, seed: int) -> None:
    rng = np.random.default_rng(seed)
    variable.assign(normal(rng, "float32", *variable.shape))


def _entries(case: ConvCase, layout: BlockLayout) -> int:
    taps = 1 if layout.taps is not None else math.prod(case.kernel_size)
    return taps * layouts.entries(layout)


def _moved_bytes(case: ConvCase, layout: BlockLayout) -> float:
    return 4.0 * (case.sides_numbers() + math.prod(blocks_shape(case, layout)))


def _step(case: ConvCase, step: int) -> list[int]:
    """Strides or dilations as TensorFlow's ops take them."""
    rank = len(case.kernel_size)
    ones = [1] * (1 + (rank == 1))
    return [*ones, *[step] * rank, 1]


def _flat(tensor: Any, axis: int = 1) -> tf.Tensor:
    """As an image of one row, which TensorFlow makes of one dimension."""
    return tf.expand_dims(tensor, axis) if tensor.shape.rank == 3 else tensor
