# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Times dense convolutions by PyTorch's cuDNN, for gpu_check.py.

It answers lines as the program of cc/gpu_check does, and times as it does: by
events on the stream, after other memory than the operands has been written. Its
results are not checked.

    dense_conv forward|dx|dw f32|tf32|f16|bf16 IMAGES SIDE INPUTS OUTPUTS
"""

import json
import statistics
import sys
from collections.abc import Callable
from typing import Any

_KERNEL = 3
# cuDNN tries its algorithms in the first ones.
_WARM_UP = 3
_SAMPLES = 7
# As in clock.cc: no cache holds so much.
_OTHER_BYTES = 2**28


def tell(**answer: Any) -> None:
    """Prints a line of JSON."""
    print(json.dumps(answer), flush=True)


def find_torch() -> Any:
    """PyTorch, if it sees a GPU.

    Raises:
      ImportError: if it is not installed, or sees none.
    """
    import torch

    if not torch.cuda.is_available():
        raise ImportError(f"PyTorch {torch.__version__} sees no GPU")
    torch.backends.cudnn.benchmark = True
    return torch


def seconds(torch: Any, run: Callable[[], Any], other: Any) -> float:
    """The median time of what `run` puts on the stream."""
    for _ in range(_WARM_UP):
        run()
    times = []
    for _ in range(_SAMPLES):
        start = torch.cuda.Event(enable_timing=True)
        stop = torch.cuda.Event(enable_timing=True)
        other.zero_()
        start.record()
        run()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) / 1e3)
    return statistics.median(times)


def convolution(torch: Any, words: list[str]) -> Callable[[], Any]:
    """What is to be timed: the convolution that a line describes."""
    _, product, dtype = words[:3]
    images, side, inputs, outputs = map(int, words[3:])
    torch.backends.cudnn.allow_tf32 = dtype == "tf32"
    kind = {"f16": torch.float16, "bf16": torch.bfloat16}.get(
        dtype, torch.float32
    )

    def normal(*shape: int) -> Any:
        made = torch.randn(*shape, device="cuda", dtype=kind)
        return made.to(memory_format=torch.channels_last)

    x = normal(images, inputs, side, side)
    w = normal(outputs, inputs, _KERNEL, _KERNEL)
    dy = normal(images, outputs, side, side)
    padding = _KERNEL // 2
    if product == "dx":
        return lambda: torch.nn.grad.conv2d_input(
            x.shape, w, dy, padding=padding
        )
    if product == "dw":
        return lambda: torch.nn.grad.conv2d_weight(
            x, w.shape, dy, padding=padding
        )
    return lambda: torch.nn.functional.conv2d(x, w, padding=padding)


def flops(words: list[str]) -> float:
    """Of the dense convolution, pixels beyond the edge counting, too."""
    images, side, inputs, outputs = map(int, words[3:])
    return 2.0 * images * side**2 * inputs * outputs * _KERNEL**2


def main() -> None:
    """Answers each line."""
    try:
        torch = find_torch()
    except Exception as error:  # of any kind: an installation may be broken
        tell(dense="", reason=str(error))
        return
    tell(dense=f"cuDNN by PyTorch {torch.__version__}", reason="")
    other = torch.empty(_OTHER_BYTES, dtype=torch.uint8, device="cuda")
    for line in sys.stdin:
        words = line.split()
        found = None
        try:
            found = seconds(torch, convolution(torch, words), other)
        except RuntimeError as error:  # of CUDA, such as for want of memory
            print(f"{line.strip()}: {error}", file=sys.stderr)
        tell(seconds=found, flops=flops(words), error="")


if __name__ == "__main__":
    main()
