# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""A new layer like another one, without its weights."""

import types
import warnings
from collections.abc import Sequence
from typing import Any

import keras


def config_copy(
    layer: Any,
    *,
    kind: Any = None,
    leave_out: Sequence[str] = (),
    **changes: Any,
) -> Any:
    """A layer made from the config of another one, with some changes to it.

    Args:
      layer: the other one.
      kind: the class of the new layer; that of `layer` by default.
      leave_out: entries of the config that the class does not take.
      **changes: entries of the config instead of the layer's.

    Classes and functions that the layer uses need not be registered with
    Keras, as they must be for loading: they are at hand.

    Raises:
      ValueError: if the layer has no config, or none that makes a layer.
    """
    kind = kind or type(layer)
    try:
        with warnings.catch_warnings():
            # Of functions, which are replaced below.
            warnings.filterwarnings("ignore", ".*serialized includes a `lambda")
            config = layer.get_config()
        if isinstance(layer, keras.layers.Lambda):
            return _copy_of_lambda(layer, config)
        for name, value in vars(layer).items():
            # A config names functions, or has their code, which Keras does
            # not read without being told to.
            if name in config and _is_foreign(value, types.FunctionType):
                config[name] = value
        config.update(changes)
        config = {k: v for k, v in config.items() if k not in leave_out}
        with keras.saving.custom_object_scope(_classes_of(layer)):
            return kind.from_config(config)
    except (NotImplementedError, TypeError, ValueError) as error:
        what = "model" if isinstance(layer, keras.Model) else "layer"
        first = str(error).strip().splitlines()[:1] or [type(error).__name__]
        raise ValueError(
            f"{what} {layer.name}: got a {type(layer).__name__} that its "
            f"config does not make anew ({first[0]}), expected get_config and "
            "from_config to describe it; write these, or convert its layers "
            "one by one, as in self.dense = tf_blocksparse.sparsify(self.dense)"
        ) from error


def _copy_of_lambda(layer: Any, config: dict[str, Any]) -> Any:
    config["function"] = layer.function
    config["arguments"] = layer.arguments
    config["mask"] = layer.mask
    # Private: a function given as output_shape is nowhere else.
    config["output_shape"] = layer._output_shape
    return type(layer)(**config)


def _is_foreign(value: Any, kind: Any) -> bool:
    module = getattr(value, "__module__", None) or ""
    return isinstance(value, kind) and module.split(".")[0] != "keras"


def _classes_of(layer: Any) -> dict[str, Any]:
    """Classes and functions that the layer holds, by name."""
    found: dict[str, Any] = {}
    seen: set[int] = set()

    def visit(value: Any, depth: int) -> None:
        if id(value) in seen or depth > 6:
            return
        seen.add(id(value))
        if isinstance(value, (list, tuple)):
            for each in value:
                visit(each, depth + 1)
        elif isinstance(value, dict):
            for each in value.values():
                visit(each, depth + 1)
        elif isinstance(value, types.FunctionType):
            if _is_foreign(value, object):
                found[value.__name__] = value
        elif hasattr(type(value), "get_config"):
            if _is_foreign(type(value), object):
                found[type(value).__name__] = type(value)
            for each in list(getattr(value, "__dict__", {}).values()):
                visit(each, depth + 1)

    visit(layer, 0)
    return found
