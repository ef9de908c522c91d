# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What is measured, and what came out of it."""

import dataclasses

PRODUCTS = ("forward", "dx", "dw")
# TensorFlow makes constants of the graph of inputs that are smaller.
FEWEST_NUMBERS = 129


@dataclasses.dataclass(frozen=True)
class Case:
    """A line of the table: one product of one size."""

    rows: int
    inputs: int
    outputs: int
    product: str  # of PRODUCTS
    block_size: int
    sparsity: float
    x_dtype: str
    blocks_dtype: str


@dataclasses.dataclass(frozen=True)
class Measured:
    """Medians over the rounds of one case with one number of threads."""

    case: Case
    threads: int
    useful_flops: float  # of the blocks only, an addition counting as one
    dense_ms: float
    sparse_ms: float
    peak_gflops: float  # of the dtype that is computed in

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
