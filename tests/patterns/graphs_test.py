# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Masks of graphs: Barabasi-Albert, Watts-Strogatz, low-degree edges."""

import numpy as np
import pytest

from tf_blocksparse import patterns


def test_barabasi_albert_is_what_its_rule_says():
    for nodes in (1, 2, 3, 7, 40):
        for m in range(1, nodes + 1):
            mask = patterns.barabasi_albert((nodes, nodes), m, seed=m)
            assert mask.dtype == np.bool_
            np.testing.assert_array_equal(mask, mask.T)
            assert mask.diagonal().all()
            assert mask[:m, :m].all()
            assert mask[: m + 1, : m + 1].all()  # the first joins all m
            grown = nodes - m
            assert mask.sum() == 2 * m * grown + grown + m * m
            # Each node that was added has m older ones.
            older = np.tril(mask, -1).sum(axis=1)
            assert (older[m:] == m).all()


def test_barabasi_albert_prefers_those_with_many_edges():
    # By n nodes, node i has about m * sqrt(n / i) edges.
    nodes, m = 1000, 4
    degrees = np.mean(
        [
            patterns.barabasi_albert((nodes, nodes), m, seed).sum(axis=0) - 1
            for seed in range(10)
        ],
        axis=0,
    )
    expected = m * np.sqrt(nodes / np.arange(1, nodes + 1))
    for part in np.split(np.arange(20, nodes), [20, 80, 200, 500]):
        assert 0.85 < degrees[part].mean() / expected[part].mean() < 1.15


def test_each_choice_is_proportional_to_edges():
    # Nodes 0, 1, 2 of a tree with the edge 0 - 1: each as likely as the other.
    # Then one of 2 is joined to the end of a path of 3: 1/4, 1/2, 1/4.
    times = np.zeros(3)
    for seed in range(4000):
        mask = patterns.barabasi_albert((4, 4), 1, seed)
        middle = 0 if mask[2, 0] else 1
        older = int(np.flatnonzero(mask[3, :3])[0])
        times[0 if older == middle else 1 + (older == 2)] += 1
    np.testing.assert_allclose(times / 4000, [0.5, 0.25, 0.25], atol=0.03)


