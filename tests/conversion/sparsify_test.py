# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""sparsify against dense models whose kernels are masked."""

import conversion_models as models
import keras
import numpy as np
import pytest

import tf_blocksparse as tfbs

L = keras.layers
RNG = np.random.default_rng(0)
# Small layers are worth nothing, but easy to look at.
ALL = {"skip_unprofitable": False}


def integers(*shape):
    return RNG.integers(-3, 4, shape).astype("float32")


def normal(*shape):
    return RNG.normal(size=shape)


def layer_model(layer, shape):
    inputs = keras.Input(shape)
    return keras.Model(inputs, layer(inputs))


CONV = {"name": "layer", "activation": "relu"}
# A layer, its inputs' shape, and the arguments of sparsify.
CASES = {
    "dense": (lambda: L.Dense(24, name="layer"), (16,), {}),
    "edges": (lambda: L.Dense(22, "relu", name="layer"), (3, 18), {}),
    "einsum": (
        lambda: L.EinsumDense("abc,cde->abde", (None, 4, 6), name="layer"),
        (5, 16),
        {},
    ),
    "einsum of two axes": (
        lambda: L.EinsumDense(
            "abcd,cde->abe", (None, 20), bias_axes="e", name="layer"
        ),
        (5, 4, 4),
        {},
    ),
    "conv 1d": (lambda: L.Conv1D(12, 3, 2, "causal", **CONV), (9, 8), {}),
    "conv 2d": (lambda: L.Conv2D(12, (3, 2), **CONV), (6, 5, 8), {}),
    "shared": (
        lambda: L.Conv2D(12, (3, 2), **CONV),
        (6, 5, 8),
        {"taps": "shared"},
    ),
    "1 x 1": (lambda: L.Conv2D(12, 1, **CONV), (6, 5, 8), {}),
    "groups": (lambda: L.Conv2D(24, 3, groups=2, **CONV), (6, 5, 16), {}),
    "conv 3d": (lambda: L.Conv3D(8, 2, **CONV), (3, 4, 3, 8), {}),
    "transposed 1d": (
        lambda: L.Conv1DTranspose(12, 3, 2, **CONV),
        (5, 8),
        {},
    ),
    "transposed 2d": (
        lambda: L.Conv2DTranspose(12, 3, 2, output_padding=1, **CONV),
        (5, 4, 8),
        {},
    ),
    "transposed 3d": (
        lambda: L.Conv3DTranspose(4, 2, **CONV),
        (2, 3, 2, 8),
        {},
    ),
    "max": (lambda: L.Dense(24, name="layer"), (16,), {"criterion": "max"}),
    "mask": (lambda: L.Dense(24, name="layer"), (16,), {"gate": "mask"}),
}


@pytest.mark.parametrize("name", CASES)
def test_outputs_equal_those_of_the_masked_model(name):
    make, shape, arguments = CASES[name]
    model = models.with_integers(layer_model(make(), shape), high=5)
    x = integers(2, *shape)
    new, report = tfbs.sparsify(
        model, 0.6, 4, return_report=True, **ALL, **arguments
    )
    old, sparse = model.get_layer("layer"), new.get_layer("layer")
    (row,) = report.layers
    # The definition, for every place: what is kept is heavier.
    mask = models.kernel_mask(old, sparse)
    kept, left = scores(old, sparse, mask, arguments)
    assert len(kept) == sparse.layout.nnz == round(row_places(sparse) * 0.4)
    assert kept.min() >= left.max()
    assert row.got == pytest.approx(1 - len(kept) / row_places(sparse))
    assert sparse.gate == arguments.get("gate")
    masked = models.mask_like(model, new)
    np.testing.assert_array_equal(
        models.outputs(new, x), models.outputs(masked, x)
    )


def row_places(sparse):
    return sparse.layout.mask.size // getattr(sparse, "groups", 1)


