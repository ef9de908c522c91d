# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The table of products: layouts, sizes, types and options."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import tensorflow as tf

from tf_blocksparse.layout import BlockLayout

LAYOUT_KINDS = (
    "empty_row",
    "empty_column",
    "none",
    "one",
    "full",
    "diagonal",
    "random",
    "skewed",
)
BLOCK_SIZES = (1, 3, 4, 8, (8, 16), 16, 32, 64, 256)
ROWS = (0, 1, 2, 7, 16, 17, 33, 64, 100)
DTYPES = (
    ("float32", "float32"),
    ("float64", "float64"),
    ("bfloat16", "bfloat16"),
    ("float16", "float16"),
    ("float32", "bfloat16"),
    ("float32", "float16"),
)


def make_layout(
    kind: str, block_size: int | tuple[int, int], seed: int = 0
) -> BlockLayout:
    """A small layout of a kind that is apt to break kernels.

    The grid shrinks as blocks grow, and the last block of each side reaches
    beyond the weight where a block has more than one entry.

    Args:
      kind: one of `LAYOUT_KINDS`; `skewed` has one output with ten times the
        blocks of the others.
      block_size: an int or `(b_in, b_out)`.
      seed: of what is random in it.

    >>> make_layout("diagonal", 4).nnz
    9
    """
    b_in, b_out = np.broadcast_to(block_size, 2).tolist()
    grid = (11, 9) if max(b_in, b_out) <= 32 else (4, 3)
    mask = np.random.default_rng(seed).random(grid) < 0.4
    if kind == "empty_row":
        mask[1] = False
    elif kind == "empty_column":
        mask[:, 1] = False
    elif kind == "skewed":
        mask[:] = False
        mask[0] = True
        mask[:10, 1] = True
    elif kind == "diagonal":
        mask = np.eye(*grid, dtype=bool)
    elif kind in ("none", "one", "full"):
        mask[:] = kind == "full"
        mask[1, 2] = kind != "none"
    elif kind != "random":
        raise ValueError(f"kind: got {kind!r}, expected one of {LAYOUT_KINDS}")
    return BlockLayout(
        mask,
        (b_in, b_out),
        inputs=grid[0] * b_in - b_in // 3,
        outputs=grid[1] * b_out - b_out // 2,
    )


@dataclasses.dataclass(frozen=True)
class Problem:
    """A product to check: sizes, types and options, no values.

    Attributes:
      kind: of layout; see `make_layout`.
      block_size: an int or `(b_in, b_out)`.
      rows: rows of x.
      x_dtype: of x and y.
      blocks_dtype: of blocks.
      transpose: as for `ops.matmul`.
      feature_axis: as for `ops.matmul`.

    >>> problem = Problem("one", 4, 2, "float32", "bfloat16", False, -1)
    >>> x, blocks, dy = problem.integers()
    >>> x.shape, blocks.shape, dy.shape
    (TensorShape([2, 43]), TensorShape([1, 4, 4]), TensorShape([2, 34]))
    """

    kind: str
    block_size: int | tuple[int, int]
    rows: int
    x_dtype: str
    blocks_dtype: str
    transpose: bool
    feature_axis: int

    def __str__(self) -> str:
        side = "x".join(str(b) for b in np.broadcast_to(self.block_size, 2))
        return (
            f"{self.kind}-{side}-{self.rows}-{self.x_dtype}-"
            f"{self.blocks_dtype}-{'t' if self.transpose else 'n'}-"
            f"{'first' if self.feature_axis == 0 else 'last'}"
        )

    @property
    def layout(self) -> BlockLayout:
        """The layout."""
        return make_layout(self.kind, self.block_size)

    def integers(self) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """x, blocks and dy of -1, 0 and 1: results are exact in every dtype.

        Blocks hold NaN where they reach beyond the weight.
        """
        rng = np.random.default_rng(1)
        return self._values(lambda shape: rng.integers(-1, 2, shape))

    def normals(self) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """x, blocks and dy of the normal distribution, with the same NaN."""
        rng = np.random.default_rng(2)
        return self._values(lambda shape: rng.standard_normal(shape))

    def _values(self, draw: Any) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        layout = self.layout
        sides = layout.shape[::-1] if self.transpose else layout.shape
        shapes = [
            (features, self.rows)
            if self.feature_axis == 0
            else (self.rows, features)
            for features in sides
        ]
        blocks = draw((layout.nnz, *layout.block_size)).astype(float)
        inside = layout.gather(np.ones(layout.shape)) == 1
        blocks = np.where(inside, blocks, np.nan)
        return (
            tf.constant(draw(shapes[0]), self.x_dtype),
            tf.constant(blocks, self.blocks_dtype),
            tf.constant(draw(shapes[1]), self.x_dtype),
        )


def problems(stride: int = 1) -> list[Problem]:
    """The table of all problems, or every `stride`-th of it.

    A prime stride meets every value of every column, in ever new company.

    >>> len(problems()), len(problems(stride=101))
    (15552, 154)
    """
    table = itertools.product(
        LAYOUT_KINDS, BLOCK_SIZES, ROWS, DTYPES, (False, True), (-1, 0)
    )
    return [
        Problem(
            kind=kind,
            block_size=block_size,  # type: ignore[arg-type]
            rows=rows,
            x_dtype=dtypes[0],
            blocks_dtype=dtypes[1],
            transpose=transpose,
            feature_axis=axis,
        )
        for kind, block_size, rows, dtypes, transpose, axis in (
            itertools.islice(table, None, None, stride)
        )
    ]
