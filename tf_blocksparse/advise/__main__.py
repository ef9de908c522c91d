# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
r"""Says from which sparsity on block-sparse layers beat dense ones here.

Measures this machine: TensorFlow's dense product and the block-sparse one,
forward and in training (forward, dx and dw), over sparsities and block sizes,
in turns, so that a busy machine is busy for all. Every result is checked, times
are medians. Prints a table and draws a picture. It takes about as long as
--seconds says; on a machine at rest the numbers are best.

"faster from" is the sparsity from which on every measured point was faster than
dense, as a line between the measured points crosses the dense time; two numbers
are the points that it lies between, where time did not suffice to find it.

    python -m tf_blocksparse.advise --inputs=4096 --outputs=4096 --rows=64
    python -m tf_blocksparse.advise --inputs=256 --outputs=256 --rows=8 \
        --kernel_size=3x3 --image=28x28 --block_sizes=16,32
"""

import json
import pathlib
import re
import sys
from collections.abc import Sequence

import tensorflow as tf
from absl import app, flags

from tf_blocksparse.advise import _machine, _picture, _report
from tf_blocksparse.advise._problem import Problem
from tf_blocksparse.advise._progress import Progress
from tf_blocksparse.advise._search import search
from tf_blocksparse.advise._timing import Timer

_INPUTS = flags.DEFINE_integer(
    "inputs", 4096, "Input features, or channels.", lower_bound=1
)
_OUTPUTS = flags.DEFINE_integer(
    "outputs", 4096, "Output features, or channels.", lower_bound=1
)
_ROWS = flags.DEFINE_integer(
    "rows",
    64,
    "Rows of x: the batch, times the length of sequences; the images of a "
    "convolution.",
    lower_bound=1,
)
_BLOCK_SIZES = flags.DEFINE_list(
    "block_sizes", "8,16,32,64", "Sides of the square blocks, 1 to 256."
)
_DTYPE = flags.DEFINE_enum(
    "dtype",
    "float32",
    ["float32", "float64", "bfloat16", "float16"],
    "Of x and of the weight.",
)
_KERNEL_SIZE = flags.DEFINE_string(
    "kernel_size",
    None,
    "Of a convolution with stride 1 and padding same, as 3x3, in 1 to 3 "
    "dimensions; a dense layer if not set.",
)
_IMAGE = flags.DEFINE_string(
    "image", None, "Sizes of the images of a convolution, as 28x28."
)
_THREADS = flags.DEFINE_integer(
    "threads",
    0,
    "Threads of TensorFlow; 0 is one for each core.",
    lower_bound=0,
)
_SECONDS = flags.DEFINE_float(
    "seconds",
    60.0,
    "After so many no further measurement begins.",
    lower_bound=0.0,
)
_PICTURE = flags.DEFINE_string(
    "picture", "advise.png", "File to draw in, as .png or .svg; none if empty."
)
_JSON = flags.DEFINE_string(
    "json", None, "File for every measured point; none if not set."
)
_SEED = flags.DEFINE_integer(
    "seed", 1, "Seed of layouts and numbers.", lower_bound=0
)


def sizes_of(name: str, text: str | None) -> tuple[int, ...]:
    """Reads 3x3 as (3, 3), nothing as ().

    Raises:
      ValueError: if it is something else.
    """
    if not text:
        return ()
    if not re.fullmatch(r"[1-9]\d*(x[1-9]\d*){0,2}", text):
        raise ValueError(
            f"--{name}: got {text!r}, expected 1 to 3 sizes joined by x; write "
            "28x28"
        )
    return tuple(map(int, text.split("x")))


def block_sizes_of(texts: Sequence[str]) -> list[int]:
    """The block sizes, ascending.

    Raises:
      ValueError: if one is no integer from 1 to 256, or there is none.
    """
    good = [text for text in texts if re.fullmatch(r"\d{1,3}", text.strip())]
    sizes = sorted({int(text) for text in good})
    if (
        not sizes
        or len(good) < len(texts)
        or not 1 <= sizes[0] <= sizes[-1] <= 256
    ):
        raise ValueError(
            f"--block_sizes: got {','.join(texts)!r}, expected integers from 1 "
            "to 256; write 16,32"
        )
    return sizes


def read_problem() -> Problem:
    """What the flags describe.

    Raises:
      ValueError: if they don't fit together.
    """
    kernel_size = sizes_of("kernel_size", _KERNEL_SIZE.value)
    image = sizes_of("image", _IMAGE.value)
    if len(kernel_size) != len(image):
        raise ValueError(
            f"--image: got {_IMAGE.value} beside --kernel_size="
            f"{_KERNEL_SIZE.value}, expected as many sizes of both; give "
            "both for a convolution, as 28x28 and 3x3, and none for a layer"
        )
    return Problem(
        rows=_ROWS.value,
        inputs=_INPUTS.value,
        outputs=_OUTPUTS.value,
        dtype=_DTYPE.value,
        kernel_size=kernel_size,
        image=image,
    )


def check_files() -> None:
    """Raises a ValueError now, not after a minute, if nothing could be kept."""
    for name, path in (("picture", _PICTURE.value), ("json", _JSON.value)):
        if path and not pathlib.Path(path).absolute().parent.is_dir():
            raise ValueError(
                f"--{name}: got {path}, expected a file in a folder that "
                "exists; make the folder"
            )


def has_matplotlib() -> bool:
    """Whether a picture can be drawn; says what to do if one was asked for."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        advice = "--picture: got no matplotlib, run `pip install matplotlib`"
        if flags.FLAGS["picture"].present:
            raise ValueError(advice) from None
        print(advice + " for a picture", file=sys.stderr)
        return False
    return True


def main(argv: Sequence[str]) -> None:
    """Measures, prints and draws."""
    try:
        if len(argv) > 1:
            raise ValueError(f"got {argv[1:]}, expected flags only")
        problem = read_problem()
        sizes = block_sizes_of(_BLOCK_SIZES.value)
        check_files()
        draws = bool(_PICTURE.value) and has_matplotlib()
    except ValueError as error:
        raise app.UsageError(str(error)) from None
    tf.config.threading.set_intra_op_parallelism_threads(_THREADS.value)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    machine = _machine.describe(_THREADS.value)
    print(f"{problem}\n{_machine.text(machine)}\n", flush=True)
    places = {size: problem.places(size) for size in sizes}
    # The layer may be on a GPU otherwise, and the blocks on the CPU.
    with tf.device("CPU:0"), Progress(sys.stderr) as progress:
        timer = Timer(problem, _SEED.value)
        points = search(
            timer.measure, places, _SECONDS.value, progress=progress
        )
    print(_report.table(points))
    if _JSON.value:
        found = _report.as_json(points, problem, machine)
        text = json.dumps(found, indent=2, allow_nan=False)
        pathlib.Path(_JSON.value).write_text(text + "\n", encoding="utf-8")
    if draws:
        title = (
            f"{problem}\n{machine['processor']}, {machine['threads']} threads"
        )
        _picture.draw(points, _PICTURE.value, title)
        print(f"picture: {_PICTURE.value}")


if __name__ == "__main__":
    app.run(main)
