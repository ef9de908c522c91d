# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`sampled_matmul`: a dense product, only where blocks exist."""

from typing import Any

import tensorflow as tf

from tf_blocksparse.layout import BlockLayout
from tf_blocksparse.ops import _inputs, _products
from tf_blocksparse.ops._library import library
from tf_blocksparse.ops.layout_tensor import LayoutTensor, resolve_matrix
from tf_blocksparse.ops.matmul import SHARED


def sampled_matmul(
    a: Any,
    b: Any,
    layout: BlockLayout | LayoutTensor,
    *,
    feature_axis: int = -1,
    gate: Any = None,
) -> tf.Tensor:
    """Multiplies two dense matrices only where a layout has blocks.

    The gradient of `matmul` for its blocks, and a score for growing blocks: it
    tells the gradient of a dense weight at blocks that don't exist yet.
    Differentiable to any order in a, b and gate.

    `blocks[w] = gate[w] * a_c^T b_k` for each block w at (c, k), summed over
    all rows: the product `a^T b`, as `from_dense` would cut it.

    Args:
      a: `[..., inputs]`, or `[inputs, ...]` if `feature_axis` is 0.
      b: `[..., outputs]`, otherwise of a's shape and dtype. Of a and b, what is
        no tensor takes the other's dtype, or float32.
      layout: where to multiply.
      feature_axis: the axis of the features: -1 or 0.
      gate: `[nnz]`, as for `matmul`. A block with gate 0 is 0.

    Returns:
      blocks: `[nnz, b_in, b_out]` of a's dtype, 0 beyond the edge.

    Raises:
      ValueError: if dtypes or known shapes don't fit.
      tf.errors.InvalidArgumentError: if shapes or a layout known only when the
        op runs don't fit.

    >>> from tf_blocksparse import BlockLayout
    >>> layout = BlockLayout([[1, 0], [0, 1]], block_size=1)
    >>> a = [[1.0, 2.0], [3.0, 4.0]]
    >>> sampled_matmul(a, a, layout).numpy().ravel()
    array([10., 20.], dtype=float32)
    """
    parts = resolve_matrix(layout)
    axis = _inputs.feature_axis(feature_axis, a, b)
    dtype = tf.float32
    for value in (b, a):
        if _inputs.is_tensor(value):
            dtype = value.dtype
    a = _inputs.rows_tensor("a", a, dtype, parts.inputs, axis)
    b = _inputs.rows_tensor("b", b, dtype, parts.outputs, axis)
    _check_pair(a, b, axis)
    _inputs.check_dtypes(a.dtype, a.dtype, parts, feature_axis=axis)
    gates, gate_gradient = _inputs.gate_list(gate, parts.nnz)
    return library.blocksparse_sampled_matmul(
        a,
        b,
        parts.packed,
        gates,
        Tb=a.dtype,
        block_size=parts.block_size,
        feature_axis=axis,
        inputs=parts.inputs,
        outputs=parts.outputs,
        gate_gradient=gate_gradient,
    )


def _check_pair(a: tf.Tensor, b: tf.Tensor, axis: int) -> None:
    rest = slice(1, None) if axis == 0 else slice(None, -1)
    same_rank = a.shape.rank == b.shape.rank or None in (
        a.shape.rank,
        b.shape.rank,
    )
    if (
        a.dtype != b.dtype
        or not same_rank
        or not a.shape[rest].is_compatible_with(b.shape[rest])
    ):
        raise ValueError(
            f"a and b: got {a.dtype.name} {a.shape} and {b.dtype.name} "
            f"{b.shape}, expected one dtype, and shapes that differ only along "
            f"axis {axis}; reshape or cast one of them"
        )


@tf.RegisterGradient("Blocksparse>SampledMatmul")
def _sampled_matmul_gradient(
    op: Any, dblocks: tf.Tensor
) -> _products.Gradients:
    a, b, layout = op.inputs[:3]
    shared = {name: op.get_attr(name) for name in SHARED}

    def multiply(index: int, gate: list[tf.Tensor]) -> tf.Tensor:
        return library.blocksparse_matmul(
            (b, a)[index], dblocks, layout, gate, transpose=index == 0, **shared
        )

    def sample(dtype: tf.DType) -> tf.Tensor:
        return library.blocksparse_sampled_matmul(
            a,
            b,
            layout,
            [],
            Tb=dtype,
            block_size=op.get_attr("block_size"),
            **shared,
        )

    return _products.sampled_gradients(op, dblocks, multiply, sample)
