# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`LayoutTensor`: a layout whose blocks are known only when the ops run."""

import weakref
from typing import Any, NamedTuple

import tensorflow as tf

from tf_blocksparse import _arguments
from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.ops import _convert


class LayoutTensor(NamedTuple):
    """A layout as a tensor, for layouts that change or come from a checkpoint.

    Every op takes one where it takes a `BlockLayout`. Its blocks may change
    without a new trace of a `tf.function`. The ops check the numbers that they
    read, and raise `tf.errors.InvalidArgumentError` if they are no layout.

    Attributes:
      packed: int32 vector as `BlockLayout.packed`, a tensor or a variable.
      shape: `(inputs, outputs)` in features.
      block_size: `(b_in, b_out)`, or one int for both.
      taps: of a layout per tap, as `BlockLayout.taps`; None for one of a
        matrix, or that all taps of a kernel share.

    >>> import tensorflow as tf
    >>> from tf_blocksparse import ops
    >>> layout = BlockLayout([[1, 0], [0, 1]], block_size=4)
    >>> packed = tf.Variable(layout.packed)
    >>> dynamic = LayoutTensor(packed, layout.shape, layout.block_size)
    >>> ops.matmul(tf.ones([3, 8]), tf.ones([2, 4, 4]), dynamic).shape
    TensorShape([3, 8])
    """

    packed: Any
    shape: tuple[int, int]
    block_size: tuple[int, int] | int
    taps: int | None = None


class Resolved(NamedTuple):
    """What the ops need to know of a layout."""

    packed: tf.Tensor
    inputs: int
    outputs: int
    block_size: tuple[int, int]
    nnz: int | None  # None: known only when the op runs
    taps: int | None = None  # None: of a matrix, or shared by all taps

    @property
    def grid(self) -> tuple[int, int]:
        """Blocks along the inputs and along the outputs."""
        b_in, b_out = self.block_size
        return -(-self.inputs // b_in), -(-self.outputs // b_out)

    @property
    def packed_grid(self) -> tuple[int, int]:
        """Rows and columns of `packed`: each input block has all taps."""
        rows, columns = self.grid
        return rows * (self.taps or 1), columns


# Weak: a layout's tensor goes with the layout.
_eager_constants: "weakref.WeakKeyDictionary[BlockLayout, tf.Tensor]" = (
    weakref.WeakKeyDictionary()
)


def resolve(layout: BlockLayout | LayoutTensor) -> Resolved:
    """The packed tensor of a layout, and its sizes, checked.

    Raises:
      ValueError: if it is no layout, or if the sizes don't fit each other.
    """
    if isinstance(layout, BlockLayout):
        return Resolved(
            _constant(layout),
            *layout.shape,
            layout.block_size,
            layout.nnz,
            layout.taps,
        )
    if not isinstance(layout, LayoutTensor):
        raise ValueError(
            f"layout: got {_arguments.shown(layout)}, expected a BlockLayout "
            "or a LayoutTensor; make one with BlockLayout(mask, block_size)"
        )
    inputs, outputs = _arguments.pair(
        "layout.shape",
        layout.shape,
        1,
        _arguments.MAX_INT32,
        "pass (inputs, outputs) of the weight",
    )
    block_size = _arguments.block_size(layout.block_size)
    taps = layout.taps
    if taps is not None:
        advice = "pass BlockLayout.taps"
        taps = _arguments.integer(
            "layout.taps", taps, 1, _arguments.MAX_INT32, advice
        )
    packed = _convert.tensor("layout.packed", layout.packed)
    result = Resolved(packed, inputs, outputs, block_size, None, taps)
    if packed.dtype != tf.int32 or packed.shape.rank not in (1, None):
        raise ValueError(
            f"layout.packed: got {packed.dtype.name} of shape {packed.shape}, "
            "expected an int32 vector; use BlockLayout.packed"
        )
    length = packed.shape.num_elements()
    if length is None:
        return result
    spare = sum(result.packed_grid) + 2
    nnz, rest = divmod(length - spare, 3)
    if rest or nnz < 0:
        of_taps = "" if taps is None else f" and {taps} taps"
        raise ValueError(
            f"layout.packed: got {length} numbers, expected {spare} + 3 nnz "
            f"for a weight of {inputs} x {outputs} with blocks of {block_size}"
            f"{of_taps}; pass the sizes the layout was made for"
        )
    return result._replace(nnz=nnz)


def resolve_matrix(layout: BlockLayout | LayoutTensor) -> Resolved:
    """`resolve` for ops on matrices: a layout per tap is refused."""
    parts = resolve(layout)
    if parts.taps is not None:
        raise ValueError(
            f"layout: got one for each of {parts.taps} taps, expected that of "
            "a matrix; convolutions take layouts per tap"
        )
    return parts


def _constant(layout: BlockLayout) -> tf.Tensor:
    if not tf.executing_eagerly():
        # A constant of the graph under construction travels with it.
        return tf.constant(layout.packed)
    packed = _eager_constants.get(layout)
    if packed is None:
        with tf.device("CPU:0"):  # where the ops read it, on every device
            packed = tf.constant(layout.packed)
        _eager_constants[layout] = packed
    return packed
