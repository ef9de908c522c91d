# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Which Bazel to call, and what to tell it about this machine.

`make setup` runs this file to write .bazelrc.setup; setup.py imports it and
passes the same flags on the command line.
"""

import os
import pathlib
import platform
import shutil
import subprocess
import sys

import tensorflow_wheel

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Debian's Bazel comes with the repositories that it would otherwise download.
_DEBIAN = pathlib.Path("/usr/share/bazel")
_DEBIAN_REPOSITORIES = {
    "bazel_skylib": _DEBIAN / "tools/skylib",
    "rules_java": _DEBIAN / "rules/java",
    "rules_proto": _DEBIAN / "rules/proto",
}


class CannotBuildError(Exception):
    """One line: what is missing and what to do."""


def find_bazel():
    """Returns the path of the Bazel to use: $BAZEL, bazel or bazelisk."""
    chosen = os.environ.get("BAZEL")
    for name in [chosen] if chosen else ["bazel", "bazelisk"]:
        path = shutil.which(name)
        if path:
            return path
    raise CannotBuildError(
        f"no {chosen or 'bazel or bazelisk'} in PATH: install Bazel, run "
        "`make setup`, or set BAZEL to its path"
    )


def check_system():
    """Raises CannotBuildError where the library cannot be built."""
    if sys.platform != "linux":
        raise CannotBuildError(
            "tf_blocksparse builds on Linux only; this is "
            f"{platform.system()}. Use a Linux machine, WSL 2 or a container"
        )
    compiler = os.environ.get("CC", "g++")
    if not shutil.which(compiler):
        raise CannotBuildError(
            f"no {compiler} in PATH: install a C++17 compiler, for instance by "
            "`apt-get install g++`"
        )


def flags(bazel, python=sys.executable):
    """Returns the flags for this Bazel, this Python and its TensorFlow."""
    found = tensorflow_wheel.find()
    if found is None:
        raise CannotBuildError(
            f"no TensorFlow in {sys.prefix}: pip install "
            f"'{tensorflow_wheel.requirement()}' (or tensorflow) first"
        )
    folder, version = found
    result = [
        f"--repo_env=PYTHON_BIN_PATH={python}",
        f"--repo_env=TENSORFLOW_FOLDER={folder}",
        f"--repo_env=TENSORFLOW_VERSION={version}",
    ]
    if _is_debians(bazel):
        result += [
            f"--override_repository={name}={path}"
            for name, path in _DEBIAN_REPOSITORIES.items()
        ]
        stub = ROOT / "cc/bazel/remote_coverage_tools"
        result.append(f"--override_repository=remote_coverage_tools={stub}")
        # Debian turns it on; it fills the output with sandbox commands.
        result.append("--nosandbox_debug")
    return result


def environment():
    """Returns the environment for Bazel: this one, less what pip adds.

    pip's isolated build puts a folder with a new name before PATH each time,
    and Bazel configures its compiler and compiles everything anew when PATH is
    not the same.
    """
    result = dict(os.environ)
    folders = result.get("PATH", os.defpath).split(os.pathsep)
    result["PATH"] = os.pathsep.join(
        folder for folder in folders if "pip-build-env-" not in folder
    )
    return result


def _is_debians(bazel):
    answer = subprocess.run(
        [bazel, "--version"], cwd=ROOT, capture_output=True, text=True
    )
    return "no_version" in answer.stdout


def main():
    """Writes .bazelrc.setup, if anything in it has changed."""
    try:
        check_system()
        lines = [f"build {flag}" for flag in flags(find_bazel())]
    except CannotBuildError as error:
        sys.exit(f"error: {error}")
    # Only here: a user's newer compiler may warn of what ours does not.
    lines.append("build --per_file_copt=^cc/.*@-Werror")
    text = "# Written by `make setup`.\n" + "\n".join(lines) + "\n"
    path = ROOT / ".bazelrc.setup"
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
        print(f"wrote {path.name}")


if __name__ == "__main__":
    main()
