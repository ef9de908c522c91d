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


class Resolved(NamedTuple):
    """What the ops need to know of a layout."""

    packed: tf.Tensor
    inputs: int
    outputs: int
    block_size: tuple[int, int]
    nnz: int | None  # None: known only when the op runs

    @property
    def grid(self) -> tuple[int, int]:
        """Blocks along the inputs and along the outputs."""
        b_in, b_out = self.block_size
        return -(-self.inputs // b_in), -(-self.outputs // b_out)


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
            _constant(layout), *layout.shape, layout.block_size, layout.nnz
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
    packed = _convert.tensor("layout.packed", layout.packed)
    result = Resolved(packed, inputs, outputs, block_size, None)
    if packed.dtype != tf.int32 or packed.shape.rank not in (1, None):
        raise ValueError(
            f"layout.packed: got {packed.dtype.name} of shape {packed.shape}, "
            "expected an int32 vector; use BlockLayout.packed"
        )
    length = packed.shape.num_elements()
    if length is None:
        return result
    nnz, rest = divmod(length - sum(result.grid) - 2, 3)
    if rest or nnz < 0:
        raise ValueError(
            f"layout.packed: got {length} numbers, expected "
            f"{sum(result.grid) + 2} + 3 nnz for a weight of {inputs} x "
            f"{outputs} with blocks of {block_size}; pass the sizes the layout "
            "was made for"
        )
    return result._replace(nnz=nnz)


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
