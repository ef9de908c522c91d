# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What is to be seen of one layer, or of a layout alone."""

import dataclasses
import math
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from tf_blocksparse.layers._block_sparse_layer import BlockSparseLayer
from tf_blocksparse.layout import BlockLayout


@dataclasses.dataclass(frozen=True, eq=False)
class LayerInspection:
    """A block-sparse layer, or a layout, at the moment it was looked at.

    Later changes of the layer don't show. A block counts as open unless its
    gate is 0.

    Attributes:
      name: the names of what holds the layer and its own, `"encoder/query"`.
      kind: the layer's class, or `"BlockLayout"`.
      layout: which blocks exist.
      taps: of a convolution's kernel; None for a matrix.
      gate: float32 `[nnz]`, a mask's as 0 and 1; None without a gate.
      norms: float32 `[nnz]`, the l2 norm of every block's values times the
        absolute value of its gate; None for a layout. Values beyond the last
        input or output don't count.
      parameters: floating-point numbers in the layer's weights, closed blocks
        included.
      dense_parameters: those of its dense twin.
      bytes: of all its weights in a file, those of layout and mask included.
      groups: of a convolution, outside of which there is no place for blocks.

    >>> seen = LayerInspection.of_layout(BlockLayout([[1, 0], [1, 0]], 8))
    >>> seen.density, seen.empty_inputs, seen.empty_outputs
    (0.5, 0, 8)
    """

    name: str
    kind: str
    layout: BlockLayout
    taps: int | None
    gate: npt.NDArray[np.float32] | None
    norms: npt.NDArray[np.float32] | None
    parameters: int
    dense_parameters: int
    bytes: int
    groups: int = 1

    @classmethod
    def of_layer(cls, layer: BlockSparseLayer, name: str) -> "LayerInspection":
        """Reads a layer that is built.

        Raises:
          ValueError: if it isn't.
        """
        if not layer.built:
            raise ValueError(
                f"layer {name}: got a layer that is not built, expected one "
                "with weights; build the model, or call it once"
            )
        layout = layer.layout
        taps = layout.taps or layer._taps
        groups = getattr(layer, "groups", 1)
        gate = _gate(layer)
        bias = 0 if layer.bias is None else math.prod(layer.bias.shape)
        return cls(
            name=name,
            kind=type(layer).__name__,
            layout=layout,
            taps=taps,
            gate=gate,
            norms=_norms(layer, gate),
            parameters=parameters_of(layer.weights),
            dense_parameters=math.prod(layout.shape) * (taps or 1) // groups
            + bias,
            bytes=bytes_of(layer.weights),
            groups=groups,
        )

    @classmethod
    def of_layout(cls, layout: BlockLayout) -> "LayerInspection":
        """Describes a layout as a layer of float32 without a bias."""
        parameters = math.prod(layout.blocks_shape)
        return cls(
            name="layout",
            kind="BlockLayout",
            layout=layout,
            taps=layout.taps,
            gate=None,
            norms=None,
            parameters=parameters,
            dense_parameters=math.prod(layout.shape) * (layout.taps or 1),
            bytes=4 * parameters + layout.packed.nbytes,
        )

    @property
    def open(self) -> npt.NDArray[np.bool_]:
        """Bool `[nnz]`: which blocks no gate closes."""
        if self.gate is None:
            return np.ones(self.layout.nnz, np.bool_)
        return self.gate != 0

    @property
    def closed(self) -> int:
        """Number of blocks that a gate closes."""
        return int(self.layout.nnz - np.count_nonzero(self.open))

    @property
    def block_places(self) -> int:
        """How many blocks there could be."""
        return self.layout.mask.size // self.groups

    @property
    def density(self) -> float:
        """Share of the blocks that exist, closed ones too."""
        return self.layout.nnz / self.block_places

    @property
    def output_counts(self) -> npt.NDArray[np.int64]:
        """Open blocks of every output block, over all taps of a layout."""
        return self.places(self.open).sum((0, 2), np.int64)

    @property
    def empty_inputs(self) -> int:
        """Input features that no open block reads."""
        return self._empty(0)

    @property
    def empty_outputs(self) -> int:
        """Output features that no open block writes."""
        return self._empty(1)

    def _empty(self, axis: int) -> int:
        filled = self.places(self.open).any((1 - axis, 2))
        size = self.layout.block_size[axis]
        features = np.repeat(filled, size)[: self.layout.shape[axis]]
        return int(features.size - np.count_nonzero(features))

    def places(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values `[nnz]` in their places, 0 where no block is.

        Returns:
          `[input blocks, output blocks, taps of the layout or 1]`.
        """
        mask = self.layout.mask.reshape(-1, *self.layout.grid)
        # Blocks are in this order: by output, by input, by tap.
        placed = np.zeros(mask.T.shape, values.dtype)
        placed[mask.T] = values
        return placed.swapaxes(0, 1)


def parameters_of(weights: list[Any]) -> int:
    """Floating-point numbers; others, as those of a layout, learn nothing."""
    return sum(
        math.prod(weight.shape)
        for weight in weights
        if keras.backend.is_float_dtype(weight.dtype)
    )


def bytes_of(weights: list[Any]) -> int:
    """What the values take in a file."""
    sizes = {"bool": 1, "bfloat16": 2}
    return sum(
        math.prod(weight.shape)
        * (sizes.get(weight.dtype) or np.dtype(weight.dtype).itemsize)
        for weight in weights
    )


def _gate(layer: BlockSparseLayer) -> npt.NDArray[np.float32] | None:
    values = layer._gate_values()
    if values is None:
        return None
    return keras.ops.convert_to_numpy(keras.ops.cast(values, "float32"))


def _norms(
    layer: BlockSparseLayer, gate: npt.NDArray[np.float32] | None
) -> npt.NDArray[np.float32]:
    layout = layer.layout
    blocks = np.array(
        keras.ops.convert_to_numpy(keras.ops.cast(layer.blocks, "float32"))
    )
    # What juts out over the last input or output is no part of the weight.
    mask = layout.mask.reshape(-1, *layout.grid)
    output, input_, _ = np.nonzero(mask.T)
    rows, columns = (
        size - (blocks - 1) * side
        for size, blocks, side in zip(
            layout.shape, layout.grid, layout.block_size, strict=True
        )
    )
    blocks[input_ == layout.grid[0] - 1, ..., rows:, :] = 0
    blocks[output == layout.grid[1] - 1, ..., columns:] = 0
    norms = np.linalg.norm(
        blocks.reshape(len(blocks), math.prod(blocks.shape[1:])), axis=1
    )
    # A closed block is skipped, whatever it holds.
    return (
        norms if gate is None else np.where(gate != 0, norms * np.abs(gate), 0)
    )
