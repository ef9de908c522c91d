# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What ops may become when XLA compiles them."""

import pytest


@pytest.fixture(params=["call", "dense"])
def form(request, monkeypatch):
    """A call of our own kernels, or XLA's product with the dense weight."""
    # Read whenever a function is compiled.
    monkeypatch.setenv(
        "TF_BLOCKSPARSE_XLA_DENSE", str(int(request.param == "dense"))
    )
    return request.param
