# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What a maker's arguments mean, for ever: configs hold nothing else."""

import hashlib

import numpy as np
import pytest

from tf_blocksparse import patterns


def digest(*masks):
    shapes = str([mask.shape for mask in masks]).encode()
    bits = b"".join(np.packbits(mask).tobytes() for mask in masks)
    return hashlib.sha256(shapes + bits).hexdigest()[:16]


BAND = patterns.banded((40, 40), 1)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("banded", ((30, 50), 2), "fe34bb3110a2e383"),
        ("block_diagonal", ((30, 50), 7), "f2d281bea60671b8"),
        ("balanced_random", ((30, 50), 200, 3), "e781eacd392464e0"),
        ("balanced_random", ((30, 60), 200, 3, 3), "449a79db2bfc5c82"),
        ("barabasi_albert", ((1, 1), 1, 0), "4a7648445afd53bb"),
        ("barabasi_albert", ((160, 160), 5, 0), "07cccc3d90e550a7"),
        ("barabasi_albert", ((160, 160), 5, 1), "431eec336572f53e"),
        ("barabasi_albert", ((32, 128), 3, 2**63), "e6fc09df5e3d9744"),
        ("watts_strogatz", ((160, 160), 5, 0.2, 0), "f0967cbbe24f5afa"),
        ("watts_strogatz", ((160, 160), 5, 1.0, 0), "44f8f93c1e9bd1d0"),
        ("watts_strogatz", ((128, 32), 2, 0.5, 123456789), "4ed92b099342f9ed"),
        (
            "watts_strogatz_2d",
            ((144, 144), (12, 12), 4, 0.2, 0),
            "a2cd0a044d1be459",
        ),
        (
            "watts_strogatz_2d",
            ((120, 60), (8, 15), 3, 0.7, 9),
            "c53262e74c570896",
        ),
        ("watts_strogatz", ((41, 41), 18, 1.0, 0), "9431550e59261978"),
        ("strided", ((30, 50), 7), "867596fb60e5a55d"),
        ("butterfly", ((48, 48),), "eec9426e765b7a0e"),
        ("butterfly", ((20, 64), 4), "070c33d15897e44d"),
        ("pixelated_butterfly", ((48, 48), 8, 2), "7d8c62c55a8def08"),
        (
            "locally_connected",
            ((64, 16), 1, (8, 8), (4, 4)),
            "74e5414ca85158c7",
        ),
        ("interleaved", ((60, 84), 3), "721557a1464984e6"),
        ("low_degree_edges", (BAND, 300, 0), "f0eff236ccc2892b"),
        ("low_degree_edges", (BAND, 300, 1), "820dd3b971ace9b6"),
    ],
)
def test_golden(name, arguments, expected):
    made = getattr(patterns, name)(*arguments)
    assert digest(*(made if isinstance(made, list) else [made])) == expected
