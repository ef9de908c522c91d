# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""A new optimizer that goes on where an old one stands."""

from typing import Any

import keras

from tf_blocksparse import _optimizer_slots
from tf_blocksparse.conversion._values import Source


def optimizer_copy(optimizer: Any) -> Any:
    """An optimizer with the same arguments, not built."""
    config = _optimizer_slots.config_of(optimizer)
    kind = type(optimizer)
    if hasattr(optimizer, "inner_optimizer"):
        # Its class need not be registered with Keras.
        config["inner_optimizer"] = optimizer_copy(optimizer.inner_optimizer)
        return kind(**config)
    # Private: a config has no room for every schedule or function.
    rate = optimizer._learning_rate
    if callable(rate) and not isinstance(rate, keras.Variable):
        config["learning_rate"] = rate
    return kind.from_config(config)


def carry_slots(old_model: Any, new_model: Any, sources: list[Source]) -> None:
    """Builds the optimizer of a new model and fills its variables."""
    old, new = old_model.optimizer, new_model.optimizer
    by_new = {id(source.new): source for source in sources}
    _carry_exclusions(old, new, sources)
    # Not always what the model trains now: layers may have been frozen since.
    before = _optimizer_slots.trained(old)
    if not new.built:
        known = set(map(id, before))
        new.build(
            [
                each
                for each in new_model.variables
                if each.trainable
                or (id(each) in by_new and id(by_new[id(each)].old) in known)
            ]
        )
    after = _optimizer_slots.trained(new)
    old_slots = dict(
        zip(map(id, before), _optimizer_slots.slots(old, before), strict=True)
    )
    new_slots = _optimizer_slots.slots(new, after)
    for variable, slots in zip(after, new_slots, strict=True):
        source = by_new.get(id(variable))
        if source is None:
            continue
        given = {each.name: each for each in old_slots.get(id(source.old), [])}
        for slot in slots:
            _fill(slot, given.get(slot.name), source)
    _carry_the_rest(old, list(old_slots.values()), new, new_slots)


def _fill(slot: Any, given: Any, source: Source) -> None:
    if given is None:
        return
    if source.change is None:
        slot.variable.assign(given.variable.value)
    elif slot.is_like_variable and given.is_like_variable:
        slot.variable.assign(source.change(given.variable.numpy()))


def _carry_the_rest(
    old: Any, old_slots: list[Any], new: Any, new_slots: list[Any]
) -> None:
    """Iterations, learning rate, scale of losses and so on."""

    def rest(optimizer: Any, slots: list[Any]) -> list[Any]:
        of_slots = {id(slot.variable) for each in slots for slot in each}
        return [v for v in optimizer.variables if id(v) not in of_slots]

    # The rate is missing where it is a function.
    for source, target in zip(
        rest(old, old_slots), rest(new, new_slots), strict=False
    ):
        if source.shape == target.shape:
            target.assign(source.value)


def _carry_exclusions(old: Any, new: Any, sources: list[Source]) -> None:
    """Which variables have no weight decay."""
    old, new = map(_optimizer_slots.innermost, (old, new))
    # Private: there is no other way to ask. Names, which may be given there,
    # are other ones in the new model.
    if hasattr(old, "_exclude_from_weight_decay") and not new.built:
        excluded = [
            each.new for each in sources if not old._use_weight_decay(each.old)
        ]
        new.exclude_from_weight_decay(var_list=excluded)
