# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Turns a value into a tensor, or says what it is instead."""

from typing import Any

import keras
import tensorflow as tf

from tf_blocksparse import _arguments


def tensor(
    name: str,
    value: Any,
    dtype: tf.DType | None = None,
    dtype_hint: tf.DType | None = None,
) -> tf.Tensor:
    """`value` as a dense tensor.

    Raises:
      ValueError: if it is sparse, ragged, symbolic, or no tensor at all.
    """
    try:
        return tf.convert_to_tensor(value, dtype, dtype_hint=dtype_hint)
    except (TypeError, ValueError) as error:
        numbers = "numbers" if dtype is None else f"{dtype.name} numbers"
        raise ValueError(
            f"{name}: got {_arguments.shown(value)}, expected a dense tensor "
            f"of {numbers}; {_advice(value)}"
        ) from error


def _advice(value: Any) -> str:
    if isinstance(value, tf.SparseTensor):
        return "make it dense with tf.sparse.to_dense"
    if isinstance(value, tf.RaggedTensor):
        return "make it dense with its to_tensor()"
    if isinstance(value, keras.KerasTensor):
        return "call the op inside of a layer, or use BlockSparseDense"
    return "pass a tensor, or an array or nested list without gaps"
