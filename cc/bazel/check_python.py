# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Says in one line why this Python cannot run the library, if it cannot.

Runs under any Python 3, also those it turns away.
"""

import sys


def complaint():
    if not (3, 10) <= sys.version_info[:2] <= (3, 13):
        return "Python 3.10 to 3.13 is needed, {} is {}.{}".format(
            sys.executable, *sys.version_info[:2]
        )
    try:
        import ensurepip
        import venv
    except ImportError as error:
        return (
            "{} has no module {}: install it (on Debian and Ubuntu: "
            "apt-get install python3-venv)".format(sys.executable, error.name)
        )
    del ensurepip, venv
    return None


if complaint():
    sys.exit(
        "error: {}; or set PYTHON to another: "
        "make setup PYTHON=python3.12".format(complaint())
    )
