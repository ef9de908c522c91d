# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What the numbers of a run depend on."""

import os
import pathlib
import platform
import re
import subprocess
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]


def describe() -> dict[str, Any]:
    """The machine, its system and the version of this repository."""
    cpu = pathlib.Path("/proc/cpuinfo").read_text()
    told = dict(re.findall(r"^([\w ]+?)\s*: (.*)$", cpu, re.MULTILINE))
    processor = told.get("model name", platform.machine())
    if "model" in told:
        processor += f" (family {told['cpu family']}, model {told['model']})"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    onednn = os.environ.get("TF_ENABLE_ONEDNN_OPTS", "1") != "0"
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory / 2**30),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "onednn": "on" if onednn else "off",
        "revision": _revision(),
        "load_before": os.getloadavg()[0],
    }


def _revision() -> str:
    """The commit that is measured; "unknown" outside of a repository."""
    try:
        answer = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--exclude=*"],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
    except OSError:
        return "unknown"
    return answer.stdout.strip() or "unknown"
