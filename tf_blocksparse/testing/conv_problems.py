# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The table of convolutions: geometries, layouts, types and options."""

import dataclasses
import math
from typing import Any

import numpy as np
import tensorflow as tf

from tf_blocksparse import reference
from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.testing.problems import DTYPES

CONV_LAYOUT_KINDS = ("random", "gaps", "full", "one", "none")
CONV_BLOCK_SIZES = (4, 8, (8, 16), 16, 32)
RANKS = (1, 2, 3)
# By the size of their first axis; what repeats is as in most networks.
KERNELS = {
    1: ((1,), (1, 1), (1, 1, 1)),
    3: ((3,), (3, 3), (3, 3, 3)),
    4: ((4,), (4, 2), (4, 2, 2)),
    5: ((5,), (5, 3), (5, 1, 3)),
}
STRIDES = {1: (1, 1, 1), 2: (2, 2, 2), 3: (3, 2, 1)}
DILATIONS = {1: (1, 1, 1), 2: (2, 3, 2)}
# "causal" of more dimensions than one is "same_symmetric".
PADDINGS = ("valid", "same", "causal", 1, ((1, 2), (0, 1), (1, 1)))
# Pixels of x, and of a transposed convolution's, which grow.
_SIZES = ((61,), (13, 11), (9, 8, 7))
_COARSE_SIZES = ((23,), (6, 5), (4, 3, 3))
_BATCH = 2


