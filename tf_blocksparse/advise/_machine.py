# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What the numbers depend on."""

import os
import pathlib
import platform
import re
import sys
from typing import Any

import keras
import tensorflow as tf


def describe(threads: int) -> dict[str, Any]:
    """Processor, threads and versions.

    Args:
      threads: what TensorFlow was set to; 0 is all it finds.
    """
    try:
        told = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        told = ""
    name = re.search(r"^model name\s*: (.*)$", told, re.MULTILINE)
    usable = len(os.sched_getaffinity(0))
    onednn = os.environ.get("TF_ENABLE_ONEDNN_OPTS", "1") != "0"
    return {
        "processor": name[1] if name else platform.machine(),
        "cores": usable,
        "threads": threads or usable,
        "load_before": os.getloadavg()[0],
        "tensorflow": tf.__version__,
        "onednn": "on" if onednn else "off",
        "keras": keras.__version__,
        "python": platform.python_version(),
        # Not imported: the package may import what is in it.
        "tf_blocksparse": sys.modules["tf_blocksparse"].__version__,
    }


def text(machine: dict[str, Any]) -> str:
    """The same as two lines, which tell whether others are at work."""
    busy = machine["load_before"] > machine["cores"] / 2
    threads = machine["threads"]
    return (
        f"{machine['processor']}, {threads} thread{'s'[: threads - 1]} on "
        f"{machine['cores']} cores, load {machine['load_before']:.1f}"
        f"{': busy, so that times vary' if busy else ''}\n"
        f"tf_blocksparse {machine['tf_blocksparse']}, TensorFlow "
        f"{machine['tensorflow']} (oneDNN {machine['onednn']}), Python "
        f"{machine['python']}"
    )
