# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Makers of layouts: what they draw, their configs, what a seed means."""

import copy
import hashlib
import json
import pickle

import numpy as np
import pytest

from tf_blocksparse.layout import BlockLayout


def _makers():
    return {
        "random": BlockLayout.random((30, 50), (4, 8), sparsity=0.7, seed=5),
        "fresh": BlockLayout.random((64, 64), 4, sparsity=0.5),
        "dense": BlockLayout.dense((30, 50), 8),
        "block_diagonal": BlockLayout.block_diagonal((30, 50), 4),
        "groups": BlockLayout.block_diagonal((30, 50), 4, groups=2),
        "banded": BlockLayout.banded((30, 50), 4, bandwidth=np.int64(1)),
        "mask": BlockLayout([[1, 0, 1]], (4, 8), outputs=18),
        "none": BlockLayout(np.zeros((3, 3)), 256),
        "large": BlockLayout(np.arange(90_000).reshape(300, 300) % 7 < 2, 1),
    }


@pytest.mark.parametrize("name", _makers())
def test_config_pickle_and_copies(name):
    made = _makers()[name]
    text = json.dumps(made.get_config())
    again = BlockLayout.from_config(json.loads(text))
    assert again == made
    assert again.get_config() == made.get_config()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        loaded = pickle.loads(pickle.dumps(made, protocol))
        assert loaded == made
        assert loaded.get_config() == made.get_config()
        assert not loaded.packed.flags.writeable
    assert copy.copy(made) is made
    assert copy.deepcopy([made])[0] is made


def test_configs_are_small_and_hold_what_was_asked():
    config = BlockLayout.random(
        (4096, 4096), 16, sparsity=0.9, seed=3
    ).get_config()
    assert config == {
        "inputs": 4096,
        "outputs": 4096,
        "block_size": [16, 16],
        "maker": "random",
        "sparsity": 0.9,
        "seed": 3,
    }
    explicit = BlockLayout(np.eye(300), 1).get_config()
    assert set(explicit) == {
        "inputs",
        "outputs",
        "block_size",
        "maker",
        "mask",
    }
    assert len(explicit["mask"]) < 300 * 300 / 8


def test_no_seed_draws_a_new_one():
    first, second = (
        BlockLayout.random((64, 64), 2, sparsity=0.5) for _ in range(2)
    )
    assert first != second
    assert first.get_config()["seed"] != second.get_config()["seed"]


# What a seed means, for ever: stored configs name only the seed.
@pytest.mark.parametrize(
    ("shape", "block_size", "sparsity", "seed", "digest"),
    [
        ((64, 64), 8, 0.5, 0, "447de22b9a47298e"),
        ((512, 1024), 32, 0.9, 0, "408818af0f9ec545"),
        ((512, 1024), 32, 0.9, 1, "87a9a133a5128dc5"),
        ((1000, 333), (16, 4), 0.2, 42, "9f5107bf07ffaa3a"),
        ((4096, 4096), 16, 0.9, 7, "bda1d8efcd511044"),
        ((100, 100), 1, 0.98, 2**40, "c28ca627ae7958d7"),
    ],
)
def test_random_golden(shape, block_size, sparsity, seed, digest):
    made = BlockLayout.random(shape, block_size, sparsity=sparsity, seed=seed)
    data = made.packed.astype("<i4").tobytes()
    assert hashlib.sha256(data).hexdigest()[:16] == digest


def test_makers_draw_what_they_say():
    made = BlockLayout.random((100, 70), (8, 16), sparsity=0.5, seed=0)
    assert made.shape == (100, 70)
    assert made.grid == (13, 5)
    assert made.nnz == 32
    assert set(made.mask.sum(axis=0)) == {6, 7}
    assert set(made.mask.sum(axis=1)) == {2, 3}
    assert BlockLayout.random((8, 8), 4, sparsity=1, seed=0).nnz == 0
    assert BlockLayout.random((8, 8), 4, sparsity=0.99, seed=0).nnz == 1
    assert BlockLayout.dense((9, 5), 4).mask.all()
    assert BlockLayout.block_diagonal((32, 32), 8).mask.tolist() == (
        np.eye(4).astype(bool).tolist()
    )
    assert BlockLayout.banded((32, 32), 8, bandwidth=3).density == 1.0
