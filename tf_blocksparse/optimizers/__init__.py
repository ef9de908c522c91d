# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Keras optimizers."""

from tf_blocksparse.optimizers.adam import Adam

__all__ = ["Adam"]
