# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Calls the generated ops with malformed layouts, shapes and attributes.

Usage: fuzz_program.py LIBRARY SEED COUNT. Each fuzzer ends when COUNT of its
calls have been refused; prints how many were refused and how many accepted.
Every call must be refused as an invalid argument, with what was expected, or
give a result of the right shape. Loads the library alone, so that it may be one
with checks of its own compiled in.
"""

import json
import sys

import adam_fuzzer
import conv_fuzzer
import matmul_fuzzer
import tensorflow as tf

FUZZERS = (matmul_fuzzer, conv_fuzzer, adam_fuzzer)


def main(library_path, seed, count):
    library = tf.load_op_library(library_path)
    counts = {}
    for fuzzer in FUZZERS:
        # Whose calls a crash is of.
        print(fuzzer.__name__, file=sys.stderr, flush=True)
        counts[fuzzer.__name__] = fuzzer.fuzz(library, seed, count)
    print(json.dumps(counts))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
