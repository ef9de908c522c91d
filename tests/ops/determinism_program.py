# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Computes with the given number of threads; prints digests of the results.

Each product is large enough to be given to all threads, and is computed twice.
"""

import hashlib
import itertools
import json
import sys

import determinism_convolutions
import numpy as np
import tensorflow as tf

from tf_blocksparse import BlockLayout, ops


def digest_of(tensor):
    wide = tf.cast(tensor, tf.float64).numpy()
    return hashlib.sha256(wide.tobytes()).hexdigest()


def normal(*shape):
    return np.random.default_rng(3).standard_normal(shape)


def products():
    """(what, tensor) for each, twice."""
    for block, rows, dtype in itertools.product(
        (4, 16, 32, 64),
        (1, 5, 64, 1500),
        ("float32", "float64", "bfloat16", "float16"),
    ):
        # Work of 200 us and more on one core.
        side = 2048 if rows < 64 else 1024 if rows == 64 else 256
        if dtype != "float32" and (block, rows) not in ((16, 64), (32, 1500)):
            continue
        layout = BlockLayout.random((side, side), block, sparsity=0.7, seed=0)
        rng = np.random.default_rng(1)
        blocks = rng.standard_normal((layout.nnz, block, block))
        blocks = tf.constant(blocks, dtype)
        for axis, _ in itertools.product((-1, 0), range(2)):
            shape = (rows, side) if axis else (side, rows)
            x = tf.constant(np.random.default_rng(2).standard_normal(shape))
            x = tf.cast(x, dtype)
            options = {"feature_axis": axis}
            y = ops.matmul(x, blocks, layout, activation="gelu", **options)
            dx = ops.matmul(x, blocks, layout, transpose=True, **options)
            product = ops.sampled_matmul(x, x, layout, **options)
            gate = normal(layout.nnz)
            options["gate"] = tf.constant(gate * (gate > -0.5), tf.float32)
            bias = tf.cast(normal(side), dtype)
            gated = ops.matmul(
                x, blocks, layout, bias=bias, activation="silu", **options
            )
            gated_dx = ops.matmul(
                x,
                blocks,
                layout,
                transpose=True,
                bias=bias,
                activation="tanh",
                **options,
            )
            gated_product = ops.sampled_matmul(x, x, layout, **options)
            for what, tensor in (
                ("y", y),
                ("dx", dx),
                ("dblocks", product),
                ("gated y", gated),
                ("gated dx", gated_dx),
                ("gated dblocks", gated_product),
            ):
                yield f"{what} {block} {rows} {dtype} {axis}", tensor


def main(threads):
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    found = {}
    for results in (products(), determinism_convolutions.results()):
        digests, repeated = {}, 0
        for name, tensor in results:
            digest = digest_of(tensor)
            if digests.setdefault(name, digest) != digest:
                sys.exit(f"{name}: another result in the second run")
            repeated += 1
        if repeated != 2 * len(digests):
            sys.exit(f"{repeated} results, expected {len(digests)} twice")
        found |= digests
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]))
