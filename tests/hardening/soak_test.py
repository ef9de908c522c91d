# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Long training with blocks that move takes no more memory than short one."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent


@pytest.mark.complete
def test_memory_stays_flat():
    done = subprocess.run(
        [sys.executable, str(FOLDER / "soak_program.py")],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": str(FOLDER.parents[1]),
            "TF_CPP_MIN_LOG_LEVEL": "3",
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    table = json.loads(done.stdout.splitlines()[-1])
    assert table[-1][0] == 10000
    # After a tenth of the steps everything is there that there will be. A leak
    # of a kilobyte for each step would make 9 MB of the rest.
    sizes = [size for step, size in table if step >= 1000]
    assert max(sizes) - sizes[0] < 8e6, table
