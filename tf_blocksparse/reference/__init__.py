# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The functions of `ops` in plain TensorFlow, on whole weights.

What the ops compute, said by code: every weight is built whole, with 0 where
no block is, and TensorFlow multiplies and differentiates it. Slow, simple, and
the standard that the tests hold the ops to. A layout must be known when the
function is called: a `BlockLayout`, or a `LayoutTensor` with a value.
"""

from tf_blocksparse.reference.conv import conv, conv_sampled, conv_transpose
from tf_blocksparse.reference.dense import from_dense, to_dense
from tf_blocksparse.reference.l2_normalize import l2_normalize
from tf_blocksparse.reference.matmul import matmul, sampled_matmul

__all__ = [
    "conv",
    "conv_sampled",
    "conv_transpose",
    "from_dense",
    "l2_normalize",
    "matmul",
    "sampled_matmul",
    "to_dense",
]
