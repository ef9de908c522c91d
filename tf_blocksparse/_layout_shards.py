# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Layouts cut into shards, and put together again."""

import dataclasses
import functools
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tf_blocksparse import _arguments, _packed

if TYPE_CHECKING:
    from tf_blocksparse.layout import BlockLayout

# In the order of the mask's last two axes.
_AXES = ("inputs", "outputs")


@dataclasses.dataclass(frozen=True)
class LayoutShard:
    """A part of a layout: all blocks of a run of its inputs or outputs.

    `BlockLayout.split` makes them. Shards are immutable, hashable, and equal if
    they are the same part of equal layouts.

    Attributes:
      whole: the layout that was split.
      axis: "inputs" or "outputs", of which the shard has a run.
      features: which ones: `x[..., shard.features]` are the inputs of a shard
        of inputs, `bias[shard.features]` is the bias of one of outputs.
      layout: the `BlockLayout` of the shard.
      block_ids: int64 `[layout.nnz]`, ascending, the places of its blocks in
        those of the whole: `blocks[shard.block_ids]` are the shard's.

    >>> whole = BlockLayout([[1, 0, 1], [0, 1, 1]], 4)
    >>> shard = whole.split("outputs", 2)[1]
    >>> shard.layout
    BlockLayout(inputs=8, outputs=4, block_size=(4, 4), nnz=2, sparsity=0.000)
    >>> shard.features
    slice(8, 12, None)
    >>> shard.block_ids
    array([2, 3])
    """

    whole: "BlockLayout"
    axis: str
    _first: int  # blocks along the axis, from here
    _end: int  # to before here

    def __reduce__(self) -> tuple[Any, ...]:
        # Without what is cached: an array that is read could be written.
        return LayoutShard, (self.whole, self.axis, self._first, self._end)

    @property
    def features(self) -> slice:
        """The inputs, or outputs, that the shard has."""
        axis = _AXES.index(self.axis)
        size = self.whole.block_size[axis]
        end = min(self._end * size, self.whole.shape[axis])
        return slice(self._first * size, end)

    @functools.cached_property
    def layout(self) -> "BlockLayout":
        """The layout of the shard alone."""
        run = slice(self._first, self._end)
        features = self.features
        shape = list(self.whole.shape)
        shape[_AXES.index(self.axis)] = features.stop - features.start
        mask = self.whole.mask
        own = mask[..., run, :] if self.axis == "inputs" else mask[..., run]
        return type(self.whole)(own, self.whole.block_size, *shape)

    @functools.cached_property
    def block_ids(self) -> npt.NDArray[np.int64]:
        """The places of the shard's blocks among those of the whole."""
        whole = self.whole
        rows, columns = _packed.places(whole.packed, whole.packed_grid)
        place = columns
        if self.axis == "inputs":
            place = rows // (whole.taps or 1)
        ids = np.flatnonzero((self._first <= place) & (place < self._end))
        ids.setflags(write=False)
        return ids


def split(
    whole: "BlockLayout", axis: object, parts: object
) -> tuple[LayoutShard, ...]:
    """The shards of a layout; see `BlockLayout.split`."""
    name = _axis(axis)
    number = _AXES.index(name)
    if isinstance(parts, (tuple, list, np.ndarray)) and np.ndim(parts):
        ends = _ends_of_sizes(whole, number, list(parts))
    else:
        most = whole.grid[number]
        count = _arguments.integer(
            "parts", parts, 1, most, f"{name} are {most} blocks"
        )
        blocks = np.count_nonzero(_packed.rows_of(whole.mask), 1 - number)
        load = blocks.reshape(most, -1).sum(1, dtype=np.int64)
        ends = balanced(load, count)
    return tuple(
        LayoutShard(whole, name, first, end)
        for first, end in itertools.pairwise([0, *ends])
    )


