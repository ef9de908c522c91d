# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What `sparsify` tells of each layer."""

from collections.abc import Sequence
from dataclasses import dataclass, field

_TITLES = (
    "layer",
    "kind",
    "kernel",
    "block",
    "asked",
    "got",
    "parameters",
    "after",
)
_TIMES = ("dense, ms", "sparse, ms", "step dense, ms", "step sparse, ms")


@dataclass(frozen=True)
class Times:
    """Seconds that a layer takes on this machine: medians, in turns."""

    dense_forward: float
    sparse_forward: float
    dense_training: float  # forward, and the gradients of inputs and weights
    sparse_training: float


@dataclass(frozen=True)
class LayerReport:
    """What became of one layer, or of one projection of attention.

    Attributes:
      path: the layer's name, after those of the layers that hold it.
      kind: the class of the layer before.
      shape: the kernel's, `(spatial..., inputs, outputs)`; () if it has no
        block-sparse twin.
      block_size: that of the new layer, or the one that was asked for.
      asked: the sparsity that was asked for; None if none was.
      got: the new layer's sparsity, relative to all places for blocks; None
        if it stayed dense.
      parameters_before, parameters_after: numbers in its kernel and bias.
      reason: why it stayed as it was; None if it was replaced.
      times: what `measure=True` measured; None without.
    """

    path: str
    kind: str
    shape: tuple[int, ...]
    block_size: tuple[int, int]
    asked: float | None
    got: float | None
    parameters_before: int
    parameters_after: int
    reason: str | None
    times: Times | None = None


@dataclass(frozen=True)
class SparsifyReport:
    """What `sparsify` did; `print` shows it as a table.

    Attributes:
      layers: a `LayerReport` for each layer with a kernel, in order.
      parameters_before, parameters_after: of the whole models, without
        layouts and gates.
      rows: rows of the batch that was measured; None without.
    """

    layers: tuple[LayerReport, ...]
    parameters_before: int
    parameters_after: int
    rows: int | None = None
    notes: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        timed = any(layer.times for layer in self.layers)
        titles = (*_TITLES, *(_TIMES if timed else ()), "reason to stay")
        rows = [titles, *(_row(layer, timed) for layer in self.layers)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [_line(row, widths) for row in rows]
        lines.insert(1, _line(["-" * width for width in widths], widths))
        share = self.parameters_after / max(1, self.parameters_before)
        lines.append(
            f"{self.parameters_before:,} parameters before, "
            f"{self.parameters_after:,} after: {share:.1%}"
        )
        if self.rows is not None:
            lines.append(f"times with a batch of {self.rows}")
        return "\n".join([*lines, *self.notes])


def _row(layer: LayerReport, timed: bool) -> tuple[str, ...]:
    def per_cent(share: float | None) -> str:
        return "" if share is None else f"{share:.1%}"

    times: tuple[str, ...] = ()
    if timed:
        values = layer.times
        times = ("",) * 4
        if values is not None:
            times = tuple(
                f"{1e3 * each:.3g}"
                for each in (
                    values.dense_forward,
                    values.sparse_forward,
                    values.dense_training,
                    values.sparse_training,
                )
            )
    return (
        layer.path,
        layer.kind,
        " x ".join(map(str, layer.shape)),
        " x ".join(map(str, layer.block_size))
        if layer.asked is not None
        else "",
        per_cent(layer.asked),
        per_cent(layer.got),
        f"{layer.parameters_before:,}",
        f"{layer.parameters_after:,}",
        *times,
        layer.reason or "",
    )


def _line(row: Sequence[str], widths: list[int]) -> str:
    cells = [
        cell.ljust(width) if number < 4 or number == len(widths) - 1
        else cell.rjust(width)
        for number, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]  # fmt: skip
    return "  ".join(cells).rstrip()
