# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`BlockLayout`: which blocks of a block-sparse weight exist."""

import secrets
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from tf_blocksparse import (
    _arguments,
    _layout_config,
    _layout_picture,
    _layout_scipy,
    _packed,
    patterns,
)


class BlockLayout:
    """Which blocks of a weight matrix `[inputs, outputs]` exist.

    A layout is made once and handed to every op and layer that works on the
    weight. It holds no values: those are an array `blocks` of shape
    `[nnz, b_in, b_out]`, where entry w is the tile
    `W[c * b_in:(c + 1) * b_in, k * b_out:(k + 1) * b_out]` of the w-th block
    (c, k), ordered by output k, then by input c. Sizes need not be multiples
    of the block size: entries of `blocks` beyond the edge are ignored.

    Layouts are immutable, hashable, equal if they describe the same blocks,
    and can be pickled and copied.

    Args:
      mask: `[input blocks, output blocks]` of bool, integer or float 0 and 1,
        true where a block exists.
      block_size: one int or `(b_in, b_out)`, each 1 to 256.
      inputs: number of input features; by default all rows of the mask full,
        otherwise any number whose last block is the mask's last row.
      outputs: the same for output features and the mask's columns.

    Raises:
      ValueError: if the mask is no such matrix, or a size doesn't fit.

    >>> layout = BlockLayout([[1, 0, 1], [0, 1, 1]], 4, outputs=10)
    >>> layout
    BlockLayout(inputs=8, outputs=10, block_size=(4, 4), nnz=4, sparsity=0.333)
    >>> print(layout)
    BlockLayout(inputs=8, outputs=10, block_size=(4, 4), nnz=4, sparsity=0.333)
    rows: inputs, columns: outputs; # block, . none
    #.#
    .##
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
        rows, columns = array.shape
        shape = (
            _arguments.features("inputs", inputs, rows, block_size[0]),
            _arguments.features("outputs", outputs, columns, block_size[1]),
        )
        packed = _packed.pack(array)
        self._set(
            _block_size=block_size,
            _hash=hash((shape, block_size, packed.tobytes())),
            _maker={},
            _mask=_frozen(array),
            _packed=_frozen(packed),
            _shape=shape,
        )

    @classmethod
    def random(
        cls,
        shape: tuple[int, int],
        block_size: int | tuple[int, int],
        *,
        sparsity: float,
        seed: int | None = None,
    ) -> "BlockLayout":
        """A random layout that gives every input and output equal work.

        The usual choice for training from scratch. Block counts per output
        differ by at most one, and so do block counts per input; every input
        and output has a block where the density allows.

        nnz = round(n * (1 - sparsity)) of n places, at least 1 unless the
        sparsity is 1.

        Args:
          shape: `(inputs, outputs)` in features.
          block_size: as for the class.
          sparsity: share of the blocks that is left out, 0 to 1.
          seed: an integer >= 0; it means the same layout on every machine and
            NumPy. None draws one, which `get_config()` tells.

        Raises:
          ValueError: if an argument is out of range.

        Source: see `patterns.balanced_random`.

        >>> BlockLayout.random((512, 256), 32, sparsity=0.75, seed=0).nnz
        32
        """
        grid, shape, block_size = _arguments.sizes(shape, block_size)
        count = patterns.block_count(grid, sparsity)
        _packed.check_length(grid, count)
        if seed is None:
            seed = secrets.randbits(32)
        mask = patterns.balanced_random(grid, count, seed)
        arguments = {"sparsity": float(sparsity), "seed": int(seed)}
        return cls(mask, block_size, *shape)._set(
            _maker={"maker": "random", **arguments}
        )

    @classmethod
    def dense(
        cls, shape: tuple[int, int], block_size: int | tuple[int, int]
    ) -> "BlockLayout":
        """The layout in which every block exists.

        Useful as the start of pruning, and to compare with dense layers.

        Args:
          shape: `(inputs, outputs)` in features.
          block_size: as for the class.

        Raises:
          ValueError: if an argument is out of range.

        >>> BlockLayout.dense((64, 100), 32).nnz
        8
        """
        grid, shape, block_size = _arguments.sizes(shape, block_size)
        _packed.check_length(grid, grid[0] * grid[1])
        mask = np.ones(grid, np.bool_)
        return cls(mask, block_size, *shape)._set(_maker={"maker": "dense"})

    @classmethod
    def block_diagonal(
        cls,
        shape: tuple[int, int],
        block_size: int | tuple[int, int],
        *,
        groups: int | None = None,
    ) -> "BlockLayout":
        """Full squares of blocks along the diagonal: a grouped layer.

        Input blocks and output blocks are each cut into `groups` runs whose
        lengths differ by at most one, and a group's inputs feed a group's
        outputs only.

        Args:
          shape: `(inputs, outputs)` in features.
          block_size: as for the class.
          groups: 1 to the smaller number of blocks of the two sides, which is
            the default.

        Raises:
          ValueError: if an argument is out of range.

        >>> print(BlockLayout.block_diagonal((128, 128), 32, groups=2))
        ... # doctest: +ELLIPSIS
        BlockLayout(...)
        rows: inputs, columns: outputs; # block, . none
        ##..
        ##..
        ..##
        ..##
        """
        grid, shape, block_size = _arguments.sizes(shape, block_size)
        mask = patterns.block_diagonal(grid, groups)
        groups = min(grid) if groups is None else int(groups)
        maker = {"maker": "block_diagonal", "groups": groups}
        return cls(mask, block_size, *shape)._set(_maker=maker)

    @classmethod
    def banded(
        cls,
        shape: tuple[int, int],
        block_size: int | tuple[int, int],
        *,
        bandwidth: int,
    ) -> "BlockLayout":
        """All blocks near the diagonal: each output sees its neighbourhood.

        For features with an order (time, frequency). On a square grid block
        (c, k) exists where |c - k| <= bandwidth; `patterns.banded` has the
        rule for others.

        Args:
          shape: `(inputs, outputs)` in features.
          block_size: as for the class.
          bandwidth: blocks on each side of the diagonal, >= 0.

        Raises:
          ValueError: if an argument is out of range.

        >>> BlockLayout.banded((128, 128), 32, bandwidth=1).nnz
        10
        """
        grid, shape, block_size = _arguments.sizes(shape, block_size)
        mask = patterns.banded(grid, bandwidth)
        maker = {"maker": "banded", "bandwidth": int(bandwidth)}
        return cls(mask, block_size, *shape)._set(_maker=maker)

    @classmethod
    def from_dense(
        cls, weight: npt.ArrayLike, block_size: int | tuple[int, int]
    ) -> "BlockLayout":
        """The blocks of a dense weight that hold anything but zeros.

        For a weight that was pruned in blocks elsewhere; `gather` then takes
        its values. A trained weight that was not pruned has every block. NaN
        counts as a value.

        Args:
          weight: `[inputs, outputs]` of real numbers.
          block_size: as for the class.

        Raises:
          ValueError: if `weight` is no such matrix or a size is out of range.

        >>> weight = np.zeros((6, 4))
        >>> weight[5, 1] = 3.0
        >>> layout = BlockLayout.from_dense(weight, (3, 2))
        >>> layout.mask.astype(int)
        array([[0, 0],
               [1, 0]])
        >>> layout.gather(weight)
        array([[[0., 0.],
                [0., 0.],
                [0., 3.]]])
        """
        array = _arguments.real_array("weight", weight, "[inputs, outputs]")
        if array.ndim != 2:
            raise ValueError(
                f"weight: got shape {array.shape}, expected [inputs, outputs]; "
                "reshape it to a matrix"
            )
        grid, shape, block_size = _arguments.sizes(array.shape, block_size)
        mask = array != 0
        for axis in (0, 1):
            starts = np.arange(grid[axis]) * block_size[axis]
            mask = np.logical_or.reduceat(mask, starts, axis)
        return cls(mask, block_size, *shape)

    @classmethod
    def from_scipy(
        cls, bsr: Any, inputs: int | None = None, outputs: int | None = None
    ) -> tuple["BlockLayout", npt.NDArray[Any]]:
        """The layout and the blocks of a SciPy BSR matrix W.

        SciPy orders blocks by input first, and may store a block twice; the
        blocks returned are in the layout's order, duplicates added up. Stored
        blocks count even where they are zero.

        Args:
          bsr: `scipy.sparse.bsr_array` or `bsr_matrix` of shape
            `(inputs, outputs)`.
          inputs: features that count, where the last input block of `bsr` is
            padded; by default all.
          outputs: the same for the outputs.

        Returns:
          `(layout, blocks)`: blocks `[nnz, b_in, b_out]` of `bsr`'s dtype.

        Raises:
          ValueError: if `bsr` is of another format, or its block size or
            indices are out of range.

        >>> import scipy.sparse
        >>> bsr = scipy.sparse.bsr_array(np.eye(4), blocksize=(2, 2))
        >>> layout, blocks = BlockLayout.from_scipy(bsr)
        >>> layout.nnz, blocks.shape
        (2, (2, 2, 2))
        """
        mask, block_size, blocks = _layout_scipy.read(bsr)
        return cls(mask, block_size, inputs, outputs), blocks

    @classmethod
    def from_packed(
        cls,
        packed: npt.ArrayLike,
        shape: tuple[int, int],
        block_size: int | tuple[int, int],
    ) -> "BlockLayout":
        """The layout of a packed vector, for instance from a checkpoint.

        Everything is checked: lengths, ranges, order, duplicates, and that
        the vector's two views describe the same blocks.

        Args:
          packed: int32 vector as in `packed`.
          shape: `(inputs, outputs)` in features.
          block_size: as for the class.

        Raises:
          ValueError: if the vector describes no layout of that shape.

        >>> layout = BlockLayout.dense((8, 8), 4)
        >>> BlockLayout.from_packed(layout.packed, (8, 8), 4) == layout
        True
        """
        grid, shape, block_size = _arguments.sizes(shape, block_size)
        array = _arguments.real_array("packed", packed, "a vector of int32")
        return cls(_packed.unpack(array, grid), block_size, *shape)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "BlockLayout":
        """The layout that `get_config` described.

        Args:
          config: what `get_config` gave, also after a trip through JSON.

        Raises:
          ValueError: if the config is none of these.

        >>> layout = BlockLayout.random((64, 64), 8, sparsity=0.5, seed=3)
        >>> BlockLayout.from_config(layout.get_config()) == layout
        True
        """
        rest = _layout_config.arguments(config)
        shape = rest.pop("inputs"), rest.pop("outputs")
        block_size, maker = rest.pop("block_size"), rest.pop("maker")
        if maker == "mask":
            grid, shape, block_size = _arguments.sizes(shape, block_size)
            mask = _layout_config.decode_mask(rest["mask"], grid)
            return cls(mask, block_size, *shape)
        make: Callable[..., BlockLayout] = getattr(cls, maker)
        return make(shape, block_size, **rest)

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
            **maker,
        }

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """Which blocks exist: bool `[input blocks, output blocks]`."""
        return self._mask

    @property
    def grid(self) -> tuple[int, int]:
        """(input blocks, output blocks): the mask's shape."""
        rows, columns = self._mask.shape
        return rows, columns

    @property
    def shape(self) -> tuple[int, int]:
        """(inputs, outputs) in features: the shape of the dense weight."""
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
        rows, columns = self.grid
        return (self._packed.size - rows - columns - 2) // 3

    @property
    def blocks_shape(self) -> tuple[int, int, int]:
        """Shape of the array of values: (nnz, b_in, b_out)."""
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
        `blocks` of each.

        >>> BlockLayout([[1, 0], [1, 1]], 8).packed
        array([0, 2, 3, 0, 1, 1, 0, 1, 3, 0, 0, 1, 0, 1, 2], dtype=int32)
        """
        return self._packed

    def transpose(self) -> "BlockLayout":
        """The layout of the transposed weight `[outputs, inputs]`.

        `transpose_blocks` brings the values into its order:
        `layout.transpose().to_dense(layout.transpose_blocks(blocks))` is
        `layout.to_dense(blocks).T`.

        >>> BlockLayout([[1, 0, 1]], (4, 8)).transpose().shape
        (24, 4)
        """
        return BlockLayout(
            self._mask.T, self._block_size[::-1], self.outputs, self.inputs
        )

    def transpose_blocks(self, blocks: npt.ArrayLike) -> npt.NDArray[Any]:
        """The values for `transpose()`: reordered, each block transposed.

        Args:
          blocks: `[nnz, b_in, b_out]` of real numbers.

        Returns:
          NumPy array `[nnz, b_out, b_in]` of the same dtype.

        Raises:
          ValueError: if `blocks` has another shape.

        >>> layout = BlockLayout([[1, 1], [1, 0]], 1)
        >>> layout.transpose_blocks([[[1]], [[2]], [[3]]]).ravel()
        array([1, 3, 2])
        """
        array = self._check_blocks(blocks)
        order = _packed.split(self._packed, self.grid).block_id
        return np.ascontiguousarray(array[order].swapaxes(1, 2))

    def to_dense(self, blocks: npt.ArrayLike) -> npt.NDArray[Any]:
        """The dense weight, zero where no block exists.

        Args:
          blocks: `[nnz, b_in, b_out]` of real numbers; entries beyond the
            last input or output are ignored.

        Returns:
          NumPy array `[inputs, outputs]` of the same dtype.

        Raises:
          ValueError: if `blocks` has another shape.

        >>> BlockLayout([[0, 1]], (1, 2)).to_dense([[[5, 6]]])
        array([[0, 0, 5, 6]])
        """
        array = self._check_blocks(blocks)
        rows, columns = self.grid
        b_in, b_out = self._block_size
        tiles = np.zeros((rows, b_in, columns, b_out), array.dtype)
        c, k = _packed.places(self._packed, self.grid)
        tiles[c, :, k, :] = array
        padded = tiles.reshape(rows * b_in, columns * b_out)
        return np.ascontiguousarray(padded[: self.inputs, : self.outputs])

    def gather(self, weight: npt.ArrayLike) -> npt.NDArray[Any]:
        """The values of a dense weight where blocks exist.

        blocks[w] = W[c * b_in:(c + 1) * b_in, k * b_out:(k + 1) * b_out] of
        the w-th block (c, k), zero beyond the last input or output.

        Args:
          weight: `[inputs, outputs]` of real numbers.

        Returns:
          NumPy array `[nnz, b_in, b_out]` of the same dtype.

        Raises:
          ValueError: if `weight` has another shape.

        >>> BlockLayout([[0, 1]], (1, 2)).gather([[1, 2, 3, 4]])
        array([[[3, 4]]])
        """
        array = _arguments.real_array("weight", weight, f"{self._shape}")
        if array.shape != self._shape:
            raise ValueError(
                f"weight: got shape {array.shape}, expected (inputs, outputs) "
                f"= {self._shape}; transpose or reshape it"
            )
        rows, columns = self.grid
        b_in, b_out = self._block_size
        padded = np.zeros((rows * b_in, columns * b_out), array.dtype)
        padded[: self.inputs, : self.outputs] = array
        c, k = _packed.places(self._packed, self.grid)
        return padded.reshape(rows, b_in, columns, b_out)[c, :, k, :]

    def to_scipy(self, blocks: npt.ArrayLike) -> Any:
        """The weight as a SciPy BSR array; `from_scipy` is the way back.

        Args:
          blocks: `[nnz, b_in, b_out]` of a dtype SciPy knows.

        Returns:
          `scipy.sparse.bsr_array` of `(inputs, outputs)`, each rounded up to
          whole blocks, as SciPy needs; entries beyond the edge are zero.

        Raises:
          ValueError: if `blocks` has another shape.
          ImportError: if SciPy is not installed.

        >>> BlockLayout([[0, 1]], (1, 2)).to_scipy([[[5, 6]]]).toarray()
        array([[0, 0, 5, 6]])
        """
        return _layout_scipy.write(self, self._check_blocks(blocks))

    def plot(self, ax: Any = None) -> Any:
        """Draws the layout with matplotlib: blocks black, features as units.

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
        return (
            f"BlockLayout(inputs={self.inputs}, outputs={self.outputs}, "
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
        return _unpickle, (bits, self.grid, sizes, self._maker)

    def _set(self, **attributes: Any) -> "BlockLayout":
        for name, value in attributes.items():
            object.__setattr__(self, name, value)
        return self

    def _check_blocks(self, blocks: npt.ArrayLike) -> npt.NDArray[Any]:
        array = _arguments.real_array("blocks", blocks, f"{self.blocks_shape}")
        if array.shape != self.blocks_shape:
            raise ValueError(
                f"blocks: got shape {array.shape}, expected (nnz, b_in, b_out) "
                f"= {self.blocks_shape}; take the blocks of this layout"
            )
        return array


def _unpickle(
    bits: npt.NDArray[np.uint8],
    grid: tuple[int, int],
    sizes: tuple[tuple[int, int], int, int],
    maker: dict[str, Any],
) -> BlockLayout:
    mask = np.unpackbits(bits, count=grid[0] * grid[1]).reshape(grid)
    return BlockLayout(mask, *sizes)._set(_maker=maker)


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A copy that nobody can make writable again: hashes rely on it."""
    data = np.frombuffer(array.tobytes(), array.dtype)
    return data.reshape(array.shape)
