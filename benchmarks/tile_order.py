# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Counts what an order of tiles reads from a GPU's memory, on paper.

    python benchmarks/tile_order.py

A model, not a measurement: tiles of `matmul` on tensor cores (128 rows by at
most 64 outputs, 16 bits), begun in the given order, as many at once as a GPU
has room for, all going on by a step in turn; a second-level cache that drops
what was used longest ago, and holds nothing but x and blocks. "Once" is what
any order has to read. It takes a few minutes and needs no GPU.
"""

import itertools
import random
from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

from absl import app
from progress import Progress


class Gpu(NamedTuple):
    """Three blocks of threads of the widest tile share a multiprocessor."""

    name: str
    tiles_at_once: int
    cache: int  # bytes


class Case(NamedTuple):
    """Rows, inputs and outputs, side of a block; a tenth of the blocks."""

    rows: int
    features: int
    block: int


class Tile(NamedTuple):
    """A tile of rows and one of the outputs of a column of blocks."""

    row: int
    task: int


GPUS = [Gpu("A100", 3 * 108, 40 << 20), Gpu("H200", 3 * 132, 50 << 20)]
CASES = [
    Case(4096, 4096, 32),
    Case(4096, 4096, 64),
    Case(16384, 4096, 64),
    Case(4096, 16384, 64),
]
GROUPS = [4, 8, 16]
DENSITY = 0.1
TILE_ROWS = 128
TILE_OUTPUTS = 64
STEP = 32
ELEMENT = 2  # bytes


class Product:
    """The columns of a random layout, longest first, as plans have them."""

    def __init__(self, case: Case) -> None:
        self.case = case
        side = case.features // case.block
        chosen = random.Random(1).sample(
            range(side * side), round(side * side * DENSITY)
        )
        columns: list[list[int]] = [[] for _ in range(side)]
        for cell in sorted(chosen):
            columns[cell % side].append(cell // side)
        columns.sort(key=len, reverse=True)
        self.width = min(case.block, TILE_OUTPUTS)
        self.per_column = case.block // self.width
        self.columns = columns
        self.rows = -(-case.rows // TILE_ROWS)
        self.tasks = side * self.per_column

    def pieces(self, tile: Tile) -> Iterator[tuple[tuple[int, ...], int]]:
        """What a tile reads of x and blocks, step by step, with its bytes."""
        column, offset = divmod(tile.task, self.per_column)
        for row in self.columns[column]:
            for depth in range(0, self.case.block, STEP):
                x = (tile.row, row * self.case.block + depth)
                yield x, TILE_ROWS * STEP * ELEMENT
                block = (column, row, depth, offset)
                yield block, STEP * self.width * ELEMENT


def grouped(product: Product, size: int) -> Iterator[Tile]:
    """So many tiles of rows take turns at a task before the next task."""
    for first in range(0, product.rows, size):
        for task in range(product.tasks):
            for row in range(first, min(first + size, product.rows)):
                yield Tile(row, task)


def morton(product: Product) -> Iterator[Tile]:
    """Bits of the row and of the task in turns."""

    def spread(number: int) -> int:
        return sum((number >> bit & 1) << 2 * bit for bit in range(16))

    yield from sorted(
        (Tile(r, t) for r in range(product.rows) for t in range(product.tasks)),
        key=lambda tile: spread(tile.row) << 1 | spread(tile.task),
    )


def count(product: Product, order: Iterator[Tile], gpu: Gpu) -> int:
    """The bytes that the cache does not have when they are read."""
    cache: OrderedDict[tuple[int, ...], int] = OrderedDict()
    held = missed = 0
    waiting = (product.pieces(tile) for tile in order)
    active = list(itertools.islice(waiting, gpu.tiles_at_once))
    while active:
        going_on = []
        for tile in active:
            x = next(tile, None)
            while x is None:
                following = next(waiting, None)
                if following is None:
                    break
                tile = following
                x = next(tile, None)
            if x is None:
                continue
            for piece, size in (x, next(tile)):
                if piece in cache:
                    cache.move_to_end(piece)
                    continue
                cache[piece] = size
                held += size
                missed += size
                while held > gpu.cache:
                    held -= cache.popitem(last=False)[1]
            going_on.append(tile)
        active = going_on
    return missed


def main(_: list[str]) -> None:
    """Prints a table in Markdown."""
    progress = Progress("tiles", len(GPUS) * len(CASES) * (len(GROUPS) + 3))
    lines = []
    for gpu in GPUS:
        for case in CASES:
            product = Product(case)
            orders = [grouped(product, size) for size in GROUPS]
            orders.append(morton(product))
            orders.append(grouped(product, product.rows))
            orders.append(grouped(product, 1))
            cells = []
            for order in orders:
                cells.append(f"{count(product, order, gpu) / 1e6:.0f}")
                progress()
            blocks = sum(map(len, product.columns)) * case.block**2
            once = (case.rows * case.features + blocks) * ELEMENT / 1e6
            words = [gpu.name, *map(str, case), f"{once:.0f}", *cells]
            lines.append("| " + " | ".join(words) + " |")
    head = ["GPU", "rows", "features", "block", "once"]
    head += [f"groups of {size}" for size in GROUPS]
    head += ["Morton", "rows first", "columns first"]
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    print("\n".join(lines))


if __name__ == "__main__":
    app.run(main)