def scores(old, sparse, mask, arguments):
    """Scores of the blocks that are kept, and of those that are not."""
    layout = sparse.layout
    kernel = old.kernel.numpy()
    axes = (-1, -2) if "Transpose" in type(old).__name__ else (-2, -1)
    if isinstance(old, L.EinsumDense):
        kernel, mask = (a.reshape(layout.shape) for a in (kernel, mask))
    kernel, mask = (np.moveaxis(a, axes, (-2, -1)) for a in (kernel, mask))
    spatial = kernel.shape[:-2]
    kernel, mask = (a.reshape(-1, *a.shape[-2:]) for a in (kernel, mask))
    if layout.taps is None and spatial:
        # One place for all taps.
        kernel, mask = kernel[None], mask[:1]
    groups = getattr(old, "groups", 1)
    outputs = kernel.shape[-1] // groups
    found = {True: [], False: []}
    b_in, b_out = layout.block_size
    for t in range(len(kernel)):
        for i in range(0, kernel.shape[-2], b_in):
            for o in range(0, groups * outputs, b_out):
                part = kernel[t, ..., i : i + b_in, o : o + b_out]
                score = (
                    np.abs(part).max()
                    if arguments.get("criterion") == "max"
                    else np.sqrt((part**2).sum())
                )
                found[bool(mask[t, i, o])].append(score)
    return np.array(found[True]), np.array(found[False])


def test_ties_go_to_the_first_block():
    model = layer_model(L.Dense(8, name="layer"), (8,))
    model.get_layer("layer").kernel.assign(np.ones((8, 8)))
    new = tfbs.sparsify(model, 0.5, 4, **ALL)
    # Output-major, as blocks are ordered.
    np.testing.assert_array_equal(
        new.get_layer("layer").layout.mask, [[1, 0], [1, 0]]
    )


@pytest.mark.parametrize(("sparsity", "nnz"), [(0.0, 24), (1.0, 0), (0.999, 1)])
def test_all_none_and_one_block(sparsity, nnz):
    model = models.with_integers(layer_model(L.Dense(24, name="layer"), (16,)))
    new = tfbs.sparsify(model, sparsity, 4, **ALL)
    assert new.get_layer("layer").layout.nnz == nnz
    x = integers(3, 16)
    masked = models.mask_like(model, new)
    np.testing.assert_array_equal(
        models.outputs(new, x), models.outputs(masked, x)
    )
    new.compile("sgd", "mse")
    new.fit(x, integers(3, 24), verbose=0)


def test_one_block_in_all():
    model = models.with_integers(layer_model(L.Dense(4, name="layer"), (4,)))
    new = tfbs.sparsify(model, 0.9, 4, **ALL)
    x = integers(3, 4)
    np.testing.assert_array_equal(
        models.outputs(new, x), models.outputs(model, x)
    )


def test_empty_rows_and_columns():
    model = models.with_integers(layer_model(L.Dense(12, name="layer"), (12,)))
    kernel = np.zeros((12, 12))
    kernel[:4, :4] = 1
    model.get_layer("layer").kernel.assign(kernel)
    new = tfbs.sparsify(model, 0.9, 4, **ALL)
    mask = new.get_layer("layer").layout.mask
    np.testing.assert_array_equal(mask, kernel[::4, ::4])
    x = integers(3, 12)
    np.testing.assert_array_equal(
        models.outputs(new, x), models.outputs(model, x)
    )


@pytest.mark.parametrize("gate", [None, "mask"])
def test_a_sparse_layer_is_pruned_further(gate):
    model = models.with_integers(layer_model(L.Dense(32, name="layer"), (32,)))
    half = tfbs.sparsify(model, 0.5, 4, gate=gate, **ALL)
    once = tfbs.sparsify(model, 0.75, 4, **ALL)
    # A block size that is not its own plays no part.
    twice = tfbs.sparsify(half, 0.75, 8, **ALL)
    a, b = once.get_layer("layer"), twice.get_layer("layer")
    assert a.layout == b.layout
    assert b.gate == gate
    np.testing.assert_array_equal(a.blocks, b.blocks)
    with pytest.warns(UserWarning, match="layer: already 75.0% sparse"):
        same, report = tfbs.sparsify(twice, 0.5, 4, return_report=True)
    assert same.get_layer("layer").layout == b.layout
    assert report.layers[0].got == 0.75


