# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What is measured, and what follows from it, with times that are made up."""

import itertools

import pytest

from tf_blocksparse.advise import _search
from tf_blocksparse.advise._search import Crossover, Point

PLACES = {8: 4096, 32: 256}


def points(*pairs):
    """Points of (sparsity, time of a sparse product beside 1)."""
    return [Point(8, "forward", s, 1.0, ms) for s, ms in pairs]


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([(0.5, 1.5), (0.9, 0.5)], Crossover("from", 0.7, (0.5, 0.9))),
        ([(0.9, 0.5), (0.5, 1.5)], Crossover("from", 0.7, (0.5, 0.9))),
        ([(0.5, 1.25), (0.9, 0.25)], Crossover("from", 0.6, (0.5, 0.9))),
        # Equally fast does not beat.
        ([(0.5, 1.0), (0.9, 0.5)], Crossover("from", 0.5, (0.5, 0.9))),
        # A win below a loss does not count.
        (
            [(0.2, 0.9), (0.5, 1.5), (0.9, 0.5), (0.95, 0.4)],
            Crossover("from", 0.7, (0.5, 0.9)),
        ),
        ([(0.0, 0.9), (0.5, 0.5)], Crossover("always", 0.0)),
        ([(0.5, 0.9), (0.9, 0.5)], Crossover("below", 0.5)),
        ([(0.5, 3.0), (0.99, 1.5)], Crossover("never", 0.99)),
        ([(0.5, 0.5), (0.99, 1.5)], Crossover("never", 0.99)),
    ],
)
def test_crossover(pairs, expected):
    found = _search.crossover(points(*pairs))
    assert found.kind == expected.kind
    assert found.sparsity == pytest.approx(expected.sparsity)
    assert found.between == expected.between


def test_no_points_have_no_crossover():
    with pytest.raises(ValueError, match="got none"):
        _search.crossover([])


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([(0.5, 0.9)], 0.0),
        ([(0.0, 0.9), (0.5, 0.5)], None),
        ([(0.9, 1.9)], 0.99),
        ([(0.99, 1.9)], None),
        ([(0.7, 1.1), (0.715, 0.9)], None),
        # A guess, and half of the tolerance towards the farther side.
        ([(0.5, 1.25), (0.9, 0.25)], 0.61),
        ([(0.5, 1.75), (0.9, 0.75)], 0.79),
        # But within what is not known yet.
        ([(0.5, 1.0), (0.9, 0.5)], 0.51),
        ([(0.5, 9.0), (0.9, 1 - 1e-9)], 0.89),
    ],
)
def test_next_sparsity(pairs, expected):
    assert _search.next_sparsity(points(*pairs)) == (
        None if expected is None else pytest.approx(expected)
    )


@pytest.mark.parametrize(
    ("sparsity", "places", "expected"),
    [
        (0.9, 10, 0.9),
        (0.9, 4, 0.75),  # one stays at least
        (0.5, 1, 0.0),
        (0.0, 7, 0.0),
        (0.96, 100, 0.96),
    ],
)
def test_possible(sparsity, places, expected):
    assert _search.possible(sparsity, places) == pytest.approx(expected)


class Machine:
    """A machine on which time goes by as it measures."""

    def __init__(self, slower, second=1.0):
        self.slower = slower  # than dense at sparsity 0, by product
        self.second = second
        self.now = 0.0
        self.groups = []
        self.budgets = []

    def clock(self):
        return self.now

    def measure(self, requests, seconds):
        self.now += self.second
        self.groups.append(requests)
        self.budgets.append(seconds)
        return [
            Point(size, product, s, 2.0, 2.0 * self.time(size, product, s))
            for size, s in requests
            for product in _search.PRODUCTS
        ]

    def time(self, size, product, sparsity):
        """A part for the call and a part for the blocks."""
        return 0.05 + self.slower[size, product] * (1 - sparsity)

    def search(self, seconds=100.0, places=PLACES):
        return _search.search(self.measure, places, seconds, clock=self.clock)


def machine(second=1.0, **slower):
    numbers = itertools.product(PLACES, _search.PRODUCTS)
    return Machine(dict(zip(numbers, slower["slower"], strict=True)), second)


def test_finds_crossovers_of_every_kind():
    made = machine(slower=(2.0, 1.2, 0.9, 300.0))
    found = made.search()
    crossings = {
        key: _search.crossover(_search.of(found, *key)) for key in made.slower
    }
    for key in ((8, "forward"), (8, "training")):
        exact = 1 - 0.95 / made.slower[key]
        assert crossings[key].kind == "from"
        assert crossings[key].sparsity == pytest.approx(exact, abs=1e-6)
        low, high = crossings[key].between
        assert low < exact < high
        assert high - low <= _search.TOLERANCE + 2 / PLACES[8]
    assert crossings[32, "forward"].kind == "always"
    assert crossings[32, "training"].kind == "never"
    assert crossings[32, "training"].sparsity == pytest.approx(0.99, abs=2e-3)


def test_asks_for_nothing_twice_and_for_what_layouts_have():
    made = machine(slower=(2.0, 2.0, 0.9, 3.0))
    made.search()
    asked = [request for group in made.groups for request in group]
    assert len(asked) == len(set(asked))
    for size, sparsity in asked:
        blocks = PLACES[size] * (1 - sparsity)
        assert blocks == pytest.approx(round(blocks))


def test_the_sparsity_that_is_told_comes_first():
    made = machine(slower=(2.0,) * 4)
    made.search(seconds=0.0)
    ((first, second),) = made.groups
    assert first == (8, pytest.approx(0.9, abs=1e-3))
    assert second == (32, pytest.approx(0.9, abs=1e-2))


def test_ends_in_time():
    made = machine(slower=(2.0,) * 4, second=3.0)
    made.search(seconds=10.0)
    # The fourth group begins at 9 seconds.
    assert len(made.groups) == 4
    # What is left is shared by the groups that are left.
    assert made.budgets == [10 / 9, 7 / 8, 4 / 7, 1 / 6]


def test_one_block_has_one_sparsity():
    made = machine(slower=(2.0,) * 4)
    found = made.search(places={8: 1})
    assert made.groups == [[(8, 0.0)]]
    assert _search.crossover(_search.of(found, 8, "forward")).kind == "never"


def test_progress_ends_at_one():
    shares = []
    made = machine(slower=(2.0,) * 4)
    _search.search(
        made.measure, PLACES, 2.5, clock=made.clock, progress=shares.append
    )
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
