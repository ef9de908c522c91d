# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""A product to measure, and what came out of it."""

import dataclasses
from typing import Any

PRODUCTS = ("forward", "dx", "dw")
DTYPES = ("float32", "float64", "bfloat16", "float16")
LAYOUTS = ("balanced", "skewed", "block_diagonal")
# TensorFlow makes constants of the graph of inputs that are smaller.
FEWEST_NUMBERS = 129


@dataclasses.dataclass(frozen=True)
class Case:
    """A line of a table: one product of one size."""

    rows: int
    inputs: int
    outputs: int
    product: str  # of PRODUCTS
    block_size: int
    sparsity: float
    x_dtype: str = "float32"
    blocks_dtype: str = "float32"
    layout: str = "balanced"  # of LAYOUTS

    @property
    def dense_flops(self) -> float:
        """What the dense product computes, an addition counting as one."""
        return 2.0 * self.rows * self.inputs * self.outputs

    def check(self) -> None:
        """Raises a ValueError if it can't be measured."""
        if self.rows * min(self.inputs, self.outputs) < FEWEST_NUMBERS:
            raise ValueError(
                f"--shapes: got {self.rows}x{self.inputs}x{self.outputs}, "
                f"expected rows of at least {FEWEST_NUMBERS} numbers together "
                "on either side; give more rows or features"
            )


@dataclasses.dataclass(frozen=True)
class Measured:
    """Medians over the rounds of one case with one number of threads."""

    case: Case
    threads: int
    useful_flops: float  # of the blocks only
    dense_ms: float
    sparse_ms: float
    peak_gflops: float  # of the dtype that is computed in

    @classmethod
    def of(cls, line: dict[str, Any]) -> "Measured":
        """Turns `dataclasses.asdict`, after a trip through JSON, back."""
        return cls(**{**line, "case": Case(**line["case"])})

    @property
    def speed_up(self) -> float:
        """How many sparse products take as long as a dense one."""
        return self.dense_ms / self.sparse_ms

    @property
    def gflops(self) -> float:
        """Useful GFLOP/s of the sparse product."""
        return self.useful_flops / self.sparse_ms / 1e6

    @property
    def of_peak(self) -> float:
        """Share of the FMA peak that the useful FLOPs reach."""
        return self.gflops / self.peak_gflops
