# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The examples in the docstrings of the package run."""

import doctest
import importlib
import pathlib
import warnings

import numpy as np
import pytest

import tf_blocksparse

PACKAGE = pathlib.Path(__file__).resolve().parents[1] / "tf_blocksparse"


def modules():
    """The names of all modules that have an example."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if ">>> " in path.read_text():
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_modules_are_found():
    assert "tf_blocksparse.ops.matmul" in modules()


@pytest.mark.parametrize("name", list(modules()))
def test_examples(name):
    pytest.importorskip("matplotlib")
    pytest.importorskip("scipy")
    # import_module: ops.matmul is a function, too.
    module = importlib.import_module(name)
    # The class whose methods are examples, and NumPy, are taken as known.
    known = {"BlockLayout": tf_blocksparse.BlockLayout, "np": np}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = doctest.testmod(module, extraglobs=known)
    assert results.attempted > 0
    assert results.failed == 0
