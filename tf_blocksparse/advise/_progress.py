# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""How far a measurement is, on a terminal."""

from typing import TextIO

_WIDTH = 40


class Progress:
    """A bar that is drawn over; nothing at all where no terminal is."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._terminal = stream.isatty()

    def __call__(self, share: float) -> None:
        """Shows a share from 0 to 1."""
        if self._terminal:
            bar = "=" * round(_WIDTH * share)
            self._stream.write(f"\rmeasuring [{bar:<{_WIDTH}}]{share:5.0%}")
            self._stream.flush()

    def __enter__(self) -> "Progress":
        self(0.0)
        return self

    def __exit__(self, *error: object) -> None:
        if self._terminal:
            # Clears the line for the table.
            self._stream.write("\r" + " " * (_WIDTH + 20) + "\r")
            self._stream.flush()
