# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Says in one line why this Python cannot run the library, if it cannot.

Runs under every Python from 3.6, also those it turns away.
"""

import sys


def complaint():
    if not (3, 10) <= sys.version_info[:2] <= (3, 13):
        found = ".".join(map(str, sys.version_info[:2]))
        return f"Python 3.10 to 3.13 is needed, {sys.executable} is {found}"
    try:
        import ensurepip
        import venv
    except ImportError as error:
        return (
            f"{sys.executable} has no module {error.name}: install it (on "
            "Debian and Ubuntu: apt-get install python3-venv)"
        )
    del ensurepip, venv
    return None


if complaint():
    sys.exit(
        f"error: {complaint()}; or set PYTHON to another: "
        "make setup PYTHON=python3.12"
    )
