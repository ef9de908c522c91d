# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Finds from which sparsity on a block size beats dense, by measuring few."""

import dataclasses
import time
from collections.abc import Callable, Sequence

PRODUCTS = ("forward", "training")
# The sparsity that speed-ups are told for comes first, should time run out.
TOLD = 0.9
GRID = (TOLD, 0.5, 0.75, 0.95, 0.98)
HIGHEST = 0.99
# Closer, timings of a machine in use no longer tell two sparsities apart.
TOLERANCE = 0.02
# Of the grid's ends, of the crossover of a line, of its two sides.
_REFINEMENTS = 4

Request = tuple[int, float]  # block size, sparsity


@dataclasses.dataclass(frozen=True)
class Point:
    """Medians of a product beside those of the dense one in the same turns."""

    block_size: int
    product: str  # of PRODUCTS
    sparsity: float
    dense_ms: float
    sparse_ms: float

    @property
    def speed_up(self) -> float:
        """How many sparse products take as long as a dense one."""
        return self.dense_ms / self.sparse_ms


@dataclasses.dataclass(frozen=True)
class Crossover:
    """From where on a block size beats dense.

    Attributes:
      kind: "from" a sparsity on; "always", if the measured ones go down to 0;
        "below", if it wins at all that were measured, of which `sparsity` is
        the lowest; "never", if it loses at the highest.
      sparsity: where the line between the last loss and the next win crosses
        the dense time; else the lowest, or highest, that was measured.
      between: that last loss and next win; what lies between was not measured.
    """

    kind: str
    sparsity: float
    between: tuple[float, float] | None = None


def crossover(points: Sequence[Point]) -> Crossover:
    """Where the points of one block size and product begin to win for good.

    A win below a loss doesn't count. Between two points, the time is taken as
    a line over the sparsity: it is made of what each block costs.

    Raises:
      ValueError: if there are no points.
    """
    if not points:
        raise ValueError("points: got none, expected one at least; measure one")
    points = sorted(points, key=lambda point: point.sparsity)
    losses = [i for i, point in enumerate(points) if point.speed_up <= 1]
    if not losses:
        lowest = points[0].sparsity
        return Crossover("below" if lowest else "always", lowest)
    if losses[-1] == len(points) - 1:
        return Crossover("never", points[-1].sparsity)
    loss, win = points[losses[-1] : losses[-1] + 2]
    above = 1 / loss.speed_up - 1
    below = 1 - 1 / win.speed_up
    share = above / (above + below)
    low, high = loss.sparsity, win.sparsity
    return Crossover("from", low + share * (high - low), (low, high))


def next_sparsity(points: Sequence[Point]) -> float | None:
    """What to measure next to know the crossover better; None if known."""
    found = crossover(points)
    if found.between is None:
        end = HIGHEST if found.kind == "never" else 0.0
        known = found.kind == "always" or found.sparsity >= HIGHEST
        return None if known else end
    low, high = found.between
    if high - low <= TOLERANCE:
        return None
    # A line is so good a guess that the next point may miss only by a little.
    # Half of the tolerance to the farther side, it ends the search if it hits.
    middle = (low + high) / 2
    step = TOLERANCE / 2 if found.sparsity < middle else -TOLERANCE / 2
    nearest = low + TOLERANCE / 2, high - TOLERANCE / 2
    return min(max(found.sparsity + step, nearest[0]), nearest[1])


def possible(sparsity: float, places: int) -> float:
    """The sparsity that a layout with so many places really has.

    1 - max(1, round(places * (1 - sparsity))) / places
    """
    return 1 - max(1, round(places * (1 - sparsity))) / places


def search(
    measure: Callable[[list[Request], float], list[Point]],
    places: dict[int, int],
    seconds: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    progress: Callable[[float], None] = lambda share: None,
) -> list[Point]:
    """Measures a grid of sparsities, then those near the crossovers.

    Args:
      measure: times the requests and the dense products in turns, for about so
        many seconds; returns a point for each request and product.
      places: of blocks, for each block size.
      seconds: after so many, no further measurement begins.
      clock: tells the seconds.
      progress: called with the share that is done.
    """
    points: list[Point] = []
    asked: set[Request] = set()
    end = clock() + seconds
    groups = len(GRID) + _REFINEMENTS
    for group in range(groups):
        left = end - clock()
        if group and left <= 0:
            break
        if group < len(GRID):
            wanted = [(size, GRID[group]) for size in places]
        else:
            wanted = _refinements(points, places)
        requests = _new(wanted, places, asked)
        if requests:
            asked.update(requests)
            points += measure(requests, max(0.0, left) / (groups - group))
        progress((group + 1) / groups)
    progress(1.0)
    return points


def of(points: Sequence[Point], block_size: int, product: str) -> list[Point]:
    """Those of one block size and product."""
    return [
        point
        for point in points
        if (point.block_size, point.product) == (block_size, product)
    ]


def _refinements(
    points: Sequence[Point], places: dict[int, int]
) -> list[Request]:
    found = []
    for size in places:
        for product in PRODUCTS:
            sparsity = next_sparsity(of(points, size, product))
            if sparsity is not None:
                found.append((size, sparsity))
    return found


def _new(
    wanted: Sequence[Request], places: dict[int, int], asked: set[Request]
) -> list[Request]:
    """What layouts can have and was not asked for, each once."""
    requests = ((size, possible(s, places[size])) for size, s in wanted)
    return [r for r in dict.fromkeys(requests) if r not in asked]
