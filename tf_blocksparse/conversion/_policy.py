# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What a user asks of each layer: a number, a dict of names, a function."""

import fnmatch
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tf_blocksparse import _arguments

_ADVICE = "0.9 leaves a tenth of the blocks"


class Choice(NamedTuple):
    """What is asked of one layer."""

    sparsity: float | None  # None: it stays dense
    block_size: tuple[int, int]
    reason: str | None = None  # why it stays dense


class Policy:
    """The argument `sparsity` of `sparsify`, resolved for each layer."""

    def __init__(
        self, sparsity: Any, block_size: int | tuple[int, int]
    ) -> None:
        self._block_size = _arguments.block_size(block_size)
        self._unused: dict[str, bool] = {}
        self._rule: Any = sparsity
        if isinstance(sparsity, Mapping):
            self._unused = dict.fromkeys(sparsity, True)
            for pattern, value in sparsity.items():
                if not isinstance(pattern, str):
                    raise ValueError(
                        f"sparsity: got the key {_arguments.shown(pattern)}, "
                        "expected a pattern of names; write a str, or give a "
                        "function of the layer"
                    )
                self._resolve(f"sparsity[{pattern!r}]", value)
        elif not callable(sparsity):
            self._resolve("sparsity", sparsity)

    def choice(self, layer: Any, path: str) -> Choice:
        """What is asked of the layer of a path.

        Raises:
          ValueError: if a function gives something else.
        """
        if isinstance(self._rule, Mapping):
            for pattern, value in self._rule.items():
                if _fits(pattern, layer.name, path):
                    self._unused[pattern] = False
                    return self._resolve("sparsity", value)
            reason = "no pattern of `sparsity` fits its name"
            return Choice(None, self._block_size, reason)
        if callable(self._rule):
            rule: Callable[[Any], Any] = self._rule
            return self._resolve(f"sparsity({layer.name})", rule(layer))
        return self._resolve("sparsity", self._rule)

    def check_used(self, paths: list[str]) -> None:
        """Raises if a pattern was that of no layer: it may be misspelt."""
        unused = [pattern for pattern, is_so in self._unused.items() if is_so]
        # A pattern may stand behind a wider one.
        unused = [
            pattern
            for pattern in unused
            if not any(_fits(pattern, p.split("/")[-1], p) for p in paths)
        ]
        if unused:
            raise ValueError(
                f"sparsity: got the pattern {unused[0]!r}, expected one that "
                f"fits a layer of {', '.join(paths) or 'the model'}; patterns "
                "are those of shells, of names or of whole paths"
            )

    def _resolve(self, name: str, value: Any) -> Choice:
        block_size = self._block_size
        if isinstance(value, Mapping):
            unknown = set(value) - {"sparsity", "block_size"}
            if unknown or "sparsity" not in value:
                raise ValueError(
                    f"{name}: got a dict with {sorted(value)}, expected "
                    "'sparsity' and, if wanted, 'block_size'"
                )
            if "block_size" in value:
                block_size = _arguments.block_size(value["block_size"])
            value = value["sparsity"]
        if value is None:
            return Choice(None, block_size, "asked to stay as it is")
        return Choice(_arguments.fraction(name, value, _ADVICE), block_size)


def _fits(pattern: str, name: str, path: str) -> bool:
    return fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(
        path, pattern
    )
