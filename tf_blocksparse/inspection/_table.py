# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""An inspection as lines of text."""

from typing import TYPE_CHECKING

from tf_blocksparse.inspection._layer import LayerInspection

if TYPE_CHECKING:
    from tf_blocksparse.inspection._inspection import Inspection

_TITLES = (
    "layer",
    "kind",
    "inputs x outputs",
    "block",
    "blocks",
    "density",
    "parameters",
    "of dense",
    "of file",
    "empty in, out",
    "closed",
)
_TEXTS = 2  # columns that start at the left


def text(inspection: "Inspection") -> str:
    """The table, with totals below."""
    every = inspection.bytes
    rows = [_row(layer, every) for layer in inspection.layers]
    if inspection.others:
        rows.append(
            (
                f"{inspection.others} other"
                + ("s" if inspection.others > 1 else ""),
                *[""] * 5,
                f"{inspection.other_parameters:,}",
                "",
                _share(inspection.other_bytes, every),
                "",
                "",
            )
        )
    if len(rows) > 1:
        rows.append(
            (
                "total",
                *[""] * 5,
                f"{inspection.parameters:,}",
                _share(inspection.parameters, inspection.dense_parameters),
                "100.0%",
                "",
                "",
            )
        )
    lines = _lines(rows)
    if not inspection.layers:
        lines.append(
            "no layer is block-sparse; tf_blocksparse.sparsify makes them so"
        )
    elif inspection.layers[0].kind == "BlockLayout":
        lines.append(_counts(inspection.layers[0]))
    lines.append(
        f"{inspection.parameters:,} parameters; the dense model would have "
        f"{inspection.dense_parameters:,}. Weights and layouts take "
        f"{_size(every)}."
    )
    return "\n".join(lines)


def _row(layer: LayerInspection, every: int) -> tuple[str, ...]:
    layout = layer.layout
    size = "{:,} x {:,}".format(*layout.shape)
    if layer.taps is not None:
        size += f" ({layer.taps} taps)"
    closed = "-"
    if layer.gate is not None:
        closed = f"{layer.closed:,} ({_share(layer.closed, layout.nnz)})"
    return (
        layer.name,
        layer.kind,
        size,
        "{} x {}".format(*layout.block_size),
        f"{layout.nnz:,} of {layout.mask.size:,}",
        f"{layer.density:.1%}",
        f"{layer.parameters:,}",
        _share(layer.parameters, layer.dense_parameters),
        _share(layer.bytes, every),
        f"{layer.empty_inputs:,}, {layer.empty_outputs:,}",
        closed,
    )


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


def _lines(rows: list[tuple[str, ...]]) -> list[str]:
    table = [_TITLES, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]

    def line(row: tuple[str, ...]) -> str:
        cells = [
            f"{cell:<{width}}" if i < _TEXTS else f"{cell:>{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return [line(_TITLES), rule, *map(line, rows), rule]
