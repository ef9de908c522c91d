# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Tolerances and problem tables, for the tests here and in your programs."""

from tf_blocksparse.testing.conv_problems import (
    ConvProblem,
    conv_problems,
    make_conv_layout,
)
from tf_blocksparse.testing.problems import (
    BLOCK_SIZES,
    DTYPES,
    LAYOUT_KINDS,
    ROWS,
    Problem,
    make_layout,
    problems,
)
from tf_blocksparse.testing.tolerances import assert_close, rounding, tolerance

__all__ = [
    "BLOCK_SIZES",
    "DTYPES",
    "LAYOUT_KINDS",
    "ROWS",
    "ConvProblem",
    "Problem",
    "assert_close",
    "conv_problems",
    "make_conv_layout",
    "make_layout",
    "problems",
    "rounding",
    "tolerance",
]
