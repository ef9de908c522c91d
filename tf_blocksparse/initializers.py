# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""First values of blocks that depend on where in the weight the blocks are.

`kernel_initializer` of a block-sparse layer takes these as it takes Keras's.
An initializer of your own that needs the layout has a method
`initialize_blocks(layout, kernel_size, dtype)`, which the layers call in place
of `__call__(shape, dtype)`; `kernel_size` is None for a matrix.
"""

import math
from typing import Any, NoReturn

import keras
import numpy as np
import numpy.typing as npt

from tf_blocksparse import _arguments, _packed
from tf_blocksparse.layout import BlockLayout

_register = keras.saving.register_keras_serializable(package="tf_blocksparse")


@_register
class BlockIdentity(keras.initializers.Initializer):
    """Makes a layer copy its inputs at first, where it has blocks.

    For recurrent and residual layers that shall start by passing on what they
    get. The weight, on its blocks alone, is

        W[i, j] = scale if i mod outputs == j mod inputs, else 0

    which is the scaled identity if it is square; the copies of the inputs
    side by side if there are more outputs; and sums of every so many-th input
    if there are fewer. Of a kernel, the central tap is that matrix and all
    others are 0: along an axis of size s, tap (s - 1) // 2, which is the pixel
    itself under `padding="same"`. Features need not be multiples of the block.

    Args:
        scale: Number, the value on the diagonal.

    Source: the identity initializer of openai/blocksparse.

    Example:
    >>> from tf_blocksparse.initializers import BlockIdentity
    >>> from tf_blocksparse.layers import BlockSparseDense
    >>> layout = BlockLayout.banded((64, 64), 16, bandwidth=1)
    >>> layer = BlockSparseDense(
    ...     64, kernel_initializer=BlockIdentity(), layout=layout
    ... )
    >>> x = np.random.default_rng(0).normal(size=(2, 64)).astype("float32")
    >>> bool((layer(x) == x).numpy().all())
    True
    """

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = _arguments.real("scale", scale, "1.0 is the default")

    def initialize_blocks(
        self,
        layout: BlockLayout,
        kernel_size: int | tuple[int, ...] | None = None,
        dtype: Any = None,
    ) -> Any:
        """The blocks of the layout: `[nnz, b_in, b_out]`, or with taps.

        Args:
            layout: `BlockLayout`.
            kernel_size: Sizes of a kernel's spatial axes; None of a matrix.
            dtype: Of the result; None is Keras's `floatx`.

        Raises:
            ValueError: if an argument doesn't fit.
        """
        spatial = _spatial(layout, kernel_size)
        i, j, tap = _features(layout)
        inputs, outputs = layout.shape
        rows, columns = i[:, :, None], j[:, None, :]
        values = (rows % outputs == columns % inputs) & (rows < inputs)
        values = values & (columns < outputs)
        sizes = [(size - 1) // 2 for size in spatial]
        centre = int(np.ravel_multi_index(sizes, spatial)) if spatial else 0
        # Taps of their own, or those of each block.
        taps = tap[:, None] if layout.taps else np.arange(math.prod(spatial))
        values = values[:, None] & (taps == centre)[..., None, None]
        scaled = np.where(values, self.scale, 0.0)
        shape = _shape(layout, spatial)
        return keras.ops.convert_to_tensor(
            scaled.reshape(shape), dtype=_dtype(dtype)
        )

    def __call__(self, shape: Any, dtype: Any = None, **kwargs: Any) -> Any:
        """Raises `ValueError`: a shape doesn't tell where the blocks are."""
        _refuse(self, shape, "keras.initializers.Identity")

    def get_config(self) -> dict[str, Any]:
        """The arguments."""
        return {"scale": self.scale}


