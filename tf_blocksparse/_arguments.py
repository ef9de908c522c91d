# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Checks of user arguments: each returns a clean value or says what is wrong.

Every failure is a `ValueError` of the form "name: got ..., expected ...; what
to do". NumPy only, so that layouts need no TensorFlow.
"""

import math
import numbers
import reprlib
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

MAX_BLOCK_SIZE = 256
# Blocks are counted, and their places indexed, in int32.
MAX_INT32 = 2**31 - 1


def shown(value: object) -> str:
    """A short text for a wrong value: its type and a shortened repr."""
    return f"{type(value).__name__} {reprlib.repr(value)}"


def integer(
    name: str, value: object, low: int, high: int | None, advice: str
) -> int:
    """`value` as an int in low..high; bools and floats are refused."""
    # bool is an int in Python, and True as a size is always a slip.
    valid = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    number = int(value) if valid else 0  # type: ignore[call-overload]
    if not valid or number < low or (high is not None and number > high):
        bound = f">= {low}" if high is None else f"from {low} to {high}"
        raise ValueError(
            f"{name}: got {shown(value)}, expected an integer {bound}; {advice}"
        )
    return number


def pair(
    name: str, value: object, low: int, high: int | None, advice: str
) -> tuple[int, int]:
    """`value`, a sequence of two, as two ints in low..high."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ValueError(
            f"{name}: got {shown(value)}, expected two integers; {advice}"
        )
    first = integer(f"{name}[0]", value[0], low, high, advice)
    return first, integer(f"{name}[1]", value[1], low, high, advice)


def flag(name: str, value: object) -> bool:
    """`value` as a bool; what is merely true or false is refused."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(
            f"{name}: got {shown(value)}, expected True or False; pass a "
            "Python bool"
        )
    return bool(value)


def fraction(name: str, value: object, advice: str) -> float:
    """`value` as a float from 0 to 1; NaN and bools are refused."""
    # Compared before it becomes a float, since a huge int cannot; NaN fails.
    if (
        isinstance(value, bool)
        or not isinstance(value, numbers.Real)
        or not 0 <= value <= 1  # type: ignore[operator]
    ):
        raise ValueError(
            f"{name}: got {shown(value)}, expected a number from 0 to 1; "
            f"{advice}"
        )
    return float(value)


def real(
    name: str,
    value: object,
    advice: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    or_low: bool = False,
) -> float:
    """`value` as a finite float above `low`, or at it, and below `high`."""
    valid = isinstance(value, numbers.Real) and not isinstance(value, bool)
    number = float(value) if valid else math.nan  # type: ignore[arg-type]
    if not (low < number < high or (or_low and number == low)):
        above = "" if low == -math.inf else f" {'>=' if or_low else '>'} {low}"
        below = (
            ""
            if high == math.inf
            else f" and < {high}"
            if above
            else f" < {high}"
        )
        raise ValueError(
            f"{name}: got {shown(value)}, expected a finite number"
            f"{above}{below}; {advice}"
        )
    return number


def real_array(name: str, value: object, expected: str) -> npt.NDArray[Any]:
    """`value` as an array of real numbers (bool, integer, float, bfloat16)."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name}: got {type(value).__name__} that is no array ({error}), "
            f"expected {expected}; make every row equally long"
        ) from error
    # ml_dtypes' bfloat16 has the kind of a void, but a type of its own.
    known = array.dtype.kind in "biuf" or (
        array.dtype.kind == "V" and array.dtype.type is not np.void
    )
    if not known:
        raise ValueError(
            f"{name}: got {type(value).__name__} of dtype {array.dtype}, "
            f"expected {expected}; convert it to a dense array of numbers"
        )
    return array


def block_size(value: object) -> tuple[int, int]:
    """`value`, an int or two, as (b_in, b_out)."""
    advice = "give one size or (b_in, b_out), each at most 256"
    if isinstance(value, (tuple, list, np.ndarray)):
        return pair("block_size", value, 1, MAX_BLOCK_SIZE, advice)
    size = integer("block_size", value, 1, MAX_BLOCK_SIZE, advice)
    return size, size


def grid(value: object) -> tuple[int, int]:
    """`value` as (input blocks, output blocks) of a grid that fits int32."""
    advice = "give (input blocks, output blocks)"
    rows, columns = pair("grid", value, 1, None, advice)
    if rows * columns > MAX_INT32:
        raise ValueError(
            f"grid: got {rows} x {columns} = {rows * columns} places for "
            f"blocks, expected at most {MAX_INT32}; choose a larger block size"
        )
    return rows, columns


