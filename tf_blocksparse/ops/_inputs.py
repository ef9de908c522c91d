# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Turns what a user passes into tensors that the ops accept, or says why not.

Each failure is a `ValueError`: "name: got ..., expected ...; what to do".
Shapes that are unknown while a graph is built are checked by the op instead.
"""

import numbers
from typing import Any

import tensorflow as tf

from tf_blocksparse import _arguments
from tf_blocksparse.ops import _convert
from tf_blocksparse.ops.layout_tensor import Resolved

# Types of x and of blocks for which there are kernels.
DTYPES = {
    (tf.float32, tf.float32),
    (tf.float64, tf.float64),
    (tf.bfloat16, tf.bfloat16),
    (tf.float16, tf.float16),
    (tf.float32, tf.bfloat16),
    (tf.float32, tf.float16),
}


def is_tensor(value: Any) -> bool:
    """Whether a value has a dtype of its own that is to be kept."""
    return tf.is_tensor(value) or isinstance(value, tf.Variable)


def fits(shape: tf.TensorShape, expected: list[int | None]) -> bool:
    """Whether a shape may be the expected one; None is any size.

    Quicker than `is_compatible_with`, which is felt in eager mode.
    """
    if shape.rank is None:
        return True
    sizes = shape.as_list()
    return len(sizes) == len(expected) and all(
        size is None or wanted is None or size == wanted
        for size, wanted in zip(sizes, expected, strict=True)
    )


def blocks_tensor(blocks: Any, layout: Resolved, hint: Any) -> tf.Tensor:
    """`blocks` as a tensor whose static shape is as the layout says.

    The dtype of `hint`, if it is a tensor, decides that of other values.
    """
    expected = [layout.nnz, *layout.block_size]
    return check_blocks(blocks_value(blocks, hint), expected, "")


def blocks_value(blocks: Any, hint: Any) -> tf.Tensor:
    """`blocks` as a tensor of any shape."""
    dtype_hint = hint.dtype if is_tensor(hint) else None
    return _convert.tensor("blocks", blocks, dtype_hint=dtype_hint)


def check_blocks(
    blocks: tf.Tensor, expected: list[int | None], taps: str
) -> tf.Tensor:
    """`blocks` if its shape may be the expected one, which it then has."""
    if not fits(blocks.shape, expected):
        raise ValueError(
            f"blocks: got shape {blocks.shape}, expected {expected} "
            f"[nnz, {taps}b_in, b_out]; pass the layout these blocks were made "
            "for"
        )
    if not blocks.shape.is_fully_defined():
        # The gradient needs to know the block size.
        blocks = tf.ensure_shape(blocks, expected)
    return blocks


def rows_tensor(
    name: str, value: Any, dtype: tf.DType, features: int, axis: int
) -> tf.Tensor:
    """`value` as a tensor with `features` along `axis`."""
    value = dense_value(name, value, dtype)
    shape = value.shape
    if shape.rank == 0:
        raise ValueError(
            f"{name}: got a scalar, expected {features} features along axis "
            f"{axis}; add an axis"
        )
    check_features(name, shape, features, axis, "feature_axis")
    return value


def dense_value(name: str, value: Any, dtype: tf.DType) -> tf.Tensor:
    """`value` as a tensor of any shape; what is none yet gets the dtype."""
    # What is no float at all is `check_dtypes`'s to report.
    wanted = None if is_tensor(value) or not dtype.is_floating else dtype
    return _convert.tensor(name, value, wanted)


def check_features(
    name: str, shape: tf.TensorShape, features: int, axis: int, option: str
) -> None:
    """Checks that there may be `features` along `axis`, as `option` says."""
    if shape.rank is not None and shape[axis] not in (None, features):
        raise ValueError(
            f"{name}: got shape {shape}, expected {features} features along "
            f"axis {axis}; pass {name} with that many, the layout that fits "
            f"it, or another {option}"
        )


def feature_axis(axis: Any, *values: Any) -> int:
    """`axis` as 0 or -1; the last axis may also be given by its number."""
    if isinstance(axis, numbers.Integral) and not isinstance(axis, bool):
        if axis in (0, -1):
            return int(axis)
        for value in values:
            rank = getattr(getattr(value, "shape", None), "rank", None)
            if rank is None:
                rank = getattr(value, "ndim", None)
            if rank is not None and axis in (rank - 1, -rank):
                return -1 if axis == rank - 1 else 0
    raise ValueError(
        f"feature_axis: got {_arguments.shown(axis)}, expected 0 or -1, the "
        "first or the last axis; transpose the input"
    )


def check_dtypes(
    x: tf.DType, blocks: tf.DType, layout: Resolved, **options: Any
) -> None:
    """Checks that there is a kernel; `options` are what else it depends on."""
    if (x, blocks) not in DTYPES:
        supported = ", ".join(sorted(f"{a.name} x {b.name}" for a, b in DTYPES))
        named = ", ".join(f"{name} {value}" for name, value in options.items())
        raise ValueError(
            f"dtype: got x of {x.name} and blocks of {blocks.name} (block size "
            f"{layout.block_size}, {named}, device CPU), expected "
            f"one of {supported}; cast with tf.cast"
        )


def gate_list(gate: Any, nnz: int | None) -> tuple[list[tf.Tensor], bool]:
    """`gate` as a list of 0 or 1 float32 tensors; whether it is a number.

    A bool gate is a mask without a derivative.
    """
    if gate is None:
        return [], False
    gate = _convert.tensor("gate", gate)
    is_number = gate.dtype.is_floating
    if not (is_number or gate.dtype.is_bool):
        raise ValueError(
            f"gate: got dtype {gate.dtype.name}, expected a float, or bool for "
            "a mask; cast with tf.cast"
        )
    if not fits(gate.shape, [nnz]):
        raise ValueError(
            f"gate: got shape {gate.shape}, expected [{nnz}], one number for "
            "each block; pass the layout this gate was made for"
        )
    return [tf.cast(gate, tf.float32)], is_number


def bias_list(bias: Any, dtype: tf.DType, features: int) -> list[tf.Tensor]:
    """`bias` as a list of 0 or 1 tensors of y's dtype."""
    if bias is None:
        return []
    bias = _convert.tensor("bias", bias, None if is_tensor(bias) else dtype)
    if bias.dtype != dtype:
        raise ValueError(
            f"bias: got dtype {bias.dtype.name}, expected x's, {dtype.name}; "
            "cast with tf.cast"
        )
    if not fits(bias.shape, [features]):
        raise ValueError(
            f"bias: got shape {bias.shape}, expected [{features}], one number "
            "for each feature of the result; pass the layout that fits it"
        )
    return [bias]
