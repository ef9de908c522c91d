# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`inspect`: what of a model is block-sparse."""

import dataclasses
from collections.abc import Callable
from typing import Any

import keras

from tf_blocksparse import _arguments
from tf_blocksparse.inspection import _picture, _table
from tf_blocksparse.inspection._layer import (
    LayerInspection,
    bytes_of,
    parameters_of,
)
from tf_blocksparse.inspection._walk import walk
from tf_blocksparse.layers._block_sparse_layer import BlockSparseLayer
from tf_blocksparse.layout import BlockLayout


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Inspection:
    """What `inspect` found: `print` shows the table, `plot` the pictures.

    Attributes:
      name: of the model.
      layers: a `LayerInspection` for each block-sparse layer.
      others: number of the other layers that have weights of their own.
      other_parameters: floating-point numbers in their weights.
      other_bytes: of their weights in a file.
    """

    name: str
    layers: tuple[LayerInspection, ...]
    others: int = 0
    other_parameters: int = 0
    other_bytes: int = 0

    @classmethod
    def of(cls, model_or_layout: Any) -> "Inspection":
        """Looks without printing; see `inspect`."""
        if isinstance(model_or_layout, BlockLayout):
            seen = LayerInspection.of_layout(model_or_layout)
            return cls(seen.kind, (seen,))
        if not isinstance(model_or_layout, keras.layers.Layer):
            raise ValueError(
                f"model_or_layout: got {_arguments.shown(model_or_layout)}, "
                "expected a Keras model, a layer or a BlockLayout; pass one"
            )
        if not model_or_layout.built:
            raise ValueError(
                f"model_or_layout: got {model_or_layout.name}, which is not "
                "built, expected one with weights; call it once, or build it"
            )
        found = list(walk(model_or_layout))
        sparse = [
            (path, layer)
            for path, layer in found
            if isinstance(layer, BlockSparseLayer)
        ]
        # A weight that is used in several places, as a tied embedding, is
        # listed by each, but stored once.
        of_sparse = {id(w) for _, layer in sparse for w in layer.weights}
        others = {
            id(weight): weight
            for weight in model_or_layout.weights
            if id(weight) not in of_sparse
        }
        return cls(
            name=model_or_layout.name,
            layers=tuple(
                LayerInspection.of_layer(layer, path) for path, layer in sparse
            ),
            others=_count_of_holders(model_or_layout, found, set(others)),
            other_parameters=parameters_of(list(others.values())),
            other_bytes=bytes_of(list(others.values())),
        )

    @property
    def parameters(self) -> int:
        """Floating-point numbers in all weights of the model."""
        sparse = sum(layer.parameters for layer in self.layers)
        return sparse + self.other_parameters

    @property
    def dense_parameters(self) -> int:
        """What `parameters` would be if every block existed."""
        sparse = sum(layer.dense_parameters for layer in self.layers)
        return sparse + self.other_parameters

    @property
    def bytes(self) -> int:
        """Of all weights in a file, without those of an optimizer."""
        return sum(layer.bytes for layer in self.layers) + self.other_bytes

    def plot(self, path_or_axes: Any = None) -> Any:
        """Draws a row for each block-sparse layer, with matplotlib.

        From left to right: the layout, as `BlockLayout.plot` has it, with
        closed blocks light; how many open blocks have which norm; and the
        open blocks of every output. A layout alone has no norms.

        Args:
          path_or_axes: a file to write, of any kind that matplotlib knows; or
            axes to draw on, as many as there are pictures, row by row; by
            default a new figure of pyplot, which notebooks show.

        Returns:
          The figure.

        Raises:
          ImportError: if matplotlib is not installed.
          ValueError: if there are too few or too many axes, or nothing to
            draw.

        >>> import matplotlib; matplotlib.use("Agg")
        >>> figure = Inspection.of(BlockLayout.dense((64, 64), 32)).plot()
        >>> len(figure.axes)
        2
        """
        return _picture.plot(self.layers, path_or_axes)

    def __str__(self) -> str:
        return _table.text(self)

    def __repr__(self) -> str:
        return (
            f"<Inspection of {self.name}: {len(self.layers)} block-sparse, "
            f"{self.parameters:,} of {self.dense_parameters:,} parameters>"
        )


def inspect(
    model_or_layout: Any, *, print_fn: Callable[[str], object] | None = None
) -> Inspection:
    """Prints a table of what is block-sparse in a model, and returns it.

    Every block-sparse layer is told of, also those of nested models and those
    that other layers hold; a layer that is used several times once. The columns
    are

    - inputs x outputs, the taps of a convolution's kernel, and the block size;
    - the blocks that exist of all places, and their share, the density; with a
      gate, how many of them it closes;
    - parameters, and their share of those of the dense twin: more than the
      density where blocks jut out over the edge, or for the sake of the bias;
    - the share of the file that the layer takes, its layout included, where
      the file is that of all weights without an optimizer;
    - empty: inputs that no block reads, outputs that no block writes.

    Closed blocks count as there in every column but `empty`: they are in the
    file until they are removed.

    Args:
      model_or_layout: a built Keras model or layer, or a `BlockLayout`, which
        is described as a layer of float32 without a bias.
      print_fn: what to call with the text, as in Keras's `summary`; by default
        `print`.

    Returns:
      An `Inspection`: the table as `str`, the pictures by `plot`, and the
      numbers as attributes.

    Raises:
      ValueError: if there is nothing to see, because it is something else or
        is not built.

    >>> seen = inspect(BlockLayout([[1, 0], [1, 1]], 32))
    layer          inputs x outputs  blocks      parameters  of file  empty
    -----------------------------------------------------------------------
    layout                  64 x 64  3 of 4           3,072   100.0%   0 in
    (BlockLayout)        in 32 x 32   75.0%  75.0% of dense           0 out
    -----------------------------------------------------------------------
    blocks of an output: 1 to 2, 1.5 on average
    4,096 parameters if it were dense; weights and layouts take 12.3 kB
    >>> seen.layers[0].output_counts
    array([2, 1])
    """
    inspection = Inspection.of(model_or_layout)
    (print if print_fn is None else print_fn)(str(inspection))
    return inspection


def _count_of_holders(
    model: Any, found: list[tuple[str, Any]], weights: set[int]
) -> int:
    """Layers that are not block-sparse and have such a weight themselves."""
    count = 0
    for layer in [model, *(layer for _, layer in found)]:
        inner = layer._flatten_layers(include_self=False, recursive=False)
        below = {id(w) for each in inner for w in each.weights}
        own = {id(w) for w in layer.weights} - below
        count += bool(own & weights)
    return count
