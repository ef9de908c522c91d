# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Reads the files that list convolutions; `conv_shapes.txt` tells the form."""

import dataclasses
import pathlib
import re
from collections.abc import Iterator, Sequence

import grids
from case import PRODUCTS
from conv_case import ConvCase

DEFAULT = str(pathlib.Path(__file__).with_suffix(".txt"))

_FORM = (
    "kind batch spatial inputs outputs kernel strides dilation blocks sparsity "
    "forward dx dw"
)
_LARGEST_BLOCK = 256
_NUMBER = r"[1-9]\d{0,7}"
_SIZES = rf"{_NUMBER}(x{_NUMBER}){{0,2}}"
_FLOOR = r"-|\d+(\.\d+)?%?"
_PATTERNS = (
    "conv|transposed",
    _NUMBER,
    _SIZES,
    _NUMBER,
    _NUMBER,
    _SIZES,
    _NUMBER,
    _NUMBER,
    rf"{_NUMBER}(,{_NUMBER})*",
    r"0(\.\d+)?|1(\.0+)?",
    _FLOOR,
    _FLOOR,
    _FLOOR,
)


@dataclasses.dataclass(frozen=True)
class Row:
    """A case of a file, where it stands, and what is promised of it."""

    section: str
    case: ConvCase
    floor: str = "-"


def read(path: str) -> list[Row]:
    """The cases of a file, one for each product and block size.

    Raises:
      ValueError: if there is none, or a line is not of the form.
    """
    try:
        text = pathlib.Path(path).read_text()
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: {error}; name a file of shapes") from None
    found: list[Row] = []
    section = pathlib.Path(path).stem
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        if heading := re.fullmatch(r"\[(.+)\]", line):
            section = heading[1]
        elif line:
            try:
                found += _rows(section, line.split())
            except ValueError as error:
                raise ValueError(f"{path}:{number}: {error}") from None
    if not found:
        raise ValueError(f"{path}: got no case, expected lines of {_FORM}")
    return found


def chosen(
    rows: Sequence[Row],
    products: Sequence[str] | None,
    words: Sequence[str] | None,
    taps: Sequence[str],
) -> list[Row]:
    """Those of the rows that flags ask for, with shared taps, per tap or both.

    A case is asked for if one of the words is in its section or its label.

    Raises:
      ValueError: if no case is left.
    """
    found = [
        dataclasses.replace(
            row, case=dataclasses.replace(row.case, per_tap=name == "per_tap")
        )
        for row in rows
        if row.case.product in (products or PRODUCTS) and _is_named(row, words)
        for name in taps
    ]
    if not found:
        raise ValueError(
            f"--cases: got {','.join(words or ())}, expected a part of "
            f"{'; '.join(dict.fromkeys(row.case.label for row in rows))}"
        )
    return list({row.case: row for row in found}.values())


def groups(cases: Sequence[ConvCase]) -> list[list[ConvCase]]:
    """Cases that are timed in turns: those with the dense one in common."""
    found: dict[tuple[object, ...], list[ConvCase]] = {}
    for case in cases:
        key = case.label, case.product, case.sparsity
        found.setdefault(key, []).append(case)
    return list(found.values())


def seconds(
    cases: Sequence[ConvCase],
    rounds: int,
    gflops: float,
    longest: float = float("inf"),
) -> float:
    """About how long a group takes, with so many GFLOP/s at most.

    Args:
      longest: seconds after which its rounds end.
    """
    dense = cases[0].dense_flops / (0.7e9 * gflops)
    calls = grids.call_seconds(dense) + sum(
        grids.call_seconds(1.5 * dense * (1 - case.sparsity)) for case in cases
    )
    # Graphs are made, numbers drawn and results checked before.
    before = 0.5 + 0.2 * len(cases) + 10 * dense
    return before + min(longest, rounds * calls)


def _rows(section: str, words: Sequence[str]) -> Iterator[Row]:
    names = _FORM.split()
    if len(words) != len(names):
        raise ValueError(f"got {len(words)} words, expected {_FORM}")
    for name, word, pattern in zip(names, words, _PATTERNS, strict=True):
        if not re.fullmatch(pattern, word):
            raise ValueError(
                f"got {name} {word}, expected one as in {_example(name)}; see "
                f"{DEFAULT}"
            )
    spatial, kernel = words[2], words[5]
    if spatial.count("x") != kernel.count("x"):
        raise ValueError(
            f"got spatial {spatial} and kernel {kernel}, expected as many "
            "sizes; give both for each dimension"
        )
    blocks = list(map(int, words[8].split(",")))
    if max(blocks) > _LARGEST_BLOCK:
        raise ValueError(
            f"got blocks {words[8]}, expected at most {_LARGEST_BLOCK}; give "
            "smaller ones"
        )
    for product, floor in zip(PRODUCTS, words[10:], strict=True):
        for block_size in blocks:
            case = ConvCase(
                transposed=words[0] == "transposed",
                batch=int(words[1]),
                spatial=spatial,
                inputs=int(words[3]),
                outputs=int(words[4]),
                kernel=kernel,
                strides=int(words[6]),
                dilation=int(words[7]),
                product=product,
                block_size=block_size,
                sparsity=float(words[9]),
            )
            case.check()
            yield Row(section, case, floor)


def _example(name: str) -> str:
    examples = {
        "kind": "conv or transposed",
        "spatial": "28x28",
        "kernel": "3x3",
        "blocks": "16,32",
        "sparsity": "0.9",
        "forward": "7.5, 70% or -",
    }
    examples["dx"] = examples["dw"] = examples["forward"]
    return examples.get(name, "8")


def _is_named(row: Row, words: Sequence[str] | None) -> bool:
    told = f"{row.section}: {row.case.label}".lower()
    return words is None or any(word.lower() in told for word in words)
