# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Which weights of a model become sparse, and which of their blocks stay."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tf_blocksparse.conversion import (
    _attention,
    _cost,
    _criteria,
    _distribution,
    _obstacles,
    _parts,
    _twins,
)
from tf_blocksparse.conversion._policy import Policy
from tf_blocksparse.conversion._rebuild import replaceable
from tf_blocksparse.layers._sparse_projections import projections_of


# Paths are for reading: names in a layer need not differ. So a weight is
# compared, and found in dicts, by identity.
@dataclass(eq=False)
class Weight:
    """A weight of a model, and what becomes of it."""

    path: str
    layer: Any  # that has the weight
    root: Any  # that is replaced: `layer`, or the attention that it projects
    name: str  # of `layer` in `root`; "" if it is that itself
    reason: str | None = None  # why it stays as it is
    part: Any = None  # _parts.Part, unless it has no twin
    asked: float | None = None
    block_size: tuple[int, int] = (0, 0)
    places: int = 0
    layout: Any = None  # a BlockLayout: of the blocks to choose from, then
    # of those that are chosen


@dataclass(frozen=True)
class Rules:
    """The arguments of `sparsify` that say which blocks stay."""

    policy: Policy
    distribution: str
    criterion: str
    shared_taps: bool
    skip_unprofitable: bool
    is_final: bool  # whether no further blocks will be pruned


def plan(model: Any, rules: Rules) -> list[Weight]:
    """Every weight of two axes or more: its layout, or why it has none."""
    weights = _weights(model)
    for weight in weights:
        if weight.reason is None:
            _ask(weight, rules)
    rules.policy.check_used([weight.path for weight in weights])
    _choose([w for w in weights if w.reason is None], rules)
    return weights


def _weights(model: Any) -> list[Weight]:
    weights = []
    for layer, path, obstacle in replaceable(model, _is_whole):
        if _attention.is_attention(layer):
            reason = obstacle or _attention.obstacle(layer)
            if reason is None:
                for name, each in projections_of(layer).items():
                    weights.append(
                        Weight(
                            f"{path}/{name}",
                            each,
                            layer,
                            name,
                            _obstacles.of_layer(each),
                        )
                    )
                continue
        elif not any(len(each.shape) > 1 for each in layer.weights):
            if layer.built or _twins.twins_of(layer) is None:
                continue
            reason = "not built"
        else:
            reason = obstacle or _obstacles.of_layer(layer)
        weights.append(Weight(path, layer, layer, "", reason))
    return weights


def _is_whole(layer: Any) -> bool:
    return _attention.is_attention(layer) or _twins.is_sparse(layer)


def _ask(weight: Weight, rules: Rules) -> None:
    """What is asked of a weight, and whether its size is fit for that."""
    layer = weight.layer
    choice = rules.policy.choice(layer, weight.path)
    part = weight.part = _parts.part_of(layer)
    weight.block_size = choice.block_size
    if _twins.is_sparse(layer):
        weight.block_size = layer.layout.block_size
    if choice.sparsity is None:
        weight.reason = choice.reason
        return
    weight.asked = choice.sparsity
    weight.reason = _obstacles.of_size(
        layer, part.inputs, part.outputs, part.groups, weight.block_size
    )
    if (
        weight.reason is None
        and rules.skip_unprofitable
        and not _twins.is_sparse(layer)
    ):
        weight.reason = _cost.reason_to_stay(
            part.shape, part.groups, weight.block_size
        )
    if weight.reason is None:
        shared = rules.shared_taps or math.prod(part.spatial) == 1
        weight.layout = part.candidates(weight.block_size, shared)
        weight.places = part.places(weight.layout)


def _choose(weights: list[Weight], rules: Rules) -> None:
    """Chooses the blocks of all weights, and leaves out what does not pay."""
    scores = {
        weight: weight.part.scores(
            weight.layout, rules.criterion, rules.distribution == "global"
        )
        for weight in weights
    }
    budget = _distribution.total(
        [weight.places for weight in weights],
        [weight.asked or 0.0 for weight in weights],
    )
    chosen = _kept(weights, scores, rules, budget)
    while rules.skip_unprofitable and rules.is_final:
        worse = [w for w in weights if not _pays(w, chosen[w])]
        # All blocks of what stays dense count, so that the sum is as asked.
        rest = budget - sum(w.places for w in worse)
        others = [w for w in weights if w not in worse]
        if not worse:
            break
        if rules.distribution != "uniform" and others and rest < len(others):
            # Nothing would be left for the others: then these are sparse, too.
            break
        for weight in worse:
            got = 1.0 - np.count_nonzero(chosen[weight]) / weight.places
            least = _cost.least_sparsity(weight.layer, weight.block_size)
            weight.reason = f"sparsity {got:.0%} pays from {least:.0%} on only"
        weights, budget = others, rest
        chosen = _kept(weights, scores, rules, budget)
        if rules.distribution == "uniform":
            break
    for weight in weights:
        weight.layout = _parts.subset(weight.layout, chosen[weight])


def _pays(weight: Weight, kept: Any) -> bool:
    if _twins.is_sparse(weight.layer):
        return True
    got = 1.0 - np.count_nonzero(kept) / weight.places
    # As much as whole blocks allow.
    room = 0.5 / weight.places
    least = _cost.least_sparsity(weight.layer, weight.block_size)
    return bool(got + room >= least)


def _kept(
    weights: list[Weight],
    scores: dict[Weight, Any],
    rules: Rules,
    budget: int,
) -> dict[Weight, Any]:
    """Which of the blocks to choose from each weight keeps."""
    own = [scores[weight] for weight in weights]
    asked = [weight.asked or 0.0 for weight in weights]
    places = [weight.places for weight in weights]
    available = [len(each) for each in own]
    if rules.distribution == "global":
        kept = _distribution.global_ranking(own, asked, budget)
    else:
        if rules.distribution == "uniform":
            counts = _distribution.uniform(places, asked, available)
        else:
            shapes = [weight.part.shape for weight in weights]
            counts = _distribution.erdos_renyi_kernel(
                shapes, places, asked, available, budget
            )
        kept = [
            _criteria.heaviest(each, count)
            for each, count in zip(own, counts, strict=True)
        ]
    return dict(zip(weights, kept, strict=True))
