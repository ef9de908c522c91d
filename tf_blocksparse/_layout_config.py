# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The config of a layout: a dict that JSON can hold.

Either the arguments of the maker, or the mask as text.
"""

import base64
import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tf_blocksparse import _arguments

_ADVICE = "pass a config that `BlockLayout.get_config` gave"
_ARGUMENTS: dict[str, set[str]] = {
    "random": {"sparsity", "seed"},
    "dense": set(),
    "block_diagonal": {"groups"},
    "banded": {"bandwidth"},
    "pattern": {"pattern", "arguments"},
    "mask": {"mask"},
}
# Left out where there are none, or one group.
_OPTIONAL: dict[str, set[str]] = {"random": {"groups"}}


def arguments(config: object) -> dict[str, Any]:
    """A copy of `config` whose maker is known and whose keys are right."""
    copy = dict(config) if isinstance(config, Mapping) else {}
    maker = copy.get("maker")
    if not isinstance(maker, str) or maker not in _ARGUMENTS:
        raise ValueError(
            f"config: got {_arguments.shown(config)}, expected a dict with "
            f"'maker' one of {sorted(_ARGUMENTS)}; {_ADVICE}"
        )
    expected = {"maker", "inputs", "outputs", "block_size", *_ARGUMENTS[maker]}
    optional = {"taps", *_OPTIONAL.get(maker, ())}
    # A maker's None stands for a default, which get_config has filled in.
    if set(copy) - optional != expected or None in copy.values():
        raise ValueError(
            f"config: got {_arguments.shown(copy)}, expected a value for each "
            f"of {sorted(expected)}, and perhaps of {sorted(optional)}; "
            f"{_ADVICE}"
        )
    return copy


def encode_mask(mask: npt.NDArray[np.bool_]) -> str:
    """One bit a block, row by row, compressed by zlib, as base64 text."""
    return base64.b64encode(zlib.compress(np.packbits(mask).tobytes())).decode(
        "ascii"
    )


def decode_mask(text: object, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """The mask of `shape` that `encode_mask` wrote, or `ValueError`."""
    places = math.prod(shape)
    size = (places + 7) // 8
    expected = (
        f"config['mask']: expected the zlib-compressed bits of "
        f"{' x '.join(map(str, shape))} blocks in base64"
    )
    if not isinstance(text, str):
        raise ValueError(f"{expected}, got {_arguments.shown(text)}; {_ADVICE}")
    try:
        # The limit keeps a hostile config from filling the memory.
        inflater = zlib.decompressobj()
        raw = inflater.decompress(base64.b64decode(text, validate=True), size)
    except (ValueError, zlib.error) as error:
        raise ValueError(
            f"{expected}, got other text ({error}); {_ADVICE}"
        ) from (error)
    # `eof` stays false when bytes are missing or left over; one more call
    # reads the checksum behind the last byte.
    tail = inflater.decompress(inflater.unconsumed_tail, 1)
    if len(raw) != size or tail or not inflater.eof:
        raise ValueError(
            f"{expected}, got text for another number of blocks; {_ADVICE}"
        )
    bits = np.frombuffer(raw, np.uint8)
    return np.unpackbits(bits, count=places).reshape(shape).astype(np.bool_)
