# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""From a dense model to a block-sparse one, in one call."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tf_blocksparse import _arguments
from tf_blocksparse.conversion import (
    _criteria,
    _distribution,
    _measure,
    _plan,
    _sparse,
    _twins,
)
from tf_blocksparse.conversion._model_argument import check_model
from tf_blocksparse.conversion._policy import Policy
from tf_blocksparse.conversion._rebuild import Replacement, rebuild
from tf_blocksparse.conversion.report import LayerReport, SparsifyReport

_Sparsity = float | Mapping[str, Any] | Callable[[Any], Any]


def sparsify(
    model: Any,
    sparsity: _Sparsity = 0.9,
    block_size: int | tuple[int, int] = 32,
    *,
    distribution: str = "uniform",
    criterion: str = "l2",
    taps: str = "each",
    gate: str | None = None,
    skip_unprofitable: bool = True,
    return_report: bool = False,
    measure: bool = False,
    rows: int = 64,
) -> Any:
    """A new model whose layers keep only their heaviest blocks.

    Use it on a trained model, then train on for a while, since what was cut off
    is missed; or with `gate="mask"` and `sparsity=0.0` before `callbacks.
    BlockPruning` cuts off a little at a time. `Dense`, `EinsumDense`,
    `Conv1D`, `2D`, `3D`, transposed convolutions and the projections of
    `MultiHeadAttention` and `GroupQueryAttention` become block-sparse twins,
    wherever they are: in functional, sequential and subclassed models, in
    models in these, and in layers that make them in `__init__`. Block-sparse
    layers with a smaller sparsity lose further blocks.

    The new model's outputs equal, to rounding, those of the given one with
    zeros in the places of the blocks that are left out. Names, biases, other
    weights, `trainable`, dtype policies, regularizers are kept, and it is
    compiled as the given one was: same loss and metrics, and an optimizer with
    the iterations, learning rate and slots (Adam's moments, say) of the given
    one's. The given model is left as it is.

    Of n places for blocks a layer keeps the round(n * (1 - sparsity)) with the
    largest scores, at least 1 unless the sparsity is 1; of equal ones the first
    in the order of the layout. A layer stays dense, with the reason in the
    report, where blocks do not fit or sparsity does not pay by a rule that
    depends on shapes and sparsity alone (see docs/sparsify.md).

    Args:
      model: a built Keras model, or a layer.
      sparsity: the share of blocks to leave out, 0 to 1. Or a dict from
        patterns of names (`fnmatch`, of a layer's name or its path, such as
        "encoder/*/dense"; the first that fits counts) to such a number, None
        for a layer that stays as it is, or a dict with "sparsity" and
        "block_size"; layers without a pattern stay as they are. Or a function
        of the layer that gives one of these.
      block_size: integer or pair `(b_in, b_out)`, 1 to 256.
      distribution: "uniform": each layer its sparsity. "erdos_renyi_kernel":
        densities in proportion to sum(kernel sizes) / product(kernel sizes),
        no layer above 1. "global": all blocks of all layers are ranked
        together, by the root of their mean square or by their maximum; each
        layer keeps its heaviest. With both the counts of all layers add up
        to round(sum of n * (1 - sparsity)) exactly.
      criterion: "l2", the norm of a block, or "max", its largest absolute
        value.
      taps: "each": a convolution's layout is one per tap (pixel of the
        kernel). "shared": all taps of an input and output block go together.
      gate: None, or "mask" for prunable layers, see `layers.BlockSparseDense`.
      skip_unprofitable: whether layers stay dense where sparsity does not pay.
        With a gate only those that are too small for any: the others' sparsity
        is yet to grow.
      return_report: whether to return a `SparsifyReport`, too.
      measure: whether to measure, for the report, what each layer that was
        replaced takes on this machine, before and after. It changes nothing.
      rows: the batch that is measured; of sequences, their number.

    Returns:
      The new model, or `(model, report)`.

    Raises:
      ValueError: if an argument is out of range, a pattern fits no layer, a
        weight has NaN, the model is not built, or a part of it cannot be made
        from its config.

    >>> import keras
    >>> import tf_blocksparse as tfbs
    >>> model = keras.Sequential([
    ...     keras.Input((256,)),
    ...     keras.layers.Dense(512, "relu", name="hidden"),
    ...     keras.layers.Dense(10, name="logits"),
    ... ])
    >>> sparse, report = tfbs.sparsify(model, 0.75, 16, return_report=True)
    >>> sparse.get_layer("hidden").blocks.shape
    TensorShape([128, 16, 16])
    >>> for layer in report.layers:
    ...     print(layer.path, layer.got, layer.reason)
    hidden 0.75 None
    logits None 512 x 10 is smaller than a block of 16 x 16
    """
    rules = _plan.Rules(
        Policy(sparsity, block_size),
        _distribution.check_distribution(distribution),
        _criteria.check_criterion(criterion),
        _is_shared(taps),
        _arguments.flag("skip_unprofitable", skip_unprofitable),
        is_final=_checked_gate(gate) is None,
    )
    rows = _arguments.integer("rows", rows, 1, None, "64 is usual")
    return_report = _arguments.flag("return_report", return_report)
    measure = _arguments.flag("measure", measure)
    check_model(model)
    weights = _plan.plan(model, rules)
    changed = [weight for weight in weights if _changes(weight, gate)]
    if not changed:
        _warn_of_nothing(weights)
    by_root: dict[int, list[_plan.Weight]] = {}
    for weight in changed:
        by_root.setdefault(id(weight.root), []).append(weight)

    def convert(layer: Any) -> Replacement | None:
        parts = by_root.get(id(layer))
        return (
            None if parts is None else _sparse.replacement(layer, parts, gate)
        )

    new = rebuild(model, convert)
    if not return_report:
        return new
    times = _measure.times_of(changed, gate, rows) if measure else {}
    layers = tuple(_told(each, times.get(each)) for each in weights)
    report = SparsifyReport(
        layers,
        _parameters(model),
        _parameters(new),
        rows if measure else None,
    )
    return new, report