@pytest.mark.parametrize("nodes", [1, 2, 3, 8, 21])
def test_a_ring_without_replaced_edges(nodes):
    i = np.arange(nodes)
    distance = np.abs(i[:, None] - i)
    distance = np.minimum(distance, nodes - distance)
    for m in range((nodes - 1) // 2 + 1):
        mask = patterns.watts_strogatz((nodes, nodes), m, 0.0, seed=0)
        np.testing.assert_array_equal(mask, distance <= m)


@pytest.mark.parametrize("p", [0, 0.2, 0.5, 1])
def test_replaced_edges_keep_their_number_and_one_end(p):
    nodes, m = 300, 4
    ring = patterns.watts_strogatz((nodes, nodes), m, 0, seed=0)
    mask = patterns.watts_strogatz((nodes, nodes), m, p, seed=1)
    np.testing.assert_array_equal(mask, mask.T)
    assert mask.diagonal().all()
    assert mask.sum() == nodes * (2 * m + 1)
    assert mask.sum(axis=0).min() >= m + 1
    gone = np.count_nonzero(ring & ~mask) / 2
    edges = nodes * m
    # Some of those that are replaced come back by chance.
    expected = edges * p * (1 - 2 * m / nodes)
    assert abs(gone - expected) <= 4 * np.sqrt(edges * p * (1 - p)) + 0.02 * (
        edges * p
    )


def test_a_full_graph_has_no_edge_to_replace():
    mask = patterns.watts_strogatz((7, 7), 3, 1.0, seed=0)
    assert mask.all()


def test_a_torus_without_replaced_edges():
    for height, width in [(1, 1), (1, 9), (2, 2), (3, 4), (5, 5), (6, 4)]:
        nodes = height * width
        grid = (nodes, nodes)
        row, column = np.divmod(np.arange(nodes), width)
        down = np.abs(row[:, None] - row)
        right = np.abs(column[:, None] - column)
        distance = (
            np.minimum(down, height - down) ** 2
            + np.minimum(right, width - right) ** 2
        )
        # Offsets that are not their own opposites come in pairs.
        own = (2 * down % height == 0) & (2 * right % width == 0)
        most = (nodes - np.count_nonzero(own[0])) // 2
        before = np.eye(nodes, dtype=bool)
        for m in range(most + 1):
            mask = patterns.watts_strogatz_2d(grid, (height, width), m, 0, 0)
            np.testing.assert_array_equal(mask, mask.T)
            assert (mask.sum(axis=0) == 2 * m + 1).all()
            assert not np.any(before & ~mask)
            # None that is left out is nearer.
            out = np.where(mask | own, nodes**2, distance).min()
            assert distance[mask].max() <= out
            before = mask
        with pytest.raises(ValueError, match="m: got int"):
            patterns.watts_strogatz_2d(grid, (height, width), most + 1, 0, 0)


def test_a_torus_of_one_row_is_a_ring():
    for p in (0.0, 0.4):
        np.testing.assert_array_equal(
            patterns.watts_strogatz_2d((30, 30), (1, 30), 3, p, 5),
            patterns.watts_strogatz((30, 30), 3, p, 5),
        )


def test_nodes_start_over_along_the_shorter_side():
    makers = [
        lambda grid: patterns.barabasi_albert(grid, 2, 3),
        lambda grid: patterns.watts_strogatz(grid, 2, 0.3, 3),
        lambda grid: patterns.watts_strogatz_2d(grid, (3, 4), 2, 0.3, 3),
    ]
    for make in makers:
        whole = make((12, 12))
        for grid in [(12, 5), (5, 12)]:
            expected = np.zeros(grid, bool)
            for c, k in np.argwhere(whole):
                expected[c % grid[0], k % grid[1]] = True
            np.testing.assert_array_equal(make(grid), expected)
            # Every input and every output has a block.
            assert expected.any(axis=0).all()
            assert expected.any(axis=1).all()


def test_low_degree_edges_are_where_the_fewest_were():
    rng = np.random.default_rng(0)
    for rows, columns in [(1, 1), (2, 5), (6, 4), (8, 8)]:
        for seed in range(5):
            mask = rng.random((rows, columns)) < 0.2
            low = int(mask.sum())
            for count in range(low, rows * columns + 1):
                made = patterns.low_degree_edges(mask, count, seed)
                assert made.sum() == count
                assert not np.any(mask & ~made)
                if count == rows * columns:
                    break
                more = patterns.low_degree_edges(mask, count + 1, seed)
                ((c, k),) = np.argwhere(more & ~made)
                of_outputs = made.sum(axis=0)
                assert of_outputs[k] == of_outputs[of_outputs < rows].min()
                of_inputs = made.sum(axis=1)
                assert of_inputs[c] == of_inputs[~made[:, k]].min()


def test_low_degree_edges_even_out_a_graph():
    mask = patterns.barabasi_albert((64, 64), 3, seed=0)
    made = patterns.low_degree_edges(mask, 64 * 12, seed=0)
    assert made.sum() == 64 * 12
    assert made.sum(axis=0).min() >= 10
    assert mask.sum(axis=0).min() == 4
    # The argument is left as it was.
    assert patterns.low_degree_edges(mask, mask.sum(), 0) is not mask


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: patterns.barabasi_albert((4, 4), 0, 0), "m: got int 0"),
        (lambda: patterns.barabasi_albert((4, 3), 4, 0), "m: .* from 1 to 3"),
        (lambda: patterns.barabasi_albert((4, 4), 1, -1), "seed: got int -1"),
        (lambda: patterns.barabasi_albert((4, 4), 1, None), "seed: got None"),
        (lambda: patterns.barabasi_albert(4, 1, 0), "grid: got int 4"),
        (lambda: patterns.watts_strogatz((4, 4), 2, 0.1, 0), "from 0 to 1"),
        (lambda: patterns.watts_strogatz((5, 5), 2, 1.1, 0), "p: got float"),
        (lambda: patterns.watts_strogatz((5, 5), 2, 0.1, 0.5), "seed: got fl"),
        (
            lambda: patterns.watts_strogatz_2d((6, 6), (2, 2), 1, 0, 0),
            "positions: got 2 x 2 = 4, expected the longer side of the grid, 6",
        ),
        (lambda: patterns.watts_strogatz_2d((6, 6), 6, 1, 0, 0), "positions"),
        (lambda: patterns.low_degree_edges(np.eye(3), 2, 0), "count: got int"),
        (lambda: patterns.low_degree_edges(np.eye(3), 10, 0), "from 3 to 9"),
        (
            lambda: patterns.low_degree_edges(np.ones((2, 3, 3)), 18, 0),
            r"mask: got shape \(2, 3, 3\)",
        ),
    ],
)
def test_wrong_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
