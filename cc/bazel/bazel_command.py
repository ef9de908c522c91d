# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Which Bazel to call, and what to tell it about this machine.

`make setup` runs this file to write .bazelrc.setup (with --check, only to see
whether it could); setup.py imports it and passes the same flags on the command
line.
"""

import os
import pathlib
import platform
import re
import shlex
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

# GCC knows __builtin_shufflevector from 12 on.
_OLDEST_COMPILERS = {"GCC": 12, "Clang": 14}
_OLDEST_BAZEL = (4, 2, 3)
# Others lack parts of XLA's headers, or have them under other names.
_OLDEST_TENSORFLOW = (2, 19)

# Words before the compiler in $CC that do without being there.
_LAUNCHERS = ("ccache", "distcc", "sccache")


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
    _check_compiler(find_compiler())
    _check_bazel(find_bazel())


def find_compiler():
    """Returns the one word that Bazel takes for $CC (default: gcc)."""
    chosen = os.environ.get("CC", "")
    words = shlex.split(chosen) or ["gcc"]
    # Bazel keeps what it has compiled, and starts one program, not two.
    if os.path.basename(words[0]) in _LAUNCHERS:
        del words[0]
    if len(words) != 1:
        raise CannotBuildError(
            f"CC is '{chosen}', expected the name of one C++ compiler: set CC "
            "without flags (Bazel takes them as --copt)"
        )
    path = shutil.which(words[0])
    if path is None:
        raise CannotBuildError(
            f"no {words[0]} in PATH: install a C++17 compiler (on Debian and "
            "Ubuntu: apt-get install g++) or set CC to one"
        )
    return path


def _macros(compiler):
    # Asked as a C++ compiler: a gcc may have come without its g++.
    answer = _ask(compiler, "-x", "c++", "-dM", "-E", os.devnull)
    if answer is None:
        raise CannotBuildError(
            f"{compiler} compiles no C++: install a C++17 compiler (on Debian "
            "and Ubuntu: apt-get install g++) or set CC to one"
        )
    return dict(re.findall(r"^#define (\w+) (.*)$", answer, re.MULTILINE))


def _check_compiler(compiler):
    macros = _macros(compiler)
    # Clang defines GCC's as well.
    if "__clang_major__" in macros:
        name, version = "Clang", int(macros["__clang_major__"])
    elif "__GNUC__" in macros:
        name, version = "GCC", int(macros["__GNUC__"])
    else:
        raise CannotBuildError(
            f"{compiler} is neither GCC nor Clang: set CC to one of them"
        )
    if version < _OLDEST_COMPILERS[name]:
        raise CannotBuildError(
            f"{compiler} is {name} {version}; {name} "
            f"{_OLDEST_COMPILERS[name]} or later is needed: install one and "
            "set CC to it (Debian 12 and Ubuntu 24.04 have them)"
        )


def _check_bazel(bazel):
    found = _bazel_version(bazel)
    if found and found < _OLDEST_BAZEL:
        raise CannotBuildError(
            f"{bazel} is Bazel {'.'.join(map(str, found))}; "
            f"{'.'.join(map(str, _OLDEST_BAZEL))} or later is needed: install "
            "one and set BAZEL to it (Debian 12 and Ubuntu 24.04 have it)"
        )


def _check_tensorflow(folder, version):
    found = tuple(map(int, version.split(".")[:2]))
    if found < _OLDEST_TENSORFLOW:
        raise CannotBuildError(
            f"{folder} is TensorFlow {version}; "
            f"{'.'.join(map(str, _OLDEST_TENSORFLOW))} or later is needed: pip "
            f"install '{tensorflow_wheel.requirement()}' (or tensorflow)"
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
    _check_tensorflow(folder, version)
    result = [
        f"--repo_env=PYTHON_BIN_PATH={python}",
        f"--repo_env=TENSORFLOW_FOLDER={folder}",
        f"--repo_env=TENSORFLOW_VERSION={version}",
    ]
    if "CC" in os.environ:
        result.append(f"--repo_env=CC={find_compiler()}")
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


def _ask(*command):
    """Returns what the command prints, or None if it fails."""
    try:
        answer = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True
        )
    except OSError:
        return None
    return answer.stdout if answer.returncode == 0 else None


def _is_debians(bazel):
    return "no_version" in (_ask(bazel, "--version") or "")


def _bazel_version(bazel):
    """Returns three numbers, or None if neither Bazel nor Debian tells."""
    answer = _ask(bazel, "--version")
    if answer is None:
        raise CannotBuildError(
            f"`{bazel} --version` fails: repair it, or set BAZEL to another"
        )
    if "no_version" in answer:
        answer = _ask("dpkg-query", "-Wf", "${Version}", "bazel-bootstrap")
    numbers = re.search(r"(\d+)\.(\d+)\.(\d+)", answer or "")
    return numbers and tuple(map(int, numbers.groups()))


def main():
    """Writes .bazelrc.setup, if anything in it has changed."""
    try:
        check_system()
        if sys.argv[1:] == ["--check"]:
            return
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
