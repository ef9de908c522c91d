# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""How many blocks each layer keeps, and which layers stay dense."""

import math

import conversion_models as models
import keras
import numpy as np
import pytest

import tf_blocksparse as tfbs
from tf_blocksparse.conversion import _cost, _distribution, _measure

L = keras.layers
ALL = {"skip_unprofitable": False}


def convolutional():
    return keras.Sequential(
        [
            keras.Input((8, 8, 16)),
            L.Conv2D(32, 3, name="conv"),
            L.Conv2D(64, 1, name="thin"),
            L.Flatten(),
            L.Dense(64, name="wide"),
            L.Dense(16, name="narrow"),
        ]
    )


def counts(model, *arguments, **names):
    """For each layer: blocks, places."""
    new = tfbs.sparsify(model, *arguments, **ALL, **names)
    return {
        layer.name: (layer.layout.nnz, layer.layout.mask.size)
        for layer in new.layers
        if hasattr(layer, "layout")
    }


@pytest.mark.parametrize("distribution", ["erdos_renyi_kernel", "global"])
@pytest.mark.parametrize("sparsity", [0.0, 0.07, 0.5, 0.9, 0.991, 1.0])
@pytest.mark.parametrize("taps", ["each", "shared"])
def test_counts_add_up_exactly(distribution, sparsity, taps):
    found = counts(
        convolutional(), sparsity, 8, distribution=distribution, taps=taps
    )
    kept, places = np.sum(list(found.values()), axis=0)
    assert kept == max(
        round(places * (1 - sparsity)), 0 if sparsity == 1 else len(found)
    )
    for nnz, size in found.values():
        assert (0 if sparsity == 1 else 1) <= nnz <= size


def test_uniform_is_per_layer():
    for nnz, places in counts(convolutional(), 0.9, 8).values():
        assert nnz == max(1, round(0.1 * places))


def test_erdos_renyi_kernel_densities():
    shapes = [(3, 3, 64, 64), (64, 512), (512, 512)]
    places = [9 * 64, 8 * 64, 64 * 64]
    got = _distribution.erdos_renyi_kernel(
        shapes, places, [0.9] * 3, places, 518
    )
    share = [
        sum(s) / math.prod(s) * n for s, n in zip(shapes, places, strict=True)
    ]
    exact = 518 * np.array(share) / sum(share)
    assert sum(got) == 518
    assert np.abs(got - exact).max() < 1
    # Largest remainders: those that are rounded up have larger ones.
    up = got > exact
    assert (exact % 1)[up].min() >= (exact % 1)[~up].max()


def test_a_layer_that_would_be_more_than_dense_gives_to_the_others():
    shapes = [(8, 8), (800, 800)]
    got = _distribution.erdos_renyi_kernel(
        shapes, [1, 10000], [0.5, 0.5], [1, 10000], 5000
    )
    assert got == [1, 4999]


def test_one_ranking_of_all_layers():
    model = models.mlp(16, 16)
    kernels = {}
    for scale, layer in zip((3, 1, 2), model.layers, strict=True):
        kernel = np.full(layer.kernel.shape, float(scale))
        kernel[:8] /= 4
        layer.kernel.assign(kernel)
        kernels[layer.name] = kernel
    # Mean squares: 3, 2 and 1 with or without a quarter; 8 of 16 and 2 blocks.
    found = counts(model, 0.5, 8, distribution="global")
    assert found == {"first": (2, 4), "second": (2, 4)}
    found = counts(model, 0.75, 8, distribution="global")
    # 2 of 8: the heaviest of "second" stays, so that the model is not cut.
    assert found == {"first": (1, 4), "second": (1, 4)}


def test_blocks_of_several_sizes_are_compared_by_their_means():
    model = models.mlp(16, 16)
    for scale, layer in zip((1.0, 0.9, 1.0), model.layers, strict=True):
        layer.kernel.assign(np.full(layer.kernel.shape, scale))
    found = counts(
        model,
        {"first": {"sparsity": 0.5, "block_size": 4}, "second": 0.5},
        8,
        distribution="global",
    )
    # 10 of 20: all of "first" would come first, but one of "second" stays.
    assert found == {"first": (9, 16), "second": (1, 4)}


def test_policies():
    def by_function(layer):
        return {"wide": {"sparsity": 0.5, "block_size": (16, 8)}}.get(
            layer.name
        )

    new, report = tfbs.sparsify(
        convolutional(), by_function, 8, return_report=True, **ALL
    )
    wide = new.get_layer("wide")
    assert wide.block_size == (16, 8)
    assert wide.layout.sparsity == 0.5
    assert [row.reason for row in report.layers] == [
        "asked to stay as it is",
        "asked to stay as it is",
        None,
        "asked to stay as it is",
    ]
    _, report = tfbs.sparsify(
        convolutional(),
        {"thin": None, "*n*": {"sparsity": 0.25, "block_size": 4}, "[a-d]*": 0},
        8,
        return_report=True,
        **ALL,
    )
    assert [(row.path, row.asked, row.block_size) for row in report.layers] == [
        ("conv", 0.25, (4, 4)),
        ("thin", None, (8, 8)),
        ("wide", None, (8, 8)),
        ("narrow", 0.25, (4, 4)),
    ]
    assert report.layers[2].reason == "no pattern of `sparsity` fits its name"