@_register
class BlockOrthogonal(keras.initializers.Orthogonal):
    """Makes the weights of the outputs of each block column orthonormal.

    Keeps the length of signals in deep and recurrent layers, as
    `keras.initializers.Orthogonal` does for dense ones. The blocks of an
    output block, one below the other, are its stack: a matrix with a row for
    each input (and tap of a kernel) that it sees. Of each stack S,

        S^T S = gain^2 I    if it has at least as many rows as columns,
        S S^T = gain^2 I    else: then its rows are orthonormal

    and among such matrices all are equally likely. Entries beyond the edge of
    the weight are 0 and are no part of the stack. Of a dense layout with one
    output block that is Keras's rule.

    Args:
        gain: Number by which the orthonormal matrices are multiplied.
        seed: Integer, `keras.random.SeedGenerator`, or None to draw a seed.

    Source: Saxe et al., "Exact Solutions to the Nonlinear Dynamics of Learning
    in Deep Linear Neural Networks", 2014.

    Example:
    >>> from tf_blocksparse.initializers import BlockOrthogonal
    >>> layout = BlockLayout.random((64, 64), 8, sparsity=0.5, seed=0)
    >>> blocks = BlockOrthogonal(seed=0).initialize_blocks(layout)
    >>> stack = layout.to_dense(blocks)[:, :8]
    >>> np.allclose(stack.T @ stack, np.eye(8), atol=1e-5)
    True
    """

    def __init__(self, gain: float = 1.0, seed: Any = None) -> None:
        gain = _arguments.real("gain", gain, "1.0 is the default")
        super().__init__(gain=gain, seed=seed)

    def initialize_blocks(
        self,
        layout: BlockLayout,
        kernel_size: int | tuple[int, ...] | None = None,
        dtype: Any = None,
    ) -> Any:
        """The blocks of the layout: `[nnz, b_in, b_out]`, or with taps.

        Args:
            layout: `BlockLayout`.
            kernel_size: Sizes of a kernel's spatial axes; None of a matrix.
            dtype: Of the result; None is Keras's `floatx`. 16-bit types are
                computed in float32.

        Raises:
            ValueError: if an argument doesn't fit.
        """
        spatial = _spatial(layout, kernel_size)
        shape, dtype = _shape(layout, spatial), _dtype(dtype)
        wide = "float64" if dtype == "float64" else "float32"
        places = _stacks(layout, shape)
        total = sum(place.size for place in places)
        if not total:
            return keras.ops.zeros(shape, dtype)
        # All at once: a second draw of a seed would be the first again.
        drawn = keras.random.normal((total,), seed=self.seed, dtype=wide)
        values = []
        start = 0
        for place in places:
            normal = drawn[start : start + place.size]
            start += place.size
            stacks = _orthonormal(keras.ops.reshape(normal, place.shape))
            values.append(keras.ops.reshape(stacks, (-1,)))
        flat = keras.ops.scatter(
            np.concatenate([place.reshape(-1, 1) for place in places]),
            self.gain * keras.ops.concatenate(values),
            (math.prod(shape),),
        )
        return keras.ops.cast(keras.ops.reshape(flat, shape), dtype)

    def __call__(self, shape: Any, dtype: Any = None, **kwargs: Any) -> Any:
        """Raises `ValueError`: a shape doesn't tell where the blocks are."""
        _refuse(self, shape, "keras.initializers.Orthogonal")


def _orthonormal(normal: Any) -> Any:
    """Matrices `[..., rows, columns]` with orthonormal columns, or rows."""
    is_wide = normal.shape[-2] < normal.shape[-1]
    if is_wide:
        normal = keras.ops.swapaxes(normal, -1, -2)
    q, r = keras.ops.qr(normal)
    # Without its choice of signs, all orthonormal matrices are equally likely.
    diagonal = keras.ops.diagonal(r, axis1=-2, axis2=-1)
    q = keras.ops.where(diagonal[..., None, :] < 0, -q, q)
    return keras.ops.swapaxes(q, -1, -2) if is_wide else q


def _stacks(
    layout: BlockLayout, shape: tuple[int, ...]
) -> list[npt.NDArray[np.int64]]:
    """Where the entries of stacks are in the blocks, laid out in a row.

    Stacks of one size are together: `[stacks, rows, columns]`.
    """
    i, j, _ = _features(layout)
    b_out = layout.block_size[1]
    taps = shape[1] if len(shape) == 4 else 1
    exists = np.tile(i < layout.inputs, (1, taps))
    # Rows of entries, in the order of the blocks: output by output.
    rows = np.flatnonzero(exists)
    output = j[:, 0] // b_out
    grid_columns = layout.grid[1]
    counts = np.bincount(
        output, exists.sum(axis=1), minlength=grid_columns
    ).astype(np.int64)
    starts = np.cumsum(counts) - counts
    widths = np.minimum(b_out, layout.outputs - b_out * np.arange(grid_columns))
    found = []
    for count, width in np.unique([counts, widths], axis=1).T:
        if count:
            same = np.flatnonzero((counts == count) & (widths == width))
            stack = rows[starts[same][:, None] + np.arange(count)]
            found.append(stack[..., None] * b_out + np.arange(width))
    return found


def _features(
    layout: BlockLayout,
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Inputs `[nnz, b_in]`, outputs `[nnz, b_out]` and tap of each block."""
    row, k = _packed.places(layout.packed, layout.packed_grid)
    c, tap = np.divmod(row, layout.taps or 1)
    b_in, b_out = layout.block_size
    i = c[:, None] * b_in + np.arange(b_in)
    return i, k[:, None] * b_out + np.arange(b_out), tap


def _shape(layout: BlockLayout, spatial: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the blocks."""
    nnz, *block_size = layout.blocks_shape
    shared = [math.prod(spatial)] if spatial and layout.taps is None else []
    return (nnz, *shared, *block_size)


def _spatial(layout: Any, kernel_size: Any) -> tuple[int, ...]:
    """The spatial axes of a kernel; none of a matrix."""
    if not isinstance(layout, BlockLayout):
        raise ValueError(
            f"layout: got {_arguments.shown(layout)}, expected a BlockLayout; "
            "make one, for instance by BlockLayout(mask, block_size)"
        )
    if layout.taps is not None:
        return _arguments.spatial(kernel_size, layout.taps)
    return () if kernel_size is None else _arguments.kernel_size_of(kernel_size)


def _dtype(dtype: Any) -> str:
    return str(keras.backend.standardize_dtype(dtype or keras.config.floatx()))


def _refuse(initializer: Any, shape: Any, other: str) -> NoReturn:
    name = type(initializer).__name__
    raise ValueError(
        f"{name}: got the shape {tuple(shape)} alone, expected a layout of "
        "blocks; use it as kernel_initializer of a block-sparse layer, call "
        f"its initialize_blocks(layout), or use {other} for other weights"
    )
