# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The class methods of `BlockLayout` that make one.

They are the class's base, for the size of the file alone.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tf_blocksparse import (
    _arguments,
    _layout_config,
    _layout_pattern,
    _layout_scipy,
    _layout_shards,
    _layout_values,
    _packed,
    patterns,
)

if TYPE_CHECKING:
    from tf_blocksparse.layout import BlockLayout

_Mask = npt.NDArray[np.bool_]


class LayoutMakers:
    """What `BlockLayout` can be made by, beside its constructor."""

    __slots__ = ()

    @classmethod
    def _make(
        cls, mask: _Mask, sizes: _arguments.Sizes, **maker: Any
    ) -> "BlockLayout":
        """The layout of a mask; `maker` is what its config holds."""
        raise NotImplementedError

    @classmethod
    def _of_every_tap(
        cls, mask: _Mask, sizes: _arguments.Sizes, **maker: Any
    ) -> "BlockLayout":
        """The layout with the same matrix of blocks for every tap."""
        count = int(np.count_nonzero(mask)) * (sizes.taps or 1)
        _packed.check_length(sizes.packed_grid, count)
        return cls._make(
            np.broadcast_to(mask, sizes.mask_shape), sizes, **maker
        )

    @classmethod
    def random(
        cls,
        shape: tuple[int, ...],
        block_size: int | tuple[int, int],
        *,
        sparsity: float,
        seed: int | None = None,
        groups: int = 1,
    ) -> "BlockLayout":
        """A random layout that gives every input and output equal work.

        The usual choice for training from scratch. Block counts per output
        differ by at most one, and so do block counts per input; every input
        and output has a block where the density allows.

        nnz = round(n * (1 - sparsity)) of n places, at least 1 unless the
        sparsity is 1. A kernel has a place for each tap; its counts are even
        over the pairs of an input block and a tap.

        Args:
          shape: `(inputs, outputs)` in features, or a kernel's shape, for a
            layout per tap.
          block_size: as for the class.
          sparsity: share of the blocks that is left out, 0 to 1.
          seed: an integer >= 0; it means the same layout on every machine and
            NumPy. None draws one, which `get_config()` tells.
          groups: cuts inputs and outputs into that many equal runs; blocks
            lie only where both are of one group, and only those places count
            for `sparsity`.

        Raises:
          ValueError: if an argument is out of range, or a group is not of
            whole blocks.

        Source: see `patterns.balanced_random`.

        >>> BlockLayout.random((512, 256), 32, sparsity=0.75, seed=0).nnz
        32
        >>> BlockLayout.random((3, 3, 64, 128), 32, sparsity=0.75, seed=0)
        ... # doctest: +NORMALIZE_WHITESPACE
        BlockLayout(taps=9, inputs=64, outputs=128, block_size=(32, 32),
                    nnz=18, sparsity=0.750)
        """
        sizes = _arguments.sizes(shape, block_size)
        groups = _arguments.groups(groups, sizes.shape, sizes.block_size)
        grid = sizes.packed_grid
        count = patterns.block_count(grid, sparsity, groups)
        _packed.check_length(grid, count)
        if seed is None:
            seed = secrets.randbits(32)
        mask = patterns.balanced_random(grid, count, seed, groups)
        return cls._make(
            _packed.taps_of(mask, sizes.taps),
            sizes,
            maker="random",
            sparsity=float(sparsity),
            seed=int(seed),
            **({} if groups == 1 else {"groups": groups}),
        )

    @classmethod
    def dense(
        cls, shape: tuple[int, ...], block_size: int | tuple[int, int]
    ) -> "BlockLayout":
        """The layout in which every block exists.

        Useful as the start of pruning, and to compare with dense layers.

        Args:
          shape: `(inputs, outputs)` in features, or a kernel's shape, for a
            layout per tap.
          block_size: as for the class.

        Raises:
          ValueError: if an argument is out of range.

        >>> BlockLayout.dense((64, 100), 32).nnz
        8
        """
        sizes = _arguments.sizes(shape, block_size)
        rows, columns = sizes.packed_grid
        _packed.check_length((rows, columns), rows * columns)
        mask = np.ones(sizes.mask_shape, np.bool_)
        return cls._make(mask, sizes, maker="dense")

    @classmethod
    def block_diagonal(
        cls,
        shape: tuple[int, ...],
        block_size: int | tuple[int, int],
        *,
        groups: int | None = None,
    ) -> "BlockLayout":
        """Full squares of blocks along the diagonal: a grouped layer.

        Input blocks and output blocks are each cut into `groups` runs whose
        lengths differ by at most one, and a group's inputs feed a group's
        outputs only.

        Args:
          shape: `(inputs, outputs)` in features, or a kernel's shape, for a
            layout per tap.
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
        sizes = _arguments.sizes(shape, block_size)
        mask = patterns.block_diagonal(sizes.grid, groups)
        groups = min(sizes.grid) if groups is None else int(groups)
        return cls._of_every_tap(
            mask, sizes, maker="block_diagonal", groups=groups
        )

    @classmethod
    def banded(
        cls,
        shape: tuple[int, ...],
        block_size: int | tuple[int, int],
        *,
        bandwidth: int,
    ) -> "BlockLayout":
        """All blocks near the diagonal: each output sees its neighbourhood.

        For features with an order (time, frequency). On a square grid block
        (c, k) exists where |c - k| <= bandwidth; `patterns.banded` has the
        rule for others.

        Args:
          shape: `(inputs, outputs)` in features, or a kernel's shape, for a
            layout per tap.
          block_size: as for the class.
          bandwidth: blocks on each side of the diagonal, >= 0.

        Raises:
          ValueError: if an argument is out of range.

        >>> BlockLayout.banded((128, 128), 32, bandwidth=1).nnz
        10
        """
        sizes = _arguments.sizes(shape, block_size)
        mask = patterns.banded(sizes.grid, bandwidth)
        return cls._of_every_tap(
            mask, sizes, maker="banded", bandwidth=int(bandwidth)
        )

    @classmethod
    def from_pattern(
        cls,
        pattern: str | Callable[..., patterns.Mask],
        shape: tuple[int, ...],
        block_size: int | tuple[int, int],
        **arguments: Any,
    ) -> "BlockLayout":
        """The layout that a maker of `patterns` makes.

        For small worlds, butterflies and all other makers. Its config holds
        the maker's name and arguments, not the mask, so it stays small.

        Args:
          pattern: a function of `patterns` that makes one mask of a grid, such
            as `patterns.barabasi_albert`, or its name.
          shape: `(inputs, outputs)` in features, or a kernel's shape, for a
            layout per tap with the same matrix of blocks for every tap.
          block_size: as for the class.
          **arguments: those of the maker, without its grid.

        Raises:
          ValueError: if `pattern` is none of these, or an argument is missing,
            unknown or out of range.

        Source: see the makers.

        >>> layout = BlockLayout.from_pattern(
        ...     "barabasi_albert", (512, 512), 32, m=2, seed=0
        ... )
        >>> layout.nnz
        74
        >>> layout.get_config()  # doctest: +NORMALIZE_WHITESPACE
        {'inputs': 512, 'outputs': 512, 'block_size': [32, 32],
         'maker': 'pattern', 'pattern': 'barabasi_albert',
         'arguments': {'m': 2, 'seed': 0}}
        """
        return cls._from_pattern(pattern, shape, block_size, arguments)

    @classmethod
    def _from_pattern(
        cls, pattern: Any, shape: Any, block_size: Any, given: Any
    ) -> "BlockLayout":
        name, function = _layout_pattern.maker(pattern)
        arguments = _layout_pattern.arguments(name, function, given)
        sizes = _arguments.sizes(shape, block_size)
        return cls._of_every_tap(
            function(sizes.grid, **arguments),
            sizes,
            maker="pattern",
            pattern=name,
            arguments=_layout_pattern.plain_dict(arguments),
        )

    @classmethod
    def from_dense(
        cls, weight: npt.ArrayLike, block_size: int | tuple[int, int]
    ) -> "BlockLayout":
        """The blocks of a dense weight that hold anything but zeros.

        For a weight that was pruned in blocks elsewhere; `gather` then takes
        its values. A trained weight that was not pruned has every block. NaN
        counts as a value.

        Args:
          weight: `[inputs, outputs]` of real numbers, or a kernel
            `[spatial..., inputs, outputs]`, for a layout per tap.
          block_size: as for the class.

        Raises:
          ValueError: if `weight` is no such array or a size is out of range.

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
        expected = "[inputs, outputs] or [spatial..., inputs, outputs]"
        array = _arguments.real_array("weight", weight, expected)
        if array.ndim < 2:
            raise ValueError(
                f"weight: got shape {array.shape}, expected {expected}; "
                "reshape it to a matrix"
            )
        sizes = _arguments.sizes(array.shape, block_size)
        return cls._make(_layout_values.mask_of(array, sizes), sizes)

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
        rows, columns = mask.shape
        shape = (
            _arguments.features("inputs", inputs, rows, block_size[0]),
            _arguments.features("outputs", outputs, columns, block_size[1]),
        )
        return cls._make(mask, _arguments.sizes(shape, block_size)), blocks

    @classmethod
    def join(cls, axis: str, layouts: Sequence["BlockLayout"]) -> "BlockLayout":
        """The layout of weights side by side: the way back from `split`.

        Blocks of the parts are those of the whole in another order, which
        `split` tells, here of three shards:

            joined = BlockLayout.join(axis, layouts)
            shards = joined.split(axis, [x.inputs for x in layouts])
            for shard, part in zip(shards, parts):
                blocks[shard.block_ids] = part

        with outputs in place of inputs for axis "outputs".

        Args:
          axis: "outputs" or "inputs", along which they lie side by side.
          layouts: list of layouts, equal in block size, taps and the other
            axis; all but the last have whole blocks along `axis`.

        Returns:
          `BlockLayout` with the sum of their inputs, or outputs.

        Raises:
          ValueError: if the layouts do not fit together.

        >>> left, right = BlockLayout([[1], [0]], 4), BlockLayout([[1], [1]], 4)
        >>> BlockLayout.join("outputs", [left, right]).mask.astype(int)
        array([[1, 1],
               [0, 1]])
        """
        return cls._make(*_layout_shards.join(LayoutMakers, axis, layouts))

    @classmethod
    def from_packed(
        cls,
        packed: npt.ArrayLike,
        shape: tuple[int, ...],
        block_size: int | tuple[int, int],
    ) -> "BlockLayout":
        """The layout of a packed vector, for instance from a checkpoint.

        Everything is checked: lengths, ranges, order, duplicates, and that
        the vector's two views describe the same blocks.

        Args:
          packed: int32 vector as in `packed`.
          shape: `(inputs, outputs)` in features, or a kernel's shape, for a
            layout per tap.
          block_size: as for the class.

        Raises:
          ValueError: if the vector describes no layout of that shape.

        >>> layout = BlockLayout.dense((8, 8), 4)
        >>> BlockLayout.from_packed(layout.packed, (8, 8), 4) == layout
        True
        """
        sizes = _arguments.sizes(shape, block_size)
        array = _arguments.real_array("packed", packed, "a vector of int32")
        mask = _packed.unpack(array, sizes.packed_grid)
        return cls._make(_packed.taps_of(mask, sizes.taps), sizes)

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
        taps = [rest.pop("taps")] if "taps" in rest else []
        shape = (*taps, rest.pop("inputs"), rest.pop("outputs"))
        block_size, maker = rest.pop("block_size"), rest.pop("maker")
        if maker == "mask":
            sizes = _arguments.sizes(shape, block_size)
            mask = _layout_config.decode_mask(rest["mask"], sizes.mask_shape)
            return cls._make(mask, sizes)
        if maker == "pattern":
            return cls._from_pattern(
                rest["pattern"], shape, block_size, rest["arguments"]
            )
        make: Callable[..., BlockLayout] = getattr(cls, maker)
        return make(shape, block_size, **rest)
