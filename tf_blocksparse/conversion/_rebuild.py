# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""A new model in which some layers are replaced, and all else is as it was.

`rebuild(model, convert)` is what `sparsify`, `densify` and `compact` have in
common. `convert(layer)` is asked once for the model and for every layer in it:
those of functional and sequential models, of models in them, and those that
other layers hold in attributes, lists or dicts. It returns None for a layer
that stays, or a `Replacement`:

    layer: the new layer, not built. Give it the name, the dtype policy and
        the arguments of the old one. It is built as the old one was.
    values: the values of its weights by name, as arrays. Weights of inner
        layers have names such as "query/blocks" (`named_variables` tells).
        A weight that is not mentioned has the old weight's value if the old
        layer has one of the same name and shape; else it stays as it is made,
        which is right for the weight "layout" of a layer that was given one.
    slot_maps: for each changed trainable weight (the name of the old weight,
        a function that makes the new array from the old weight's array).
        It is applied to those slots of the optimizer that have a number for
        each of the weight's; other slots start anew. Weights that are not
        mentioned, and were copied, keep all their slots.

    >>> import keras
    >>> from tf_blocksparse.conversion._rebuild import Replacement, rebuild
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    >>> def doubled(layer):
    ...     if not isinstance(layer, keras.layers.Dense):
    ...         return None
    ...     twice = lambda kernel: 2 * kernel
    ...     return Replacement(
    ...         type(layer).from_config(layer.get_config()),
    ...         values={"kernel": twice(layer.kernel.numpy())},
    ...         slot_maps={"kernel": ("kernel", twice)},
    ...     )
    >>> new = rebuild(model, doubled)
    >>> bool((new.layers[0].kernel == 2 * model.layers[0].kernel).numpy().all())
    True

What is kept: shared layers, layers used twice, names, `trainable` of layers
and weights, dtype policies, weights, states of random generators, vocabularies;
the optimizer with its iterations, learning rate and slots; loss, metrics and
the other arguments of `compile`. The old model is left as it was. Layers that
a layer makes in its `build` cannot be replaced: `replaceable(model)` tells.
"""

from collections.abc import Callable
from typing import Any

from tf_blocksparse.conversion import _compile, _inner_layers, _values
from tf_blocksparse.conversion._clone import Cloner
from tf_blocksparse.conversion._found import Found, replaceable
from tf_blocksparse.conversion._values import Replacement

__all__ = ["Found", "Replacement", "named_variables", "rebuild", "replaceable"]

named_variables = _inner_layers.named_variables


def rebuild(model: Any, convert: Callable[[Any], Replacement | None]) -> Any:
    """The new model; see above.

    Args:
      model: a built functional, sequential or subclassed model (with a
        `get_config` that describes it), or a layer.
      convert: gives the replacement of a layer, or None.

    Raises:
      ValueError: if the model is not built, or a part of it cannot be made
        from its config.
    """
    cloner = Cloner(model, convert)
    new = cloner.clone_all()
    sources = _values.copy_values(model, cloner.new, cloner.replacement)
    _compile.compile_as(model, new, sources)
    return new
