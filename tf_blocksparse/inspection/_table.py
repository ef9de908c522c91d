# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""An inspection as lines of text."""

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tf_blocksparse.inspection._layer import LayerInspection

if TYPE_CHECKING:
    from tf_blocksparse.inspection._inspection import Inspection

_TITLES = (
    "layer",
    "inputs x outputs",
    "blocks",
    "parameters",
    "of file",
    "empty",
)
# A longer name has a line of its own, so that the table stays narrow.
_LONGEST_NAME = 24
Row = tuple[list[str], ...]  # a list of lines in each column


def text(inspection: "Inspection") -> str:
    """The table, with totals below."""
    every = inspection.bytes
    rows = [_row(layer, every) for layer in inspection.layers]
    if inspection.others:
        name = f"{inspection.others} other" + "s" * (inspection.others > 1)
        rows.append(
            (
                [name],
                [],
                [],
                [f"{inspection.other_parameters:,}"],
                [_share(inspection.other_bytes, every)],
                [],
            )
        )
    if len(rows) > 1:
        rows.append(
            (["total"], [], [], _parameters(inspection), ["100.0%"], [])
        )
    lines = _lines(rows)
    if not inspection.layers:
        lines.append(
            "no layer is block-sparse; tf_blocksparse.sparsify makes them so"
        )
    elif inspection.layers[0].kind == "BlockLayout":
        lines.append(_counts(inspection.layers[0]))
    lines.append(
        f"{inspection.dense_parameters:,} parameters if it were dense; weights "
        f"and layouts take {_size(every)}"
    )
    return "\n".join(lines)


def _row(layer: LayerInspection, every: int) -> Row:
    layout = layer.layout
    size = ["{:,} x {:,}".format(*layout.shape)]
    if layer.taps is not None:
        size.append(f"{layer.taps} taps")
    size.append("in {} x {}".format(*layout.block_size))
    blocks = [
        f"{layout.nnz:,} of {layer.block_places:,}",
        f"{layer.density:.1%}",
    ]
    if layer.gate is not None:
        blocks.append(f"{layer.closed:,} closed")
    return (
        [layer.name, f"({layer.kind})"],
        size,
        blocks,
        _parameters(layer),
        [_share(layer.bytes, every)],
        [f"{layer.empty_inputs:,} in", f"{layer.empty_outputs:,} out"],
    )


def _parameters(seen: "LayerInspection | Inspection") -> list[str]:
    share = _share(seen.parameters, seen.dense_parameters)
    return [f"{seen.parameters:,}", f"{share} of dense"]


def _counts(layer: LayerInspection) -> str:
    counts = layer.output_counts
    return (
        f"blocks of an output: {counts.min():,} to {counts.max():,}, "
        f"{counts.mean():.4g} on average"
    )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"


def _size(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


def _lines(rows: list[Row]) -> list[str]:
    """Columns as wide as they must be, the first at the left."""
    titles: Row = tuple([title] for title in _TITLES)
    names = [name[0] for name, *_ in rows]
    rows = [
        (name[1:] if _is_long(name[0]) else name, *others)
        for name, *others in rows
    ]
    widths = [
        max(len(line) for cell in column for line in cell)
        for column in zip(titles, *rows, strict=True)
    ]

    def lines(row: Row) -> Iterator[str]:
        for first, *others in itertools.zip_longest(*row, fillvalue=""):
            padded = map(str.rjust, others, widths[1:])
            yield "  ".join([first.ljust(widths[0]), *padded]).rstrip()

    body: list[str] = []
    for name, row in zip(names, rows, strict=True):
        body += [*([name] if _is_long(name) else []), *lines(row)]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return [*lines(titles), rule, *body, rule]


def _is_long(name: str) -> bool:
    return len(name) > _LONGEST_NAME