def test_a_mask_is_added():
    model = models.with_integers(layer_model(L.Dense(32, name="layer"), (32,)))
    half = tfbs.sparsify(model, 0.5, 4, **ALL)
    new = tfbs.sparsify(half, 0.0, 4, gate="mask", **ALL).get_layer("layer")
    assert new.layout == half.get_layer("layer").layout
    assert new.gate_mask.numpy().all()
    np.testing.assert_array_equal(new.blocks, half.get_layer("layer").blocks)


def test_closed_blocks_are_not_kept():
    model = models.with_integers(layer_model(L.Dense(8, name="layer"), (8,)))
    full = tfbs.sparsify(model, 0.0, 4, gate="mask", **ALL)
    layer = full.get_layer("layer")
    layer.gate_mask.assign([False, True, True, False])
    new = tfbs.sparsify(full, 0.25, 4, **ALL).get_layer("layer")
    np.testing.assert_array_equal(new.layout.mask, [[0, 1], [1, 0]])
    assert new.gate_mask.numpy().all()


def test_regularizers_flags_and_names_are_kept():
    layer = L.Dense(
        24,
        keras.activations.swish,
        kernel_regularizer="l2",
        bias_regularizer="l1",
        activity_regularizer=keras.regularizers.L2(0.5),
        kernel_constraint="non_neg",
        name="layer",
        trainable=False,
    )
    model = layer_model(layer, (16,))
    new = tfbs.sparsify(model, 0.5, 4, **ALL).get_layer("layer")
    assert not new.trainable
    assert not new.trainable_weights
    for name in (
        "kernel_regularizer",
        "bias_regularizer",
        "activity_regularizer",
        "kernel_constraint",
        "activation",
    ):
        assert getattr(new, name) is getattr(layer, name)
    assert [w.path for w in new.weights][:2] == ["layer/blocks", "layer/bias"]


def test_nan_names_the_layer():
    model = layer_model(L.Dense(8, name="layer"), (8,))
    model.get_layer("layer").kernel.assign(np.full((8, 8), np.nan))
    with pytest.raises(ValueError, match=r"layer layer: got NaN in 4 of 4"):
        tfbs.sparsify(model, 0.5, 4, **ALL)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sparsity": 1.5}, "sparsity: got float 1.5, expected a number"),
        ({"sparsity": {"first": 2}}, r"sparsity\['first'\]: got int 2"),
        ({"sparsity": {"frist": 0.5}}, "the pattern 'frist', expected one"),
        ({"sparsity": {1: 0.5}}, "sparsity: got the key int 1, expected a pat"),
        ({"sparsity": {"*": {"block": 3}}}, "got a dict with .'block'."),
        ({"sparsity": lambda layer: "much"}, r"sparsity\(first\): got str"),
        ({"block_size": 0}, "block_size: got int 0"),
        ({"distribution": "erk"}, "distribution: got str 'erk', expected one"),
        ({"criterion": "l1"}, "criterion: got str 'l1'"),
        ({"taps": "both"}, "taps: got str 'both', expected 'each'"),
        ({"gate": "soft"}, "gate: got str 'soft', expected None"),
        ({"rows": 0}, "rows: got int 0"),
        ({"measure": 1}, "measure: got int 1"),
    ],
)
def test_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        tfbs.sparsify(models.mlp(), **arguments)


def test_a_layer_with_a_gate_is_to_become_sparser():
    model = keras.Sequential(
        [keras.Input((256,)), keras.layers.Dense(256), keras.layers.Dense(64)]
    )
    new, report = tfbs.sparsify(model, 0.0, 16, gate="mask", return_report=True)
    assert new.layers[0].layout.sparsity == 0.0
    assert [each.reason is None for each in report.layers] == [True, True]
    with pytest.warns(UserWarning, match="replaced no layer"):
        tfbs.sparsify(model, 0.0, 16)
