# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""How many blocks each layer keeps."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tf_blocksparse import _arguments
from tf_blocksparse.conversion import _criteria
from tf_blocksparse.patterns.block_count import keep_count

DISTRIBUTIONS = ("uniform", "erdos_renyi_kernel", "global")


def check_distribution(distribution: object) -> str:
    """`distribution` if it is the name of one."""
    if isinstance(distribution, str) and distribution in DISTRIBUTIONS:
        return distribution
    raise ValueError(
        f"distribution: got {_arguments.shown(distribution)}, expected one of "
        f"{', '.join(DISTRIBUTIONS)}"
    )


def total(places: Sequence[int], sparsities: Sequence[float]) -> int:
    """How many blocks are kept in all: round(places * (1 - sparsity)).

    But at least one of each layer, unless its sparsity is 1.
    """
    exact = math.fsum(
        count * (1.0 - sparsity)
        for count, sparsity in zip(places, sparsities, strict=True)
    )
    least = sum(_least(count, s) for count, s in zip(places, sparsities,
                                                     strict=True))  # fmt: skip
    return max(round(exact), least)


def _least(places: int, sparsity: float) -> int:
    return 0 if sparsity == 1.0 else min(1, places)


def uniform(
    places: Sequence[int], sparsities: Sequence[float], available: Sequence[int]
) -> list[int]:
    """Of each layer its own share; no more than are there."""
    return [
        min(keep_count(count, sparsity), there)
        for count, sparsity, there in zip(
            places, sparsities, available, strict=True
        )
    ]


def erdos_renyi_kernel(
    shapes: Sequence[tuple[int, ...]],
    places: Sequence[int],
    sparsities: Sequence[float],
    available: Sequence[int],
    budget: int,
) -> list[int]:
    """Densities in proportion to sum(kernel's sizes) / product of them.

    A layer that would get more than it has keeps all, and the others share
    what is left. Counts are rounded by the largest remainders, so that they
    add up to `budget` exactly, if so many blocks are there.

    Source: Evci et al., Rigging the Lottery: Making All Tickets Winners, 2020.

    Args:
      shapes: of each layer's kernel, `(spatial..., inputs, outputs)`.
      places: of each layer's kernel.
      sparsities: asked of each; one with 1 gets nothing.
      available: blocks that each has now.
      budget: blocks to give away.

    >>> erdos_renyi_kernel([(64, 64), (64, 256)], [16, 64], [0.9, 0.9],
    ...                    [16, 64], 8)
    [2, 6]
    """
    least = np.array(list(map(_least, places, sparsities)))
    most = np.array(
        [
            0 if s == 1.0 else there
            for s, there in zip(sparsities, available, strict=True)
        ]
    )
    share = np.array(
        [
            sum(shape) / math.prod(shape) * count
            for shape, count in zip(shapes, places, strict=True)
        ]
    )
    exact = _capped(share, least, most, min(budget, int(most.sum())))
    return _rounded(exact, least, most)


def _capped(share: Any, least: Any, most: Any, budget: int) -> Any:
    """`share` times one factor, within bounds, with the sum of `budget`."""
    low, high = 0.0, 1.0
    while np.clip(high * share, least, most).sum() < budget and high < 1e18:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if np.clip(middle * share, least, most).sum() < budget:
            low = middle
        else:
            high = middle
    return np.clip(high * share, least, most)


def _rounded(exact: Any, least: Any, most: Any) -> list[int]:
    """Whole numbers with the same sum, by the largest remainders."""
    wanted = round(float(exact.sum()))
    # A number that is whole but for rounding stays so.
    floors = np.floor(exact + 1e-9)
    counts = np.clip(floors, least, most).astype(int)
    order = np.argsort(-(exact - floors), kind="stable")
    while counts.sum() < wanted:
        before = counts.sum()
        for index in order:
            if counts.sum() < wanted and counts[index] < most[index]:
                counts[index] += 1
        if counts.sum() == before:
            break
    return [int(count) for count in counts]


def global_ranking(
    scores: Sequence[npt.NDArray[Any]],
    sparsities: Sequence[float],
    budget: int,
) -> list[npt.NDArray[np.bool_]]:
    """The heaviest blocks of all layers together.

    The heaviest of each layer is kept in any case, unless its sparsity is 1:
    a layer without blocks would cut the model. Of equal scores the earlier
    layer's, then the earlier block.

    >>> [kept.astype(int).tolist() for kept in global_ranking(
    ...     [np.array([5, 1, 4]), np.array([2, 3])], [0.4, 0.4], 3)]
    [[1, 0, 1], [0, 1]]
    """
    kept = [
        _criteria.heaviest(each, _least(len(each), sparsity))
        for each, sparsity in zip(scores, sparsities, strict=True)
    ]
    chosen = np.concatenate([*kept, np.zeros(0, np.bool_)])
    ranked = np.concatenate([
        *(
            np.full(len(each), -1.0) if sparsity == 1.0 else each
            for each, sparsity in zip(scores, sparsities, strict=True)
        ),
        np.zeros(0),
    ])  # fmt: skip
    ranked[chosen] = np.inf
    count = min(max(budget, int(chosen.sum())), int((ranked >= 0).sum()))
    flat = _criteria.heaviest(ranked, count)
    ends = np.cumsum([len(each) for each in scores])
    return [np.asarray(part) for part in np.split(flat, ends)[: len(scores)]]
