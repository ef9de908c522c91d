# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Where the blocks of a layout are, as a tensor, also of one without a value.

The forward view of the packed vector tells; of a layout without a value it is
checked in the graph, since a wrong place would be read or written silently.
"""

import numpy as np
import tensorflow as tf

from tf_blocksparse import _packed
from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.ops.layout_tensor import LayoutTensor, Resolved


def places(parts: Resolved, layout: BlockLayout | LayoutTensor) -> tf.Tensor:
    """Row and column of `packed_grid` of each block, `[nnz, 2]`, checked."""
    packed = tf.get_static_value(parts.packed)
    if packed is None:
        return _places_in_graph(parts)
    if not isinstance(layout, BlockLayout):
        taps = [] if parts.taps is None else [parts.taps]
        shape = (*taps, parts.inputs, parts.outputs)
        BlockLayout.from_packed(packed, shape, parts.block_size)
    pairs = _packed.places(packed, parts.packed_grid)
    return tf.constant(np.stack(pairs, axis=1), tf.int32)


def _places_in_graph(parts: Resolved) -> tf.Tensor:
    # tf.equal: `==` compares identities in a tf.compat.v1 graph.
    rows, columns = parts.packed_grid
    spare = tf.size(parts.packed) - (rows + columns + 2)
    nnz = spare // 3
    length = _require(
        (spare >= 0) & tf.equal(spare % 3, 0),
        f"got a length other than {rows + columns + 2} + 3 nnz",
    )
    with tf.control_dependencies([length]):
        splits = parts.packed[: columns + 1]
        inputs = parts.packed[columns + 1 : columns + 1 + nnz]
    counts = splits[1:] - splits[:-1]
    rises = _require(
        tf.equal(splits[0], 0)
        & tf.equal(splits[-1], nnz)
        & tf.reduce_all(splits[1:] >= splits[:-1]),
        "got output_splits that do not ascend from 0 to nnz",
    )
    with tf.control_dependencies([rises]):
        outputs = tf.repeat(tf.range(columns), counts)
    in_range = _require(
        tf.reduce_all((inputs >= 0) & (inputs < rows)),
        f"got an input_index outside of 0 to {rows - 1}",
    )
    next_output = outputs[1:] > outputs[:-1]
    ascends = _require(
        tf.reduce_all(next_output | (inputs[1:] > inputs[:-1])),
        "got inputs that do not ascend within an output",
    )
    with tf.control_dependencies([in_range, ascends]):
        return tf.stack([inputs, outputs], axis=1)


def _require(condition: tf.Tensor, wrong: str) -> tf.Operation:
    advice = "expected a packed layout; pass what BlockLayout.packed gave"
    return tf.debugging.Assert(condition, [f"layout.packed: {wrong}, {advice}"])
