# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The weights of layers as kernels `[spatial..., inputs, outputs]`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tf_blocksparse import _packed, patterns
from tf_blocksparse.conversion import _criteria, _twins
from tf_blocksparse.layers import _einsum
from tf_blocksparse.layout import BlockLayout

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Part:
    """A weight of a built layer that is in `_twins`: dense or of blocks."""

    layer: Any
    spatial: tuple[int, ...]  # the kernel's size; () for a matrix
    inputs: int
    outputs: int
    groups: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the whole kernel, as a layout per tap takes it."""
        return (*self.spatial, self.inputs, self.outputs)

    @property
    def weight_name(self) -> str:
        """The name of the layer's weight."""
        return "blocks" if _twins.is_sparse(self.layer) else "kernel"

    def weight(self) -> Array:
        """The weight as the layer has it."""
        array: Array = np.asarray(getattr(self.layer, self.weight_name))
        return array

    def kernel(self, array: Array) -> Array:
        """An array like the weight as the whole kernel."""
        layer = self.layer
        if _twins.is_sparse(layer):
            return layer.layout.to_dense(array, self.spatial or None)
        if hasattr(layer, "equation"):
            return _einsum.parse(layer.equation).matrix(array)
        if _twins.is_transposed(layer):
            return array.swapaxes(-1, -2)
        if self.groups == 1:
            return array
        # Keras's kernel has the inputs of one group, and all outputs.
        whole = np.zeros(self.shape, array.dtype)
        for i, o in self._group_slices():
            whole[..., i, o] = array[..., o]
        return whole

    def keras_kernel(self, kernel: Array) -> Array:
        """The whole kernel as the layer of Keras has it."""
        layer = self.layer
        if hasattr(layer, "equation"):
            return np.asarray(layer.matrix_kernel(kernel))
        if _twins.is_transposed(layer):
            return kernel.swapaxes(-1, -2)
        if self.groups == 1:
            return kernel
        parts = [kernel[..., i, o] for i, o in self._group_slices()]
        return np.concatenate(parts, axis=-1)

    def _group_slices(self) -> list[tuple[slice, slice]]:
        i, o = self.inputs // self.groups, self.outputs // self.groups
        return [
            (slice(g * i, (g + 1) * i), slice(g * o, (g + 1) * o))
            for g in range(self.groups)
        ]

    def candidates(
        self, block_size: tuple[int, int], shared: bool
    ) -> BlockLayout:
        """All places for blocks: of a sparse layer its open blocks."""
        layer = self.layer
        if _twins.is_sparse(layer):
            layout = layer.layout
            if layer.gate_mask is not None:
                layout = subset(layout, np.asarray(layer.gate_mask))
            return layout
        shape = self.shape[-2:] if shared else self.shape
        layout = BlockLayout.dense(shape, block_size)
        if self.groups == 1:
            return layout
        own = patterns.block_diagonal(layout.grid, self.groups)
        return BlockLayout(layout.mask & own, block_size, *shape[-2:])

    def places(self, layout: BlockLayout) -> int:
        """How many blocks there could be at most, in a layout like this."""
        return _criteria.places(layout, self.groups)

    def scores(self, layout: BlockLayout, criterion: str, mean: bool) -> Array:
        """The score of each block of a layout of `candidates`."""
        kernel = self.kernel(self.weight())
        return _criteria.block_scores(
            layout.gather(kernel), criterion, f"layer {self.layer.name}", mean
        )


def part_of(layer: Any) -> Part:
    """The weight of a built layer that is in `_twins`."""
    spatial = tuple(getattr(layer, "kernel_size", ()))
    groups = getattr(layer, "groups", 1)
    if _twins.is_sparse(layer):
        inputs, outputs = layer.layout.shape
    elif hasattr(layer, "equation"):
        equation = _einsum.parse(layer.equation)
        sizes = dict(zip(equation.kernel, layer.kernel.shape, strict=True))
        inputs = int(np.prod([sizes[a] for a in equation.contracted]))
        outputs = int(np.prod([sizes[a] for a in equation.outputs]))
    elif _twins.is_transposed(layer):
        outputs, inputs = layer.kernel.shape[-2:]
    else:
        inputs, outputs = layer.kernel.shape[-2:]
        inputs *= groups
    return Part(layer, spatial, inputs, outputs, groups)


def subset(layout: BlockLayout, chosen: Any) -> BlockLayout:
    """The layout of some of a layout's blocks, told by bools `[nnz]`."""
    rows, columns = _packed.places(layout.packed, layout.packed_grid)
    mask = np.zeros(layout.packed_grid, np.bool_)
    mask[rows[chosen], columns[chosen]] = True
    return BlockLayout(
        _packed.taps_of(mask, layout.taps), layout.block_size, *layout.shape
    )
