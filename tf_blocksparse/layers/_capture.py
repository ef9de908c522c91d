# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What goes through block-sparse layers, kept while somebody looks.

Growing blocks needs the gradient of the weight where no block is:

    with tf.GradientTape() as tape, capture() as records:
        loss = ...  # of a model
    gradients = tape.gradient(loss, [record.z for record in records])
    norms = gradient_norms(records, gradients)  # of one layer

A layer that is called several times has a record of each call.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from tf_blocksparse import ops
from tf_blocksparse.ops.conv_block_norms import norms_of_sum

_in_thread = threading.local()


class Record(NamedTuple):
    """One call of a layer's op."""

    layer: Any
    op: Callable[..., Any]
    x: tf.Tensor  # the inputs, in the dtype of the product
    z: tf.Tensor  # the product and the bias, before the activation
    arguments: tuple[Any, ...]  # after the layout
    names: dict[str, Any]


@contextlib.contextmanager
def capture() -> Iterator[list[Record]]:
    """Lets block-sparse layers called in this thread record what they do.

    Their activations run after their ops, not inside, so that z is on the way
    to the loss. A `tf.function` that was traced before does not record; one
    that is traced inside records tensors of its own graph: let functions run
    eagerly where that matters.
    """
    outer = active()
    records: list[Record] = []
    _in_thread.records = records
    try:
        yield records
    finally:
        _in_thread.records = outer


def active() -> list[Record] | None:
    """Where to record; None if nobody looks."""
    return getattr(_in_thread, "records", None)


def gradient_norms(
    records: Sequence[Record], gradients: Sequence[tf.Tensor]
) -> tf.Tensor:
    """The l2 norms of the blocks of the dense weight's gradient of a layer.

    Args:
      records: of all calls of the layer, at least one.
      gradients: of the loss for the z of each.

    Returns:
      float32 in the shape of the layout's mask.
    """
    op = records[0].op
    if op is ops.matmul:
        return _matmul_norms(records, gradients)
    return _conv_norms(records, gradients, op is ops.conv_transpose)


def _matmul_norms(
    records: Sequence[Record], gradients: Sequence[tf.Tensor]
) -> tf.Tensor:
    # The gradients of several calls add up, as those of rows do.
    a = _rows([record.x for record in records], records[0].names)
    b = _rows(gradients, records[0].names)
    if records[0].names.get("transpose", False):
        a, b = b, a
    layout = records[0].layer._current_layout
    return ops.block_norms(a, b, layout.block_size)


def _rows(values: Sequence[tf.Tensor], names: dict[str, Any]) -> tf.Tensor:
    """Values of several calls as one matrix."""
    if names.get("feature_axis", -1) == 0:
        values = [
            tf.transpose(tf.reshape(value, [value.shape[0], -1]))
            for value in values
        ]
    matrices = [tf.reshape(value, [-1, value.shape[-1]]) for value in values]
    return matrices[0] if len(matrices) == 1 else tf.concat(matrices, 0)


def _conv_norms(
    records: Sequence[Record], gradients: Sequence[tf.Tensor], transpose: bool
) -> tf.Tensor:
    names = records[0].names
    said = (
        *records[0].arguments,
        names["strides"],
        names["padding"],
        names["dilation_rate"],
        names["data_format"],
    )
    pairs = [
        (gradient, record.x) if transpose else (record.x, gradient)
        for record, gradient in zip(records, gradients, strict=True)
    ]
    layout = records[0].layer._current_layout
    return norms_of_sum(
        pairs,
        said,
        layout.block_size,
        transpose=transpose,
        taps=layout.taps is not None,
    )
