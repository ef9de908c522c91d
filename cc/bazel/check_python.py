# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Says in one line why this Python cannot run the library, if it cannot.

Usage: check_python.py [MODULE...], modules that it must have. Runs under every
Python from 3.6, also those it turns away.
"""

import importlib
import sys

# Packages of Debian and Ubuntu.
PACKAGES = {"ensurepip": "python3-venv", "venv": "python3-venv"}


def complaint(modules):
    if not (3, 10) <= sys.version_info[:2] <= (3, 13):
        found = ".".join(map(str, sys.version_info[:2]))
        return f"Python 3.10 to 3.13 is needed, {sys.executable} is {found}"
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError:
            text = f"{sys.executable} has no module {module}"
            if module in PACKAGES:
                text += (
                    f": install it (on Debian and Ubuntu: apt-get install "
                    f"{PACKAGES[module]})"
                )
            return text
    return None


sys.exit(complaint(sys.argv[1:]))
