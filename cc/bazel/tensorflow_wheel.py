# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Finds the TensorFlow that the op library is built against, without import.

Importing TensorFlow takes seconds and, inside pip's isolated build, would find
another one than the user's.
"""

import json
import os
import pathlib
import platform
import re
import site
import sys
import sysconfig

# What is installed where there is no TensorFlow yet; `make setup` and
# `pip install .` both read it here.
DEFAULT_MINOR = "2.21"

# Wheels of tensorflow-cpu are for x86-64 only.
_PACKAGE = "tensorflow-cpu" if platform.machine() == "x86_64" else "tensorflow"

_FRAMEWORK = "tensorflow/libtensorflow_framework.so.2"


def requirement(minor=DEFAULT_MINOR, package=_PACKAGE):
    """What to ask pip for: that minor, any patch of it."""
    return f"{package}=={minor}.*"


def _folders():
    # The interpreter's own folders come first: pip's isolated build takes them
    # out of sys.path, but the library must fit the TensorFlow that is there.
    yield from (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    if sys.prefix == sys.base_prefix:
        yield site.getusersitepackages()
    yield from sys.path


def _version(folder):
    # Read from the wheel's metadata, whichever of its names it goes by
    # (tensorflow, tensorflow_cpu, tf_nightly, ...).
    for record in folder.glob("t*.dist-info/RECORD"):
        if f"\n{_FRAMEWORK}," in "\n" + record.read_text():
            metadata = record.with_name("METADATA").read_text()
            match = re.search(r"^Version: *(\S+)", metadata, re.MULTILINE)
            return match and match[1]
    return None


def find():
    """Returns (folder of the package, version), or None if there is none."""
    for name in dict.fromkeys(_folders()):
        folder = pathlib.Path(name)
        if (folder / _FRAMEWORK).exists():
            version = _version(folder)
            if version:
                return folder / "tensorflow", version
    return None


def main():
    if sys.argv[1:2] == ["--requirement"]:
        print(requirement())
        return
    found = find()
    if found is None:
        sys.exit(
            f"no TensorFlow in {sys.prefix}: pip install "
            f"'{requirement()}' (or tensorflow) first"
        )
    print(json.dumps({"folder": os.fspath(found[0]), "version": found[1]}))


if __name__ == "__main__":
    main()