# --- Cost -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("layer", "block_size", "least"),
    [
        (L.Dense(8), (32, 32), 0.4),
        (L.Dense(8), (64, 16), 0.4),
        (L.Dense(8), (16, 15), 0.5),
        (L.Dense(8), (8, 8), 0.5),
        (L.Dense(8), (32, 4), 0.65),
        (L.Dense(8), (2, 2), 1.0),
        (L.Conv2D(8, 3), (16, 16), 0.7),
        (L.Conv2D(8, 1), (16, 16), 0.85),
        (L.Conv2D(8, 3, strides=2), (16, 16), 0.85),
        (L.Conv1DTranspose(8, 3), (16, 16), 0.85),
    ],
)
def test_least_sparsity(layer, block_size, least):
    assert _cost.least_sparsity(layer, block_size) == least


def test_what_does_not_pay_stays_dense():
    model = keras.Sequential(
        [
            keras.Input((256,)),
            L.Dense(256, name="pays"),
            L.Dense(64, name="small"),
            L.Dense(512, name="dense"),
        ]
    )
    new, report = tfbs.sparsify(
        model, {"dense": 0.3, "*": 0.5}, 16, return_report=True
    )
    assert [row.reason for row in report.layers] == [
        None,
        None,
        "sparsity 30% pays from 40% on only",
    ]
    assert type(new.layers[2]) is L.Dense
    with pytest.warns(UserWarning, match="2,048 weights: calling an op"):
        tfbs.sparsify(models.mlp(), 0.9, 16)
    with pytest.warns(UserWarning, match="blocks below 4 are slow"):
        tfbs.sparsify(model, 0.9, 2)
    new = tfbs.sparsify(model, 0.3, 2, skip_unprofitable=False)
    assert new.layers[0].layout.block_size == (2, 2)


@pytest.mark.parametrize("distribution", ["erdos_renyi_kernel", "global"])
def test_layers_that_stay_dense_count_for_the_sum(distribution):
    model = keras.Sequential(
        [
            keras.Input((128,)),
            L.Dense(128, name="small"),
            L.Dense(2048, name="a"),
            L.Dense(2048, name="b"),
        ]
    )
    rng = np.random.default_rng(0)
    for layer in model.layers:
        layer.kernel.assign(rng.normal(size=layer.kernel.shape) / 100)
    # So heavy that it is kept as a whole.
    model.layers[0].kernel.assign(np.ones((128, 128)))
    new, report = tfbs.sparsify(
        model, 0.9, 16, distribution=distribution, return_report=True
    )
    small, a, b = report.layers
    places = [8 * 8, 8 * 128, 128 * 128]
    kept = [
        layer.layout.nnz if hasattr(layer, "layout") else count
        for layer, count in zip(new.layers, places, strict=True)
    ]
    assert sum(kept) == round(0.1 * sum(places))
    if distribution == "global":
        assert small.reason == "sparsity 0% pays from 40% on only"
        assert a.reason is b.reason is None


# --- Report ---------------------------------------------------------------


def test_report(capsys):
    model = keras.Sequential(
        [
            keras.Input((128,)),
            L.Dense(256, name="hidden"),
            L.Dense(10, name="logits"),
        ]
    )
    new, report = tfbs.sparsify(
        model, 0.75, 32, return_report=True, measure=True, rows=2
    )
    hidden, logits = report.layers
    assert hidden.parameters_before == 128 * 256 + 256
    assert hidden.parameters_after == 8 * 32 * 32 + 256
    assert logits.parameters_before == logits.parameters_after == 2570
    assert report.parameters_before == model.count_params()
    assert report.parameters_after == hidden.parameters_after + 2570
    assert hidden.shape == (128, 256)
    assert hidden.kind == "Dense"
    assert report.rows == 2
    assert logits.times is None
    for name in (
        "dense_forward",
        "sparse_forward",
        "dense_training",
        "sparse_training",
    ):
        assert 0 < getattr(hidden.times, name) < 10
    lines = str(report).splitlines()
    assert lines[0].split()[:6] == [
        "layer", "kind", "kernel", "block", "asked", "got",
    ]  # fmt: skip
    assert lines[2].startswith("hidden  Dense  128 x 256  32 x 32  75.0%  75.0")
    assert lines[3].endswith("256 x 10 is smaller than a block of 32 x 32")
    assert lines[4] == "35,594 parameters before, 11,018 after: 31.0%"
    assert lines[5] == "times with a batch of 2"
    x = np.ones((3, 128))
    again = tfbs.sparsify(model, 0.75, 32)
    np.testing.assert_array_equal(new(x), again(x))


def test_what_is_measured_is_not_the_layer_of_the_model(monkeypatch):
    monkeypatch.setattr(_measure, "_SECONDS", 0.0)
    inputs = keras.Input((None, 8))
    # Wider than the pixels of an axis whose size is not known.
    layer = L.Conv1D(8, 20, activity_regularizer="l2", name="layer")
    model = keras.Model(inputs, layer(inputs))
    model(np.ones((1, 30, 8)))
    losses = [float(loss) for loss in model.losses]
    new, report = tfbs.sparsify(
        model, 0.5, 4, skip_unprofitable=False, gate="mask",
        return_report=True, measure=True, rows=1,
    )  # fmt: skip
    assert report.layers[0].times is not None
    # Not the tensors of a graph.
    assert [float(loss) for loss in model.losses] == losses
    _, report = tfbs.sparsify(
        new, 0.75, 4, return_report=True, measure=True, rows=1
    )
    assert report.layers[0].times is not None