def join(
    kind: type, axis: object, layouts: object
) -> tuple[npt.NDArray[np.bool_], _arguments.Sizes]:
    """The mask and the sizes of layouts, of a kind, side by side."""
    number = _AXES.index(_axis(axis))
    if (
        not isinstance(layouts, (tuple, list))
        or not layouts
        or not all(isinstance(each, kind) for each in layouts)
    ):
        raise ValueError(
            f"layouts: got {_arguments.shown(layouts)}, expected a list of at "
            "least one BlockLayout; pass those of the shards, in their order"
        )
    first = layouts[0]
    size, other = first.block_size, first.shape[1 - number]
    for index, each in enumerate(layouts):
        got = each.block_size, each.taps, each.shape[1 - number]
        if got != (size, first.taps, other):
            raise ValueError(
                f"layouts[{index}]: got block_size={got[0]}, taps={got[1]} and "
                f"{got[2]} {_AXES[1 - number]}, expected {size}, {first.taps} "
                f"and {other} as layouts[0] has; join layouts that are alike"
            )
        if index < len(layouts) - 1 and each.shape[number] % size[number]:
            raise ValueError(
                f"layouts[{index}]: got {each.shape[number]} {_AXES[number]}, "
                f"expected a multiple of the block size {size[number]} of all "
                "but the last layout; put it last"
            )
    shape = list(first.shape)
    shape[number] = sum(each.shape[number] for each in layouts)
    masks = [each.mask for each in layouts]
    taps = [] if first.taps is None else [first.taps]
    sizes = _arguments.sizes((*taps, *shape), size)
    return np.concatenate(masks, number - 2), sizes


def balanced(load: npt.NDArray[np.int64], parts: int) -> list[int]:
    """Where runs of places end whose largest load is as small as can be.

    Every run has at least one place. Of all the ways to reach the smallest
    largest load, each run takes, from the first to the last, as nearly as it
    can its share of what is left; of two equally near ends the first.

    >>> balanced(np.array([3, 1, 1, 1, 3]), 3)
    [1, 4, 5]
    """
    total = np.concatenate([[0], np.cumsum(load)])
    low = max(int(load.max()), -(-int(total[-1]) // parts))
    high = int(total[-1])
    while low < high:
        middle = (low + high) // 2
        if _latest(total, parts, middle)[-1] == load.size:
            high = middle
        else:
            low = middle + 1
    # The mirror image's latest ends are the earliest that leave no run more.
    mirrored = total[-1] - total[::-1]
    earliest = load.size - np.array(_latest(mirrored, parts, low)[::-1])
    ends = [0]
    for run in range(1, parts):
        start, left = ends[-1], parts - run
        first = max(start + 1, int(earliest[run]))
        last = _furthest(total, start, low, left)
        share = (total[-1] - total[start]) / (left + 1)
        away = np.abs(total[first : last + 1] - total[start] - share)
        ends.append(first + int(np.argmin(away)))
    return [*ends[1:], load.size]


def _latest(total: npt.NDArray[np.int64], parts: int, most: int) -> list[int]:
    """Where runs begin and end if each takes as much as it may."""
    ends = [0]
    for run in range(1, parts + 1):
        ends.append(_furthest(total, ends[-1], most, parts - run))
    return ends


def _furthest(
    total: npt.NDArray[np.int64], start: int, most: int, left: int
) -> int:
    """The last end of a run of at most `most`, with places for those left."""
    end = int(np.searchsorted(total, total[start] + most, "right")) - 1
    return min(end, total.size - 1 - left)


def _axis(value: object) -> str:
    if not isinstance(value, str) or value not in _AXES:
        raise ValueError(
            f"axis: got {_arguments.shown(value)}, expected 'inputs' or "
            "'outputs'; shards of outputs are concatenated, those of inputs "
            "summed up"
        )
    return value


def _ends_of_sizes(
    whole: "BlockLayout", number: int, sizes: list[Any]
) -> list[int]:
    """The blocks before which runs of so many features end."""
    size, features = whole.block_size[number], whole.shape[number]
    advice = "give the features of each shard"
    checked = [
        _arguments.integer(f"parts[{index}]", each, 1, None, advice)
        for index, each in enumerate(sizes)
    ]
    if sum(checked) != features:
        raise ValueError(
            f"parts: got {_arguments.shown(sizes)} with the sum "
            f"{sum(checked)}, expected {features} {_AXES[number]} in all; "
            f"{advice}"
        )
    for index, each in enumerate(checked[:-1]):
        if each % size:
            raise ValueError(
                f"parts[{index}]: got {each}, expected a multiple of the block "
                f"size {size}; a block lies in one shard"
            )
    return [-(-end // size) for end in itertools.accumulate(checked)]
