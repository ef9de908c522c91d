# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Compiling a new model as an old one was."""

import inspect
import warnings
from typing import Any

import keras

from tf_blocksparse import _optimizer_slots
from tf_blocksparse.conversion._optimizers import carry_slots, optimizer_copy
from tf_blocksparse.conversion._values import Source


def compile_as(old: Any, new: Any, sources: list[Source]) -> None:
    """Compiles `new` as `old` was, its optimizer where that one stands.

    Losses and functions are the same objects, since not all have a config;
    metrics, which count, are copies where they have one.
    """
    if not isinstance(old, keras.Model) or not old.compiled:
        return
    if hasattr(_optimizer_slots.innermost(old.optimizer), "optimizers"):
        warnings.warn(
            f"model {old.name}: the new one is not compiled, since a "
            f"{type(old.optimizer).__name__} chooses optimizers by weights, "
            "which are others now; compile it before training",
            stacklevel=2,
        )
        return
    if type(old).compile is not keras.Model.compile:
        if not _compile_by_its_own(old, new):
            return
    else:
        new.compile(**_arguments(old))
    if getattr(new, "optimizer", None) is not None and old.optimizer.built:
        carry_slots(old, new, sources)


def _arguments(old: Any) -> dict[str, Any]:
    # Private: `get_compile_config` tells the same as text, in which functions
    # and classes that are not registered cannot be found again.
    given = dict(old._compile_config.config)
    for name in ("metrics", "weighted_metrics"):
        given[name] = _copy_of_metrics(given.get(name))
    if old.optimizer is not None:
        given["optimizer"] = optimizer_copy(old.optimizer)
    # Keras keeps what "auto" was found to mean: for other layers, another
    # answer may be right.
    given["jit_compile"] = "auto" if given.get("jit_compile") else False
    # The optimizer scales losses already if it should.
    return {**given, "auto_scale_loss": False}


def _copy_of_metrics(metrics: Any) -> Any:
    if isinstance(metrics, keras.metrics.Metric):
        try:
            scope = {type(metrics).__name__: type(metrics)}
            with keras.saving.custom_object_scope(scope):
                return type(metrics).from_config(metrics.get_config())
        except (NotImplementedError, TypeError, ValueError):
            return metrics
    if isinstance(metrics, dict):
        return {name: _copy_of_metrics(each) for name, each in metrics.items()}
    if isinstance(metrics, (list, tuple)):
        return [_copy_of_metrics(each) for each in metrics]
    return metrics


def _compile_by_its_own(old: Any, new: Any) -> bool:
    """By the methods of a model whose `compile` is its own."""
    kind = type(old)
    if kind.compile_from_config is keras.Model.compile_from_config:
        given = inspect.signature(kind.compile).parameters
        warnings.warn(
            f"model {old.name}: the new one is not compiled, since "
            f"{kind.__name__} has a compile of its own ({', '.join(given)}) "
            "but no compile_from_config; compile it before training",
            stacklevel=2,
        )
        return False
    new.compile_from_config(old.get_compile_config())
    return True
