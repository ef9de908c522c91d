# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""New layers in the places of old ones: the graph, without the values."""

import warnings
from collections.abc import Callable
from typing import Any

import keras

from tf_blocksparse.conversion import _inner_layers
from tf_blocksparse.conversion._config_copy import config_copy
from tf_blocksparse.conversion._inner_layers import inner_layers, is_graph
from tf_blocksparse.conversion._values import Replacement


class Cloner:
    """Makes the new layers of a model, once each."""

    def __init__(
        self, model: Any, convert: Callable[[Any], Replacement | None]
    ) -> None:
        self._model = model
        self._convert = convert
        self._replacements: dict[int, Replacement | None] = {}
        self._new: dict[int, Any] = {}
        self._shared = _shared_layers(model)

    def clone_all(self) -> Any:
        """The new model, built."""
        if not self._model.built:
            raise ValueError(
                f"model: got {self._model.name}, which is not built, expected "
                "weights to convert; call it on inputs, or build it"
            )
        new = self._clone(self._model)
        self._build(self._model, new)
        return new

    def replacement(self, layer: Any) -> Replacement | None:
        """What `convert` says of a layer: always the same."""
        key = id(layer)
        if key not in self._replacements:
            self._replacements[key] = self._convert(layer)
        return self._replacements[key]

    def new(self, layer: Any) -> Any:
        """The new layer in the place of an old one, after `clone_all`."""
        return self._new[id(layer)]

    def _clone(self, layer: Any) -> Any:
        """The new layer for an old one: always the same."""
        key = id(layer)
        if key not in self._new:
            self._new[key] = self._make(layer)
        return self._new[key]

    def _make(self, layer: Any) -> Any:
        if not isinstance(layer, keras.layers.Layer):
            # An operation in a functional model.
            return type(layer).from_config(layer.get_config())
        replacement = self.replacement(layer)
        if replacement is not None:
            return replacement.layer
        if is_graph(layer):
            return self._clone_graph(layer)
        if isinstance(layer, keras.Sequential):
            return self._clone_sequential(layer)
        new = config_copy(layer)
        _name_alike(layer, new)
        if self._changes(layer):
            self._replace_inner(layer, new)
        return new

    def _clone_graph(self, model: Any) -> Any:
        # Without what `compile` made of the model: clone_model would compile
        # its clone from a config, which cannot hold every loss.
        plain = keras.Model(model.input, model.output, name=model.name)
        new = keras.models.clone_model(
            plain,
            input_tensors=keras.tree.map_structure(
                lambda tensor: _input_like(plain, tensor), model.input
            ),
            clone_function=self._clone,
        )
        if type(model) is not type(plain):
            if type(model).__init__ is type(plain).__init__:
                new = type(model)(new.input, new.output, name=model.name)
            else:
                _warn_of_class(model, "functional")
        new.dtype_policy = model.dtype_policy
        return new

    def _clone_sequential(self, model: Any) -> Any:
        layers = [self._clone(layer) for layer in model.layers]
        if _has_inputs(model):
            plain = keras.Model(model.inputs, model.outputs, name=model.name)
            layers.insert(0, _input_like(plain, model.inputs[0]))
        kind = type(model)
        if kind.__init__ is not keras.Sequential.__init__:
            _warn_of_class(model, "sequential")
            kind = keras.Sequential
        new = kind(layers, name=model.name)
        new.dtype_policy = model.dtype_policy
        return new

    def _changes(self, layer: Any) -> bool:
        """Whether other layers must be put into the copy of a layer."""
        return any(
            id(each) in self._shared
            or self.replacement(each) is not None
            or self._changes(each)
            for _, each in inner_layers(layer)
        )

    def _replace_inner(self, layer: Any, new: Any) -> None:
        parts = []
        for place, old in inner_layers(layer):
            own = _inner_layers.layer_at(new, place)
            is_changed = (
                id(old) in self._new
                or id(old) in self._shared
                or self.replacement(old) is not None
                or self._changes(old)
            )
            if own is None:
                if is_changed:
                    raise ValueError(
                        f"layer {layer.name}: got a {type(layer).__name__} "
                        f"that makes {old.name} in build, expected it to be "
                        "made in __init__, so that it can be replaced; leave "
                        f"out {old.name}, or make it in __init__"
                    )
                continue
            if not is_changed:
                self._new[id(old)] = own
            parts.append((place, self._clone(old)))
        _inner_layers.put_layers(new, parts)

    def _build(self, old: Any, new: Any) -> None:
        """Builds a new layer as the old one was, and those in it."""
        self._new[id(old)] = new
        if old.built and not new.built:
            _build_one(old, new)
        if self.replacement(old) is None:
            _name_alike(old, new)
            for place, each in inner_layers(old):
                other = self._new.get(id(each))
                other = other or _inner_layers.layer_at(new, place)
                if other is None:
                    raise ValueError(
                        f"layer {old.name}: got a {type(old).__name__} that "
                        f"has {each.name} in {place[0]}, expected one made "
                        "from its config to have it, too, once it is built; "
                        "make inner layers in __init__ or build"
                    )
                self._build(each, other)