def make_conv_layout(
    kind: str,
    block_size: int | tuple[int, int],
    taps: int | None = None,
    seed: int = 0,
) -> BlockLayout:
    """A small layout for a kernel of at most 80 inputs and outputs.

    The last block of each side reaches beyond the kernel.

    Args:
      kind: `random`; `gaps`, with an input, an output and a tap without
        blocks; `full`; `one`; or `none`.
      block_size: an int or `(b_in, b_out)`.
      taps: makes a layout per tap.
      seed: of what is random in it.

    >>> make_conv_layout("random", 8, taps=9).taps
    9
    """
    b_in, b_out = np.broadcast_to(block_size, 2).tolist()
    grid = max(64 // b_in // 2, 2), max(48 // b_out, 2)
    mask = np.random.default_rng(seed).random((taps or 1, *grid)) < 0.5
    if kind == "gaps":
        mask[:, 0] = mask[:, :, 1] = False
        mask[:, 1, 0] = True
        if len(mask) > 1:
            mask[len(mask) // 2] = False
    elif kind in ("full", "one", "none"):
        mask[:] = kind == "full"
        mask[-1, 1, 0] = kind != "none"
    elif kind != "random":
        raise ValueError(
            f"kind: got {kind!r}, expected one of {CONV_LAYOUT_KINDS}"
        )
    return BlockLayout(
        mask[0] if taps is None else mask,
        (b_in, b_out),
        inputs=grid[0] * b_in - b_in // 3,
        outputs=grid[1] * b_out - b_out // 2,
    )


@dataclasses.dataclass(frozen=True)
class ConvProblem:
    """A convolution to check: sizes, types and options, no values.

    Attributes:
      rank: spatial dimensions, 1 to 3.
      kernel: one of `KERNELS`, the size of the first dimension.
      stride: one of `STRIDES`, the first dimension's.
      dilation: one of `DILATIONS`, the first dimension's.
      padding: as for `ops.conv`; a tuple has more pairs than needed.
      data_format: as for `ops.conv`.
      block_size: an int or `(b_in, b_out)`.
      x_dtype: of x and y.
      blocks_dtype: of blocks.
      kind: of layout; see `make_conv_layout`.
      per_tap: whether the layout is one per tap.
      transposed: whether it is `conv_transpose`.

    >>> problem = conv_problems(10007)[1]
    >>> x, blocks, dy = problem.integers()
    >>> y = problem.call(reference, x, blocks)
    >>> y.shape == dy.shape
    True
    """

    rank: int
    kernel: int
    stride: int
    dilation: int
    padding: Any
    data_format: str
    block_size: int | tuple[int, int]
    x_dtype: str
    blocks_dtype: str
    kind: str
    per_tap: bool
    transposed: bool

    def __str__(self) -> str:
        side = "x".join(str(b) for b in np.broadcast_to(self.block_size, 2))
        padding = "pairs" if isinstance(self.padding, tuple) else self.padding
        return (
            f"{self.rank}d{'t' if self.transposed else ''}-k{self.kernel}-"
            f"s{self.stride}-d{self.dilation}-{padding}-"
            f"{self.data_format.removeprefix('channels_')}-{side}-"
            f"{self.x_dtype}-{self.blocks_dtype}-{self.kind}-"
            f"{'per_tap' if self.per_tap else 'shared'}"
        )

    @property
    def kernel_size(self) -> tuple[int, ...]:
        """The kernel's spatial axes."""
        return KERNELS[self.kernel][self.rank - 1]

    @property
    def taps(self) -> int:
        """Number of taps."""
        return math.prod(self.kernel_size)

    @property
    def layout(self) -> BlockLayout:
        """The layout."""
        taps = self.taps if self.per_tap else None
        return make_conv_layout(self.kind, self.block_size, taps)

    @property
    def geometry(self) -> dict[str, Any]:
        """The options of `ops.conv`, `conv_transpose` and `conv_sampled`."""
        padding = self.padding
        if isinstance(padding, tuple):
            padding = padding[: self.rank]
        elif padding == "causal" and self.rank > 1:
            padding = "same_symmetric"
        return {
            "strides": STRIDES[self.stride][: self.rank],
            "padding": padding,
            "dilation_rate": DILATIONS[self.dilation][: self.rank],
            "data_format": self.data_format,
        }

    @property
    def x_shape(self) -> tuple[int, ...]:
        """The shape of x."""
        sizes = _COARSE_SIZES if self.transposed else _SIZES
        return self._shape(sizes[self.rank - 1], self.layout.inputs)

    def call(
        self, functions: Any, x: Any, blocks: Any, **options: Any
    ) -> tf.Tensor:
        """Computes y by `functions`, which is `ops` or `reference`."""
        function = (
            functions.conv_transpose if self.transposed else functions.conv
        )
        arguments = x, blocks, self.layout, self.kernel_size
        return function(*arguments, **self.geometry, **options)

    def sample(
        self, functions: Any, x: Any, dy: Any, **options: Any
    ) -> tf.Tensor:
        """The gradient of the blocks by `functions`."""
        fine, coarse = (dy, x) if self.transposed else (x, dy)
        return functions.conv_sampled(
            fine,
            coarse,
            self.layout,
            self.kernel_size,
            transpose=self.transposed,
            **self.geometry,
            **options,
        )

    def integers(self) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """x, blocks and dy of -1, 0 and 1: results are exact in every dtype.

        Blocks hold NaN where they reach beyond the kernel.
        """
        rng = np.random.default_rng(1)
        return self._values(lambda shape: rng.integers(-1, 2, shape))

    def normals(self) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """x, blocks and dy of the normal distribution, with the same NaN."""
        rng = np.random.default_rng(2)
        return self._values(lambda shape: rng.standard_normal(shape))

    def _values(self, draw: Any) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        layout = self.layout
        inside = layout.gather(np.ones((*self.kernel_size, *layout.shape)))
        blocks = np.where(inside == 1, draw(inside.shape), np.nan)
        x = tf.constant(draw(self.x_shape), self.x_dtype)
        # Without pixels of the batch there is nothing to compute but a shape.
        like = self.call(reference, x[:0], tf.zeros(blocks.shape, x.dtype))
        dy = draw((_BATCH, *like.shape[1:]))
        return (
            x,
            tf.constant(blocks, self.blocks_dtype),
            tf.constant(dy, self.x_dtype),
        )

    def _shape(self, sizes: tuple[int, ...], features: int) -> tuple[int, ...]:
        if self.data_format == "channels_first":
            return (_BATCH, features, *sizes)
        return (_BATCH, *sizes, features)


def conv_problems(stride: int = 1) -> list[ConvProblem]:
    """The table of all convolutions, or every `stride`-th of it.

    Its order is random, always the same, so that any part of it meets every
    value of every column, in ever new company.

    >>> len(conv_problems(stride=1009))
    429
    """
    columns: tuple[tuple[Any, ...], ...] = (
        RANKS,
        tuple(KERNELS),
        tuple(STRIDES),
        tuple(DILATIONS),
        PADDINGS,
        ("channels_last", "channels_first"),
        CONV_BLOCK_SIZES,
        DTYPES,
        CONV_LAYOUT_KINDS,
        (False, True),
        (False, True),
    )
    sizes = [len(column) for column in columns]
    # Raw words: they are the same with every version of NumPy.
    order = np.argsort(np.random.PCG64(0).random_raw(math.prod(sizes)))
    problems = []
    for number in order[::stride]:
        place = np.unravel_index(number, sizes)
        values = [column[at] for column, at in zip(columns, place, strict=True)]
        problems.append(ConvProblem(*values[:7], *values[7], *values[8:]))
    return problems
