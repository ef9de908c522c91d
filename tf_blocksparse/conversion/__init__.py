# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""From a dense model to a block-sparse one, and back."""

from tf_blocksparse.conversion.compact import compact

__all__ = ["compact"]
