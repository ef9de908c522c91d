# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The examples in the docstrings of the ops run."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "ops._library",
        "ops.conv",
        "ops.conv_sampled",
        "ops.conv_transpose",
        "ops.dense",
        "ops.edge_bias",
        "ops.layout_tensor",
        "ops.matmul",
        "ops.sampled_matmul",
        "reference.conv",
        "reference.dense",
        "reference.matmul",
        "testing.conv_problems",
        "testing.problems",
        "testing.tolerances",
    ],
)
def test_examples(name):
    # import_module: ops.matmul is a function, too.
    module = importlib.import_module(f"tf_blocksparse.{name}")
    results = doctest.testmod(module)
    assert results.attempted > 0
    assert results.failed == 0
