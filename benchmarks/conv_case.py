# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""A convolution to measure, and what came out of it."""

import dataclasses
import math
from typing import Any

# Sums of products of such integers are exact in float32 while they are below
# 2**24, so results can be compared bit by bit.
LARGEST_INTEGER = 2
_LONGEST_SUM = 2**24 // LARGEST_INTEGER**2

Sizes = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class ConvCase:
    """A line of a table: one product of one convolution.

    Attributes:
      transposed: whether it is a transposed convolution.
      spatial: sizes of x, as in 28x28.
      kernel: sizes of the kernel, as in 3x3.
      strides: one for all spatial dimensions.
      product: of `case.PRODUCTS`.
      per_tap: whether each tap has blocks of its own.
      layout: of `case.LAYOUTS`.
      padding: "same" or "valid".
    """

    transposed: bool
    batch: int
    spatial: str
    inputs: int
    outputs: int
    kernel: str
    strides: int
    dilation: int
    product: str
    block_size: int
    sparsity: float
    per_tap: bool = False
    layout: str = "balanced"
    padding: str = "same"

    @property
    def kernel_size(self) -> Sizes:
        """The kernel's sizes."""
        return numbers(self.kernel)

    @property
    def fine(self) -> Sizes:
        """Spatial sizes of the side with more pixels; y if transposed."""
        if not self.transposed:
            return numbers(self.spatial)
        if self.padding == "same":
            return tuple(size * self.strides for size in numbers(self.spatial))
        return tuple(
            (size - 1) * self.strides + reach
            for size, reach in zip(
                numbers(self.spatial), self._reaches(), strict=True
            )
        )

    @property
    def coarse(self) -> Sizes:
        """Spatial sizes of the strided side; x if transposed."""
        if self.transposed:
            return numbers(self.spatial)
        if self.padding == "same":
            return tuple(-(-size // self.strides) for size in self.fine)
        return tuple(
            max((size - reach) // self.strides + 1, 0)
            for size, reach in zip(self.fine, self._reaches(), strict=True)
        )

    @property
    def dense_flops(self) -> float:
        """What the dense convolution computes, an addition counting as one.

        Zeros of the padding are multiplied, too.
        """
        taps = math.prod(self.kernel_size)
        return 2.0 * self._pixels() * taps * self.inputs * self.outputs

    def sides_numbers(self) -> int:
        """How many numbers x and y have together."""
        fine, coarse = math.prod(self.fine), math.prod(self.coarse)
        if self.transposed:
            fine, coarse = coarse, fine
        return self.batch * (fine * self.inputs + coarse * self.outputs)

    def check(self) -> None:
        """Raises a ValueError if it can't be measured."""
        if not math.prod(self.coarse):
            raise ValueError(
                f"got {self.label}, expected a kernel that fits into x; give "
                "more pixels"
            )
        longest = max(
            self._pixels(),
            math.prod(self.kernel_size) * max(self.inputs, self.outputs),
        )
        if longest > _LONGEST_SUM:
            raise ValueError(
                f"got {self.label}, expected sums of at most {_LONGEST_SUM} "
                "products, which float32 holds exactly; give less"
            )

    @property
    def label(self) -> str:
        """Its sizes in words, which cases that share a dense one have."""
        words = [
            f"{self.batch} x {self.spatial} x {self.inputs} to {self.outputs}",
            self.kernel,
        ]
        words += [f"stride {self.strides}"] * (self.strides > 1)
        words += [f"dilation {self.dilation}"] * (self.dilation > 1)
        words += [self.padding] * (self.padding != "same")
        words += ["transposed"] * self.transposed
        return ", ".join(words)

    def _pixels(self) -> int:
        return self.batch * math.prod(self.coarse)

    def _reaches(self) -> Sizes:
        return tuple((k - 1) * self.dilation + 1 for k in self.kernel_size)


@dataclasses.dataclass(frozen=True)
class ConvMeasured:
    """Medians over the rounds of one case with one number of threads.

    Attributes:
      useful_flops: of the blocks only.
      moved_bytes: of x, y and the blocks together, where they may be what takes
        the time; None elsewhere.
      copied_gb_per_s: at which as many bytes are copied, half of them read.
      section: of the table.
      floor: what was promised: times as fast as dense, as in 7.5, or a share of
        the roofline, as in 70%; "-" if nothing.
    """

    case: ConvCase
    threads: int
    useful_flops: float
    dense_ms: float
    sparse_ms: float
    peak_gflops: float
    moved_bytes: float | None = None
    copied_gb_per_s: float | None = None
    section: str = ""
    floor: str = "-"

    @classmethod
    def of(cls, line: dict[str, Any]) -> "ConvMeasured":
        """Turns `dataclasses.asdict`, after a trip through JSON, back."""
        return cls(**{**line, "case": ConvCase(**line["case"])})

    @property
    def speed_up(self) -> float:
        """How many sparse convolutions take as long as a dense one."""
        return self.dense_ms / self.sparse_ms

    @property
    def density(self) -> float:
        """The share of the kernel that the blocks are."""
        return self.useful_flops / self.case.dense_flops

    @property
    def scaled(self) -> float:
        """The speed-up had the grid allowed the sparsity that was asked for."""
        if self.case.sparsity == 1:
            return self.speed_up
        return self.speed_up * self.density / (1 - self.case.sparsity)

    @property
    def gflops(self) -> float:
        """Useful GFLOP/s of the sparse convolution."""
        return self.useful_flops / self.sparse_ms / 1e6

    @property
    def of_peak(self) -> float:
        """Share of the FMA peak that the useful FLOPs reach."""
        return self.gflops / self.peak_gflops

    @property
    def of_roofline(self) -> float | None:
        """Share of the speed that the FMA peak and the copy rate allow."""
        if self.moved_bytes is None or self.copied_gb_per_s is None:
            return None
        least_ms = max(
            self.useful_flops / self.peak_gflops / 1e6,
            self.moved_bytes / self.copied_gb_per_s / 1e6,
        )
        return least_ms / self.sparse_ms

    @property
    def of_floor(self) -> float | None:
        """Reached / promised; None if nothing was promised."""
        if self.floor == "-":
            return None
        if self.floor.endswith("%"):
            return 100 * (self.of_roofline or 0) / float(self.floor[:-1])
        return self.scaled / float(self.floor)


def numbers(text: str) -> Sizes:
    """The numbers of a text as 3x3."""
    return tuple(map(int, text.split("x")))
