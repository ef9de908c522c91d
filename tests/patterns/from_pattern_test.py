# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`BlockLayout.from_pattern`: arguments, configs, kernels, errors."""

import copy
import inspect
import json
import pickle

import keras
import numpy as np
import pytest

from tf_blocksparse import BlockLayout, _layout_pattern, patterns
from tf_blocksparse.layers import BlockSparseConv1D, BlockSparseDense

CASES = {
    "balanced_random": {"count": np.int64(30), "seed": 3},
    "banded": {"bandwidth": 1},
    "barabasi_albert": {"m": 2, "seed": 0},
    "block_diagonal": {},
    "butterfly": {"max_stride": 2},
    "locally_connected": {"radius": (1, 0), "input_positions": [2, 4]},
    "pixelated_butterfly": {},
    "strided": {"stride": 3},
    "watts_strogatz": {"m": 2, "p": np.float32(0.5), "seed": 2**40},
    "watts_strogatz_2d": {
        "positions": np.array([4, 2]),
        "m": 1,
        "p": 0,
        "seed": 1,
    },
}


def test_every_maker_of_one_mask_is_known():
    several = {"block_count", "interleaved", "low_degree_edges", "mix_factor"}
    functions = {
        name
        for name in patterns.__all__
        if inspect.isfunction(getattr(patterns, name))
    }
    assert functions - several == set(_layout_pattern.MAKERS) == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_round_trips(name):
    function, arguments = getattr(patterns, name), CASES[name]
    made = BlockLayout.from_pattern(name, (62, 64), (8, 8), **arguments)
    assert made.shape == (62, 64)
    np.testing.assert_array_equal(made.mask, function((8, 8), **arguments))
    assert BlockLayout.from_pattern(function, (62, 64), 8, **arguments) == made
    config = made.get_config()
    text = json.dumps(config)
    assert "mask" not in config
    assert set(config["arguments"]) == (
        set(inspect.signature(function).parameters) - {"grid"}
    )
    again = BlockLayout.from_config(json.loads(text))
    assert again == made
    assert again.get_config() == config
    assert pickle.loads(pickle.dumps(made)).get_config() == config
    assert copy.deepcopy(made) is made
    # A config is the caller's own.
    config["arguments"].clear()
    assert json.dumps(made.get_config()) == text


def test_kernels_have_the_same_blocks_for_every_tap():
    shape = (3, 3, 64, 64)
    made = BlockLayout.from_pattern("butterfly", shape, 8)
    assert made.taps == 9
    for tap in made.mask:
        np.testing.assert_array_equal(tap, patterns.butterfly((8, 8)))
    assert BlockLayout.from_config(made.get_config()) == made


def test_layers_keep_the_config():
    layout = BlockLayout.from_pattern(
        patterns.watts_strogatz, (64, 64), 4, m=2, p=0.1, seed=5
    )
    layer = BlockSparseDense(64, layout=layout)
    layer = BlockSparseDense.from_config(layer.get_config())
    assert layer.layout == layout
    assert layer.get_config()["layout"] == layout.get_config()
    kernel = BlockLayout.from_pattern("strided", (3, 8, 8), 2, stride=2)
    conv = BlockSparseConv1D(8, 3, layout=kernel)
    assert conv(keras.ops.ones((1, 5, 8))).shape == (1, 3, 8)
    assert conv.layout == kernel


@pytest.mark.parametrize(
    ("pattern", "arguments", "message"),
    [
        ("ring", {}, "pattern: got str 'ring', expected a function of `patt"),
        (np.eye, {}, "pattern: got function .*BlockLayout\\(mask"),
        (None, {}, "pattern: got NoneType None"),
        ("interleaved", {}, "pattern: got str 'interleaved'"),
        (patterns.block_count, {"sparsity": 0.5}, "pattern: got function"),
        (
            "strided",
            {},
            r"arguments: got dict \{\} \(missing .* 'stride'\), expected those "
            "of patterns.strided without its grid, stride; pass them by name",
        ),
        ("strided", {"step": 2}, "arguments: got dict .*step.*, expected"),
        ("strided", {"stride": 2, "grid": (2, 2)}, "arguments: got dict"),
        ("strided", {"stride": 99}, "stride: got int 99"),
        ("barabasi_albert", {"m": 2, "seed": None}, "seed: got None"),
    ],
)
def test_wrong_arguments(pattern, arguments, message):
    with pytest.raises(ValueError, match=message):
        BlockLayout.from_pattern(pattern, (64, 64), 8, **arguments)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pattern": "os.system"}, "pattern: got str 'os.system'"),
        ({"pattern": ["strided"]}, "pattern: got list"),
        ({"arguments": [3]}, "arguments: got list"),
        ({"arguments": {"shape": [2, 2]}}, "arguments: got dict"),
        ({"arguments": {"stride": "3"}}, "stride: got str '3'"),
        ({"seed": 3}, "config: got dict"),
        ({"inputs": 10**12}, "grid: got"),
    ],
)
def test_wrong_configs(changes, message):
    config = BlockLayout.from_pattern(
        "strided", (64, 64), 8, stride=3
    ).get_config()
    with pytest.raises(ValueError, match=message):
        BlockLayout.from_config({**config, **changes})