def _build_one(old: Any, new: Any) -> None:
    config = old.get_build_config()
    if not config:
        return
    is_plain = type(new).build is keras.layers.Layer.build
    if is_plain and inner_layers(new):
        _build_by_call(new, config)
    else:
        new.build_from_config(config)


def _build_by_call(layer: Any, config: dict[str, Any]) -> None:
    """As Keras builds a layer without a `build`: by calling it.

    If that fails, its inner layers are built one by one, which is as good, but
    the names of their weights don't tell the layer that holds them.
    """
    # Keras has stored shapes only.
    for dtype in (layer.compute_dtype, "int32"):

        def tensors(shape: Any, dtype: str = dtype) -> Any:
            return keras.tree.map_shape_structure(
                lambda each: keras.KerasTensor(each, dtype), shape
            )

        names = {
            name.removesuffix("_shape"): tensors(shape)
            for name, shape in config.get("shapes_dict", {}).items()
        }
        inputs = [tensors(config["input_shape"])] if not names else []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                layer(*inputs, **names)
                return
            except Exception:
                # Whatever a call does with inputs that are no numbers.
                continue


def _name_alike(old: Any, new: Any) -> None:
    """Names inner layers, which their configs do not tell, as before."""
    for place, each in inner_layers(old):
        other = _inner_layers.layer_at(new, place)
        if other is not None and type(other) is type(each):
            other.name = each.name
            _name_alike(each, other)


def _shared_layers(model: Any) -> set[int]:
    """The ids of layers that several others hold."""
    parents: dict[int, set[int]] = {}

    def visit(layer: Any) -> None:
        for _, each in inner_layers(layer):
            is_new = id(each) not in parents
            parents.setdefault(id(each), set()).add(id(layer))
            if is_new:
                visit(each)

    visit(model)
    return {key for key, each in parents.items() if len(each) > 1}


def _input_like(model: Any, tensor: Any) -> Any:
    """A new input of a functional model in place of one of its own."""
    # The tensor need not have the layer's name.
    layer = next(
        each
        for each in model.layers
        if isinstance(each, keras.layers.InputLayer) and each.output is tensor
    )
    return keras.Input(
        batch_shape=tensor.shape,
        dtype=tensor.dtype,
        sparse=tensor.sparse,
        ragged=tensor.ragged,
        name=layer.name,
        optional=layer.optional,
    )


def _has_inputs(model: Any) -> bool:
    """Whether a sequential model has a graph, or only a list of layers."""
    try:
        return len(model.inputs) == 1
    except (AttributeError, ValueError, TypeError):
        return False


def _warn_of_class(model: Any, kind: str) -> None:
    warnings.warn(
        f"model {model.name}: the new one is a plain {kind} model, not a "
        f"{type(model).__name__}, whose __init__ takes other arguments than "
        "layers; what that class adds is lost",
        stacklevel=2,
    )