def _is_shared(taps: object) -> bool:
    if taps not in ("each", "shared"):
        raise ValueError(
            f"taps: got {_arguments.shown(taps)}, expected 'each' or 'shared'"
        )
    return taps == "shared"


def _checked_gate(gate: Any) -> Any:
    if gate not in (None, "mask"):
        raise ValueError(
            f"gate: got {_arguments.shown(gate)}, expected None or 'mask'; a "
            "layer as gate belongs to one layer: make that layer with it"
        )
    return gate


def _changes(weight: _plan.Weight, gate: str | None) -> bool:
    """Whether a weight becomes another one; tells why it does not."""
    if weight.reason is not None:
        return False
    layer = weight.layer
    if (
        _twins.is_sparse(layer)
        and weight.layout == layer.layout
        and _sparse.gate_of(layer, gate) == layer.gate
    ):
        weight.reason = f"already {layer.layout.sparsity:.1%} sparse"
        return False
    return True


def _warn_of_nothing(weights: list[_plan.Weight]) -> None:
    told = "; ".join(f"{each.path}: {each.reason}" for each in weights[:3])
    more = f"; and {len(weights) - 3} more" if len(weights) > 3 else ""
    text = f"sparsify replaced no layer ({told or 'none has a kernel'}{more})"
    # If it is not the kind of the layers.
    if any(each.asked is not None for each in weights):
        text += "; other block sizes or skip_unprofitable=False may"
    warnings.warn(text, stacklevel=3)


def _told(weight: _plan.Weight, times: Any) -> LayerReport:
    layer, part, layout = weight.layer, weight.part, weight.layout
    before = after = _parameters(layer)
    got = layer.layout.sparsity if _twins.is_sparse(layer) else None
    if weight.reason is None:
        got = 1.0 - layout.nnz / weight.places
        shared = part.spatial if layout.taps is None else ()
        kept = layout.nnz * int(np.prod([*layout.block_size, *shared]))
        after = before - int(np.prod(part.weight().shape)) + kept
    return LayerReport(
        weight.path,
        type(layer).__name__,
        part.shape if part else (),
        weight.block_size,
        weight.asked,
        got,
        before,
        after,
        weight.reason,
        times,
    )


def _parameters(layer: Any) -> int:
    """The numbers of floating-point weights."""
    return sum(
        int(np.prod(each.shape))
        for each in layer.weights
        if "float" in each.dtype
    )
