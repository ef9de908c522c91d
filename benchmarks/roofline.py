# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Counts what bounds `matmul` on a GPU, on paper.

    python benchmarks/roofline.py

Not a measurement: bytes and multiply-adds of 512 rows by a weight of 4096 x
4096, of which a tenth of the blocks exist, over the makers' figures. A tile is
of 128 rows and at most 64 outputs of a block: it reads x once more for each of
those, and the blocks once more for each 128 rows, from the second-level cache.
"""

from typing import NamedTuple

from absl import app

ROWS, FEATURES, DENSITY = 512, 4096, 0.1
TILE_ROWS, TILE_OUTPUTS = 128, 64
BLOCKS = [8, 16, 32, 64, 128]


class Kind(NamedTuple):
    """A type and a path, and what GPUs promise of them, in FLOP/s."""

    name: str
    size: int  # bytes of a number
    a100: float
    h200: float


# NVIDIA A100 80GB SXM and H200 SXM, data sheets; dense.
KINDS = [
    Kind("16 bits, tensor", 2, 312e12, 989e12),
    Kind("float32, TF32", 4, 156e12, 494e12),
    Kind("float32, multiply-adds", 4, 19.5e12, 67e12),
]
A100_MEMORY, H200_MEMORY = 2.04e12, 4.8e12  # bytes/s
# "NVIDIA A100 Tensor Core GPU Architecture": 5120 bytes a clock, at 1.41 GHz.
# Of the H200 there is no such figure.
A100_CACHE = 5120 * 1.41e9


def cells(kind: Kind, block: int) -> list[str]:
    """A line of the table."""
    weights = DENSITY * FEATURES**2
    flops = 2 * ROWS * weights
    memory = kind.size * (2 * ROWS * FEATURES + weights)
    # Numbers of x that a tile reads, times tiles.
    columns = FEATURES / min(block, TILE_OUTPUTS)
    x = DENSITY * FEATURES * ROWS * columns
    cache = kind.size * (x + weights * ROWS / TILE_ROWS)
    a100 = max(memory / A100_MEMORY, flops / kind.a100)
    h200 = max(memory / H200_MEMORY, flops / kind.h200)
    return [
        kind.name,
        str(block),
        f"{memory / 1e6:.0f}",
        f"{cache / 1e6:.0f}",
        f"{flops / cache:.0f}",
        f"{1e6 * memory / A100_MEMORY:.1f}",
        f"{1e6 * flops / kind.a100:.1f}",
        f"{1e6 * cache / A100_CACHE:.1f}",
        f"{1e6 * memory / H200_MEMORY:.1f}",
        f"{1e6 * flops / kind.h200:.1f}",
        f"{cache / a100 / 1e12:.1f}",
        f"{cache / h200 / 1e12:.1f}",
    ]


def main(_: list[str]) -> None:
    """Prints a table in Markdown."""
    head = ["type", "block", "memory, MB", "cache, MB", "FLOP a byte of it"]
    head += ["A100: memory, us", "arithmetic", "cache"]
    head += ["H200: memory, us", "arithmetic"]
    head += ["cache at the floor, TB/s: A100", "H200"]
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for kind in KINDS:
        for block in BLOCKS:
            print("| " + " | ".join(cells(kind, block)) + " |")


if __name__ == "__main__":
    app.run(main)
