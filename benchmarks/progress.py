# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""How far a task is, on stdout, which a worker has nothing else for."""

import sys


class Progress:
    """A bar: drawn over on a terminal, a few lines in a log."""

    def __init__(self, title: str, steps: int) -> None:
        self._title = title
        self._steps = steps
        self._done = 0
        self._shown = -1
        self._terminal = sys.stdout.isatty()

    def __call__(self, steps: int = 1) -> None:
        """Counts steps."""
        self._done += steps
        part = (100 if self._terminal else 4) * self._done // self._steps
        if part == self._shown:
            return
        self._shown = part
        share = self._done / self._steps
        print(
            f"{self._title} [{'=' * int(40 * share):<40}]{share:5.0%}",
            end="\n" if not self._terminal or share == 1 else "\r",
            flush=True,
        )
