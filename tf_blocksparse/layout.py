# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`BlockLayout`: which blocks of a block-sparse weight exist."""

import copy
import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from tf_blocksparse import (
    _arguments,
    _layout_config,
    _layout_picture,
    _layout_scipy,
    _layout_shards,
    _layout_values,
    _packed,
)
from tf_blocksparse._layout_makers import LayoutMakers
from tf_blocksparse._layout_shards import LayoutShard


class BlockLayout(LayoutMakers):
    """Which blocks of a weight matrix `[inputs, outputs]` exist.

    A layout is made once and handed to every op and layer that works on the
    weight. It holds no values: those are an array `blocks` of shape
    `[nnz, b_in, b_out]`, where entry w is the tile
    `W[c * b_in:(c + 1) * b_in, k * b_out:(k + 1) * b_out]` of the w-th block
    (c, k), ordered by output k, then by input c. Sizes need not be multiples
    of the block size: entries of `blocks` beyond the edge are ignored.

    A convolution's kernel `[spatial..., inputs, outputs]` is a matrix for each
    of its taps. A layout as above serves all of them; its blocks, with values
    for each tap, are `[nnz, taps, b_in, b_out]`. A layout per tap, made of a
    mask with taps, tells for each tap which blocks exist; its blocks are
    `[nnz, b_in, b_out]`, ordered by output k, input c and then tap.

    Layouts are immutable, hashable, equal if they describe the same blocks,
    and can be pickled and copied.

    Args:
      mask: `[input blocks, output blocks]` of bool, integer or float 0 and 1,
        true where a block exists. `[taps, input blocks, output blocks]` makes
        a layout per tap; taps are in the order of a kernel's spatial axes.
      block_size: one int or `(b_in, b_out)`, each 1 to 256.
      inputs: number of input features; by default all rows of the mask full,
        otherwise any number whose last block is the mask's last row.
      outputs: the same for output features and the mask's columns.

    Raises:
      ValueError: if the mask is no such array, or a size doesn't fit.

    >>> layout = BlockLayout([[1, 0, 1], [0, 1, 1]], 4, outputs=10)
    >>> layout
    BlockLayout(inputs=8, outputs=10, block_size=(4, 4), nnz=4, sparsity=0.333)
    >>> print(layout)
    BlockLayout(inputs=8, outputs=10, block_size=(4, 4), nnz=4, sparsity=0.333)
    rows: inputs, columns: outputs; # block, . none
    #.#
    .##
    >>> BlockLayout([[[1, 0]], [[1, 1]]], 4).taps
    2
    """

    __slots__ = (
        "__weakref__",
        "_block_size",
        "_hash",
        "_maker",
        "_mask",
        "_packed",
        "_shape",
    )

    _block_size: tuple[int, int]
    _hash: int
    _maker: dict[str, Any]
    _mask: npt.NDArray[np.bool_]
    _packed: npt.NDArray[np.int32]
    _shape: tuple[int, int]

    def __init__(
        self,
        mask: npt.ArrayLike,
        block_size: int | tuple[int, int],
        inputs: int | None = None,
        outputs: int | None = None,
    ) -> None:
        block_size = _arguments.block_size(block_size)
        array = _arguments.mask(mask)
        rows, columns = array.shape[-2:]
        shape = (
            _arguments.features("inputs", inputs, rows, block_size[0]),
            _arguments.features("outputs", outputs, columns, block_size[1]),
        )
        packed = _packed.pack(_packed.rows_of(array))
        self._set(
            _block_size=block_size,
            _hash=hash((array.shape, shape, block_size, packed.tobytes())),
            _maker={},
            _mask=_frozen(array),
            _packed=_frozen(packed),
            _shape=shape,
        )

    @classmethod
    def _make(
        cls,
        mask: npt.NDArray[np.bool_],
        sizes: _arguments.Sizes,
        **maker: Any,
    ) -> "BlockLayout":
        return cls(mask, sizes.block_size, *sizes.shape)._set(_maker=maker)

    def get_config(self) -> dict[str, Any]:
        """A dict that JSON can hold, and `from_config` turns back.

        A layout that a maker made is stored as the maker's arguments; any
        other as its mask, one bit a block, compressed, in base64.

        >>> BlockLayout.random((64, 32), 8, sparsity=0.5, seed=3).get_config()
        ... # doctest: +NORMALIZE_WHITESPACE
        {'inputs': 64, 'outputs': 32, 'block_size': [8, 8],
         'maker': 'random', 'sparsity': 0.5, 'seed': 3}
        """
        maker = self._maker or {
            "maker": "mask",
            "mask": _layout_config.encode_mask(self._mask),
        }
        return {
            "inputs": self.inputs,
            "outputs": self.outputs,
            "block_size": list(self._block_size),
            **({} if self.taps is None else {"taps": self.taps}),
            **copy.deepcopy(maker),
        }

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """Which blocks exist: bool `[input blocks, output blocks]`.

        `[taps, input blocks, output blocks]` of a layout per tap.
        """
        return self._mask

    @property
    def taps(self) -> int | None:
        """Number of taps of a layout per tap; None for that of a matrix."""
        return self._mask.shape[0] if self._mask.ndim == 3 else None

    @property
    def grid(self) -> tuple[int, int]:
        """(input blocks, output blocks): the mask's shape without taps."""
        rows, columns = self._mask.shape[-2:]
        return rows, columns

    @property
    def packed_grid(self) -> tuple[int, int]:
        """(rows, columns) of `packed`: (input blocks * taps, output blocks).

        The grid of a matrix. Row c * taps + t is tap t of input block c.
        """
        rows, columns = self.grid
        return rows * (self.taps or 1), columns

    @property
    def shape(self) -> tuple[int, int]:
        """(inputs, outputs) in features, of a matrix or of each tap."""
        return self._shape

    @property
    def inputs(self) -> int:
        """Number of input features."""
        return self._shape[0]

    @property
    def outputs(self) -> int:
        """Number of output features."""
        return self._shape[1]

    @property
    def block_size(self) -> tuple[int, int]:
        """(b_in, b_out): features per block."""
        return self._block_size

    @property
    def nnz(self) -> int:
        """Number of blocks that exist."""
        rows, columns = self.packed_grid
        return (self._packed.size - rows - columns - 2) // 3

    @property
    def blocks_shape(self) -> tuple[int, int, int]:
        """Shape of the array of values: (nnz, b_in, b_out).

        A kernel of which all taps share this layout: (nnz, taps, b_in, b_out).
        """
        return (self.nnz, *self._block_size)

    @property
    def density(self) -> float:
        """Share of the blocks that exist: nnz / all, 0 to 1."""
        return self.nnz / self._mask.size

    @property
    def sparsity(self) -> float:
        """Share of the blocks that do not exist: 1 - density."""
        return 1.0 - self.density

    @property
    def packed(self) -> npt.NDArray[np.int32]:
        """The layout as the one int32 vector that the ops read.

        `[output_splits (output blocks + 1) | input_index (nnz) |
        input_splits (input blocks + 1) | output_index (nnz) |
        block_id (nnz)]`: the input blocks of every output block, ascending;
        then the output blocks of every input block, with the place in
        `blocks` of each. A layout per tap has `packed_grid`'s rows in place
        of the input blocks.

        >>> BlockLayout([[1, 0], [1, 1]], 8).packed
        array([0, 2, 3, 0, 1, 1, 0, 1, 3, 0, 0, 1, 0, 1, 2], dtype=int32)
        """
        return self._packed

    def transpose(self) -> "BlockLayout":
        """The layout of the transposed weight `[outputs, inputs]`.

        `transpose_blocks` brings the values into its order:
        `layout.transpose().to_dense(layout.transpose_blocks(blocks))` is
        `layout.to_dense(blocks).T`. Taps stay in their order.

        >>> BlockLayout([[1, 0, 1]], (4, 8)).transpose().shape
        (24, 4)
        """
        return BlockLayout(
            self._mask.swapaxes(-1, -2),
            self._block_size[::-1],
            self.outputs,
            self.inputs,
        )

    def transpose_blocks(self, blocks: npt.ArrayLike) -> npt.NDArray[Any]:
        """The values for `transpose()`: reordered, each block transposed.

        Args:
          blocks: `[nnz, b_in, b_out]` of real numbers, or
            `[nnz, taps, b_in, b_out]`.

        Returns:
          NumPy array `[nnz, b_out, b_in]` of the same dtype, with taps as
          `blocks`.

        Raises:
          ValueError: if `blocks` has another shape.

        >>> layout = BlockLayout([[1, 1], [1, 0]], 1)
        >>> layout.transpose_blocks([[[1]], [[2]], [[3]]]).ravel()
        array([1, 3, 2])
        """
        return _layout_values.transpose(self, blocks)

    def split(
        self, axis: str, parts: int | Sequence[int]
    ) -> tuple[LayoutShard, ...]:
        """Cuts the layout into shards, such as one for each device.

        A shard has all blocks of a run of inputs or outputs. With s.layout as
        W_s, the blocks at s.block_ids and the features s.features of shard s,

            x W = concatenation over s of x W_s                (axis "outputs")
            x W = sum over s of x[..., s.features] W_s          (axis "inputs")

        A bias is cut as the outputs are: `bias[s.features]`; of shards of
        inputs it is added once, to the sum. Blocks of a kernel are cut
        likewise, with or without taps of their own; a convolution has channels
        for features.

        Args:
          axis: "outputs" or "inputs".
          parts: number of shards, at most the blocks along the axis: the
            largest has as few blocks as whole rows or columns of blocks allow.
            Or the features of each shard, all but the last whole blocks.

        Returns:
          Tuple of `LayoutShard` with `layout`, `features` and `block_ids`, in
          the order of features. `join` is the way back.

        Raises:
          ValueError: if an argument is none of these, or there are more parts
            than blocks along the axis.

        >>> layout = BlockLayout([[1, 1, 0, 1], [1, 1, 0, 0]], 1)
        >>> blocks = np.arange(5.0).reshape(layout.blocks_shape)
        >>> x = np.array([[1.0, 2.0]])
        >>> x @ layout.to_dense(blocks)
        array([[2., 8., 0., 4.]])
        >>> shards = layout.split("outputs", 2)
        >>> [x @ s.layout.to_dense(blocks[s.block_ids]) for s in shards]
        [array([[2.]]), array([[8., 0., 4.]])]
        >>> sum(
        ...     x[:, s.features] @ s.layout.to_dense(blocks[s.block_ids])
        ...     for s in layout.split("inputs", 2)
        ... )
        array([[2., 8., 0., 4.]])
        """
        return _layout_shards.split(self, axis, parts)

    def to_dense(
        self,
        blocks: npt.ArrayLike,
        kernel_size: int | tuple[int, ...] | None = None,
    ) -> npt.NDArray[Any]:
        """The dense weight, zero where no block exists.

        Args:
          blocks: `[nnz, b_in, b_out]` of real numbers, or
            `[nnz, taps, b_in, b_out]`; entries beyond the last input or
            output are ignored.
          kernel_size: the kernel's spatial axes, where there are taps.

        Returns:
          NumPy array `[inputs, outputs]` of the same dtype, or a kernel
          `[*kernel_size, inputs, outputs]`.

        Raises:
          ValueError: if `blocks` has another shape, or `kernel_size` another
            number of taps.

        >>> BlockLayout([[0, 1]], (1, 2)).to_dense([[[5, 6]]])
        array([[0, 0, 5, 6]])
        >>> BlockLayout([[[0]], [[1]]], 1).to_dense([[[5]]], kernel_size=2)
        array([[[0]],
        <BLANKLINE>
               [[5]]])
        """
        return _layout_values.to_dense(self, blocks, kernel_size)

    def gather(self, weight: npt.ArrayLike) -> npt.NDArray[Any]:
        """The values of a dense weight where blocks exist.

        blocks[w] = W[c * b_in:(c + 1) * b_in, k * b_out:(k + 1) * b_out] of
        the w-th block (c, k), zero beyond the last input or output.

        Args:
          weight: `[inputs, outputs]` of real numbers, or a kernel
            `[spatial..., inputs, outputs]`.

        Returns:
          NumPy array `[nnz, b_in, b_out]` of the same dtype; of a kernel
          `[nnz, taps, b_in, b_out]`, unless the layout is one per tap.

        Raises:
          ValueError: if `weight` has another shape.

        >>> BlockLayout([[0, 1]], (1, 2)).gather([[1, 2, 3, 4]])
        array([[[3, 4]]])
        """
        return _layout_values.gather(self, weight)

    def to_scipy(self, blocks: npt.ArrayLike) -> Any:
        """The weight as a SciPy BSR array; `from_scipy` is the way back.

        Args:
          blocks: `[nnz, b_in, b_out]` of a dtype SciPy knows.

        Returns:
          `scipy.sparse.bsr_array` of `(inputs, outputs)`, each rounded up to
          whole blocks, as SciPy needs; entries beyond the edge are zero.

        Raises:
          ValueError: if `blocks` has another shape, or are a kernel's.
          ImportError: if SciPy is not installed.

        >>> BlockLayout([[0, 1]], (1, 2)).to_scipy([[[5, 6]]]).toarray()
        array([[0, 0, 5, 6]])
        """
        array = _layout_values.blocks_array(self, blocks)
        return _layout_scipy.write(self, array)

    def plot(self, ax: Any = None) -> Any:
        """Draws the layout with matplotlib: blocks black, features as units.

        A layout per tap is drawn as grey as the share of taps with a block.

        Args:
          ax: matplotlib axes to draw on; by default those of a new figure.

        Returns:
          The axes.

        Raises:
          ImportError: if matplotlib is not installed.

        >>> import matplotlib; matplotlib.use("Agg")
        >>> BlockLayout.dense((64, 64), 32).plot().get_xlabel()
        'outputs'
        """
        return _layout_picture.plot(self, ax)

    def __repr__(self) -> str:
        taps = "" if self.taps is None else f"taps={self.taps}, "
        return (
            f"BlockLayout({taps}inputs={self.inputs}, outputs={self.outputs}, "
            f"block_size={self._block_size}, nnz={self.nnz}, "
            f"sparsity={self.sparsity:.3f})"
        )

    def __str__(self) -> str:
        return f"{self!r}\n{_layout_picture.text(self._mask)}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BlockLayout):
            return NotImplemented
        # The ops look a layout up at each call: itself, as a rule.
        return self is other or (
            self._hash == other._hash
            and self._mask.shape == other._mask.shape
            and self._shape == other._shape
            and self._block_size == other._block_size
            and np.array_equal(self._packed, other._packed)
        )

    def __hash__(self) -> int:
        return self._hash

    def __setattr__(self, name: str, value: object = None) -> NoReturn:
        raise AttributeError(
            f"BlockLayout.{name}: a layout cannot be changed; make a new one"
        )

    __delattr__ = __setattr__

    def __copy__(self) -> "BlockLayout":
        return self

    def __deepcopy__(self, memo: object) -> "BlockLayout":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        bits = np.packbits(self._mask)
        sizes = (self._block_size, *self._shape)
        return _unpickle, (bits, self._mask.shape, sizes, self._maker)

    def _set(self, **attributes: Any) -> "BlockLayout":
        for name, value in attributes.items():
            object.__setattr__(self, name, value)
        return self


def _unpickle(
    bits: npt.NDArray[np.uint8],
    shape: tuple[int, ...],
    sizes: tuple[tuple[int, int], int, int],
    maker: dict[str, Any],
) -> BlockLayout:
    mask = np.unpackbits(bits, count=math.prod(shape)).reshape(shape)
    return BlockLayout(mask, *sizes)._set(_maker=maker)


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A copy that nobody can make writable again: hashes rely on it."""
    data = np.frombuffer(array.tobytes(), array.dtype)
    return data.reshape(array.shape)