class Sizes(NamedTuple):
    """The sizes of a layout: of a matrix, or with taps of a kernel."""

    taps: int | None
    grid: tuple[int, int]
    shape: tuple[int, int]
    block_size: tuple[int, int]

    @property
    def packed_grid(self) -> tuple[int, int]:
        """Rows and columns of the packed vector: a row per input and tap."""
        return self.grid[0] * (self.taps or 1), self.grid[1]

    @property
    def mask_shape(self) -> tuple[int, ...]:
        """(taps, input blocks, output blocks), or without taps."""
        return self.grid if self.taps is None else (self.taps, *self.grid)


def sizes(shape: object, blocks: object) -> Sizes:
    """The sizes of a matrix's or a kernel's shape and a block size."""
    b_in, b_out = block_size(blocks)
    advice = (
        "give the features as (inputs, outputs), or a kernel's shape as "
        "kernel_size + (inputs, outputs)"
    )
    taps = None
    if isinstance(shape, (tuple, list, np.ndarray)) and len(shape) > 2:
        taps = math.prod(
            integer(f"shape[{axis}]", size, 1, None, advice)
            for axis, size in enumerate(shape[:-2])
        )
        shape = shape[-2:]
    inputs, outputs = pair("shape", shape, 1, None, advice)
    places = -(-inputs // b_in), -(-outputs // b_out)
    result = Sizes(taps, places, (inputs, outputs), (b_in, b_out))
    grid(result.packed_grid)
    return result


def features(name: str, value: object, blocks: int, size: int) -> int:
    """`value`, or by default all, as the features of `blocks` blocks."""
    if value is None:
        return blocks * size
    advice = f"the mask has {blocks} blocks of {size} there"
    return integer(name, value, (blocks - 1) * size + 1, blocks * size, advice)


def mask(value: object) -> npt.NDArray[np.bool_]:
    """`value` as a bool array of two axes or three; only 0 and 1 are taken."""
    expected = (
        "[input blocks, output blocks], or [taps, input blocks, output blocks]"
        ", of bool, or of 0 and 1"
    )
    array = real_array("mask", value, expected)
    if array.ndim not in (2, 3) or not array.size:
        raise ValueError(
            f"mask: got shape {array.shape}, expected {expected}, at least "
            "1 x 1; give one row per input block"
        )
    grid((math.prod(array.shape[:-1]), array.shape[-1]))
    if array.dtype != np.bool_:
        other = array[(array != 0) & (array != 1)]
        if other.size:
            raise ValueError(
                f"mask: got the entry {other[0]}, expected only 0 and 1; "
                "compare first, for instance mask != 0"
            )
    return array.astype(np.bool_)


def spatial(kernel_size: object, taps: int | None) -> tuple[int, ...]:
    """`kernel_size`, an int or several, of a kernel; () where taps is None."""
    if taps is None:
        if kernel_size is not None:
            raise ValueError(
                f"kernel_size: got {shown(kernel_size)}, expected None for the "
                "blocks of a matrix; leave it out"
            )
        return ()
    size = kernel_size_of(kernel_size)
    if math.prod(size) != taps:
        raise ValueError(
            f"kernel_size: got {shown(kernel_size)}, expected {taps} taps; "
            "pass the one that the blocks were made for"
        )
    return size


def kernel_size_of(value: object) -> tuple[int, ...]:
    """`value`, an int or several, as the sizes of a kernel's spatial axes."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    sizes = value if isinstance(value, (tuple, list)) else (value,)
    advice = "give the kernel's size along each spatial axis"
    if not sizes:
        raise ValueError(
            f"kernel_size: got {shown(value)}, expected at least one integer; "
            f"{advice}"
        )
    return tuple(
        integer("kernel_size", size, 1, None, advice) for size in sizes
    )


def groups(
    value: object, shape: tuple[int, int], blocks: tuple[int, int]
) -> int:
    """`value` as a number of groups, each of whole blocks."""
    advice = "1 is a layer without groups"
    number = integer("groups", value, 1, min(shape), advice)
    if number > 1:
        for name, features, size in zip(
            ("inputs", "outputs"), shape, blocks, strict=True
        ):
            if features % number or features // number % size:
                raise ValueError(
                    f"groups: got {number} for {features} {name}, expected "
                    f"groups of a multiple of the block size {size}; choose a "
                    "block size that divides them"
                )
    return number
