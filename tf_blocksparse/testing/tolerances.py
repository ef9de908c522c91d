# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""How far a result may be from the exact one."""

from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf


def rounding(dtype: Any) -> float:
    """Half the distance from 1 to the next number: the rounding error.

    >>> rounding("bfloat16") == 2.0**-8
    True
    """
    digits = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
    return 2.0 ** -digits[tf.as_dtype(dtype).name]


def tolerance(
    dtype: Any, length: int, magnitude: npt.ArrayLike, value: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """How far a sum of products may be from the exact one, in any order.

    `(length + 2) u magnitude + 2 v |value| + s`, with u the rounding error of
    the sum (float64's, else float32's), v that of the result's dtype, and s
    the size of the numbers that it doesn't tell from 0.

    Args:
      dtype: of the result.
      length: number of products.
      magnitude: the sum of their absolute values.
      value: the exact sum.

    Source: Higham, Accuracy and Stability of Numerical Algorithms, 3.1.

    >>> float(tolerance("float32", 2, 4.0, 0.0)) == 16 * 2.0**-24
    True
    """
    # float16's subnormal numbers; those of other dtypes may be flushed.
    smallest = {"float16": 2.0**-24, "float64": 2.0**-1022}
    result = rounding(dtype)
    of_sum = min(result, rounding("float32"))
    return (
        (length + 2) * of_sum * np.asarray(magnitude, np.float64)
        + 2 * result * np.abs(np.asarray(value, np.float64))
        + smallest.get(tf.as_dtype(dtype).name, 2.0**-126)
    )


def assert_close(
    actual: Any, expected: Any, length: int, magnitude: npt.ArrayLike
) -> None:
    """Raises an AssertionError unless a result is within its `tolerance`.

    Args:
      actual: the tensor to check; its dtype decides the tolerance.
      expected: the same in float64.
      length: number of products in each entry.
      magnitude: the sum of their absolute values.

    >>> assert_close(tf.constant([1.0]), np.array([1.0]), 1, 1.0)
    """
    expected = np.asarray(expected, np.float64)
    result = np.asarray(actual, np.float64)
    allowed = tolerance(actual.dtype, length, magnitude, expected)
    np.testing.assert_array_equal(result.shape, expected.shape)
    error = np.abs(result - expected)
    if not np.all(error <= allowed):  # a NaN is wrong, too
        worst = np.unravel_index(
            np.argmax(np.nan_to_num(error - allowed, nan=np.inf)), error.shape
        )
        raise AssertionError(
            f"at {tuple(map(int, worst))}: got {result[worst]}, expected "
            f"{expected[worst]} within "
            f"{np.broadcast_to(allowed, error.shape)[worst]}"
        )
