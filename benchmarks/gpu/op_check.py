# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Runs the ops on TensorFlow's GPU and on its CPU, and compares.

    PYTHONPATH=. python benchmarks/gpu/op_check.py

prints a line of JSON: how many results were compared and which differ, or why
there are none. Operands are small integers, so equal means equal.
"""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

DEVICES = ("/GPU:0", "/CPU:0")
# Primes: every so many-th problem of the tables, some seconds in all.
_PROBLEMS_STRIDE = 211
_CONV_STRIDE = 6007


def check(
    devices: Sequence[str] = DEVICES,
    stride: int = _PROBLEMS_STRIDE,
    conv_stride: int = _CONV_STRIDE,
) -> dict[str, Any]:
    """Compares products, convolutions and their gradients.

    Args:
      devices: the one to check, and the one that is right.
      stride: of the table of products.
      conv_stride: of that of convolutions.
    """
    from tf_blocksparse import ops, testing

    def matmul(problem: Any) -> Callable[[Any, Any], Any]:
        return lambda x, blocks: ops.matmul(
            x,
            blocks,
            problem.layout,
            transpose=problem.transpose,
            feature_axis=problem.feature_axis,
        )

    def conv(problem: Any) -> Callable[[Any, Any], Any]:
        return lambda x, blocks: problem.call(ops, x, blocks)

    problems = testing.problems(stride)
    convolutions = testing.conv_problems(conv_stride)
    failures = [
        *_differences(problems, matmul, devices),
        *_differences(convolutions, conv, devices),
    ]
    return {
        # y, dx and the gradient of the blocks.
        "results": 3 * (len(problems) + len(convolutions)),
        "failures": failures,
    }


def _differences(
    problems: Iterable[Any],
    function: Callable[[Any], Callable[[Any, Any], Any]],
    devices: Sequence[str],
) -> Iterable[str]:
    import numpy as np

    for problem in problems:
        try:
            got, right = (
                _results(function(problem), problem.integers(), device)
                for device in devices
            )
        except Exception as error:  # of any kind: it is told, not ended by
            yield f"{problem}: {error}"
            continue
        for name, a, b in zip(("y", "dx", "dblocks"), got, right, strict=True):
            if not np.array_equal(a, b, equal_nan=True):
                yield f"{problem}: {name} differs"


def _results(
    function: Callable[[Any, Any], Any], values: Sequence[Any], device: str
) -> list[Any]:
    import tensorflow as tf

    with tf.device(device):
        x, blocks, dy = (tf.identity(value) for value in values)
        with tf.GradientTape() as tape:
            tape.watch([x, blocks])
            y = function(x, blocks)
        gradients = tape.gradient(y, [x, blocks], dy)
        return [tf.cast(each, tf.float64).numpy() for each in (y, *gradients)]


def reason() -> str:
    """Why the ops can't be run on a GPU; empty if they can."""
    try:
        import tensorflow as tf
    except ModuleNotFoundError as error:
        return f"TensorFlow is not installed ({error})"
    except Exception as error:  # of any kind: an installation may be broken
        return f"TensorFlow does not start ({error})"
    if not tf.config.list_physical_devices("GPU"):
        return f"TensorFlow {tf.__version__} sees no GPU"
    try:
        import tf_blocksparse
    except Exception as error:  # of TensorFlow's as well, for a wrong library
        return f"tf_blocksparse does not start ({error})"
    if tf_blocksparse.build_info()["cuda"] is None:
        return "tf_blocksparse was built without CUDA: TF_BLOCKSPARSE_CUDA=1"
    return ""


def main() -> None:
    """Prints what was found."""
    why = reason()
    print(json.dumps({"skipped": why} if why else check()))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
