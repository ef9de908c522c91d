# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Registers of a thread of each CUDA kernel, from what ptxas has told.

    bazel test //cc/kernels/cuda:kernels_all_archs_ptxas_test
    python benchmarks/kernel_registers.py 90 \\
      .bazel/bin/cc/kernels/cuda/kernels_all_archs/*.log

A line for each path, type and width of tiles: the most that a kernel of either
direction and axis takes when it is compiled for the architecture.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator

_ENTRY = re.compile(r"Compiling entry function '(\S+)' for 'sm_(\w+)'")
_USED = re.compile(r"Used (\d+) registers")
_KERNEL = re.compile(
    r"cuda::(\w+)<blocksparse::cuda::Config<(?:blocksparse::)?(\w+), "
    r"(?:blocksparse::)?(\w+), \(blocksparse::cuda::Path\)(\d), \d+, (\d+),"
)
_PATHS = ("elements", "vectors", "tensor", "hopper")
_PRODUCTS = {
    "MatmulTiles": "matmul",
    "ConvTiles": "conv",
    "SampledMatmulTiles": "sampled_matmul",
    "ConvSampledTiles": "conv_sampled",
    "HopperMatmulTiles": "matmul",
    "HopperSampledMatmulTiles": "sampled_matmul",
}


def used(lines: Iterable[str], arch: str) -> Iterator[tuple[str, int]]:
    """Names as the compiler has them, and their registers."""
    name = ""
    for line in lines:
        if entry := _ENTRY.search(line):
            name = entry[1] if entry[2] == arch else ""
        elif name and (found := _USED.search(line)):
            yield name, int(found[1])


def main(arch: str, paths: list[str]) -> None:
    """Prints a table in Markdown."""
    kernels = []
    for path in paths:
        with open(path) as file:
            kernels += used(file, arch)
    names = subprocess.run(
        ["c++filt"],
        input="\n".join(name for name, _ in kernels),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    most: dict[tuple[int, str, str, int], dict[str, int]] = {}
    for name, (_, count) in zip(names, kernels, strict=True):
        found = _KERNEL.search(name)
        if found is None or found[1] not in _PRODUCTS:
            continue
        kernel, left, right, path, width = found.groups()
        row = most.setdefault((int(path), left, right, int(width)), {})
        product = _PRODUCTS[kernel]
        row[product] = max(count, row.get(product, 0))
    products = list(dict.fromkeys(_PRODUCTS.values()))
    print(f"| path | x | blocks | width | {' | '.join(products)} |")
    print("|---" * (4 + len(products)) + "|")
    for (path_number, *sizes), row in sorted(most.items()):
        cells = [_PATHS[path_number], *map(str, sizes)]
        cells += [str(row.get(product, "")) for product in products]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
