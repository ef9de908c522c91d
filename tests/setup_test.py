# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""A system that cannot build the library is told so in one line."""

import os
import pathlib
import subprocess
import sys
import venv

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
GCC_12 = "echo '#define __GNUC__ 12'"


def complaint(*command, **environment):
    """The one line that the command writes, which must fail; or nothing."""
    kept = {
        name: value
        for name, value in os.environ.items()
        # A make that these tests run under is not to be heard.
        if name not in ("BAZEL", "CC", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    }
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**kept, **environment},
        capture_output=True,
        text=True,
    )
    lines = [
        line
        for line in done.stderr.splitlines()
        if not line.startswith("make: *** [")
    ]
    assert done.stdout == ""
    assert (done.returncode != 0) == bool(lines)
    assert len(lines) <= 1
    return "".join(lines)


@pytest.fixture
def program(tmp_path):
    """Makes a program of a name and a line of shell; returns its path."""

    def make(name, line):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)
        return str(path)

    return make


def check(**environment):
    command = [sys.executable, "cc/bazel/bazel_command.py", "--check"]
    return complaint(*command, **environment)


def test_this_system_will_do():
    assert check() == ""


@pytest.mark.parametrize("goal", ["setup", "demo", "test", "lint"])
def test_other_systems_are_refused_before_anything_is_done(program, goal):
    folder = os.path.dirname(program("uname", "echo Darwin"))
    path = f"{folder}:{os.environ['PATH']}"
    got = complaint("make", goal, PATH=path)
    assert "builds on Linux only, this is Darwin: use a Linux machine" in got


def test_old_make_is_refused():
    got = complaint("make", "setup", ".FEATURES=")
    assert "GNU make 3.82 or later is needed, this is " in got


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("echo '#define __GNUC__ 11'", "is GCC 11; GCC 12 or later is needed"),
        (
            # It defines both.
            "echo '#define __GNUC__ 4'; echo '#define __clang_major__ 13'",
            "is Clang 13; Clang 14 or later is needed",
        ),
        ("echo '#define __TINYC__ 1'", "is neither GCC nor Clang"),
        ("exit 1", "compiles no C++: install a C++17 compiler"),
    ],
)
def test_compilers_that_will_not_do(program, line, expected):
    got = check(CC=program("compiler", line))
    assert got.startswith("error: ")
    assert expected in got


@pytest.mark.parametrize("launcher", ["", "ccache ", "/usr/bin/ccache "])
def test_compiler_may_have_a_launcher(program, launcher):
    assert check(CC=launcher + program("compiler", GCC_12)) == ""


def test_compiler_may_have_no_flags(program):
    path = program("compiler", GCC_12)
    got = check(CC=f"{path} -m64")
    assert f"CC is '{path} -m64', expected the name of one C++ compiler" in got


def test_compiler_must_be_there():
    got = check(CC="no_such_compiler")
    assert "no no_such_compiler in PATH: install a C++17 compiler" in got


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("echo bazel 3.5.1", "is Bazel 3.5.1; 4.2.3 or later is needed"),
        ("echo 'bazel 4.2.2- (@non-git)'", "is Bazel 4.2.2; 4.2.3 or later"),
        ("exit 1", "`{} --version` fails: repair it"),
    ],
)
def test_bazels_that_will_not_do(program, line, expected):
    path = program("some_bazel", line)
    assert expected.format(path) in check(BAZEL=path)


@pytest.mark.parametrize(
    "line", ["echo bazel 4.2.3", "echo bazel 7.4.1", "echo bazel 10.0.0-pre"]
)
def test_bazels_that_will_do(program, line):
    assert check(BAZEL=program("some_bazel", line)) == ""


FLAGS = """
import sys
sys.path.insert(0, "cc/bazel")
import bazel_command, tensorflow_wheel
tensorflow_wheel.find = lambda: ("/some/tensorflow", sys.argv[1])
try:
    bazel_command.flags("bazel")
except bazel_command.CannotBuildError as error:
    sys.exit(str(error))
"""


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.9.3", "/some/tensorflow is TensorFlow 2.9.3; 2.19 or"),
        ("2.18.1", "2.18.1; 2.19 or later is needed: pip install"),
        ("2.19.0-rc1", ""),
        ("3.0.0", ""),
    ],
)
def test_tensorflow_must_not_be_too_old(version, expected):
    got = complaint(sys.executable, "-c", FLAGS, version)
    assert expected in got
    assert bool(got) == bool(expected)


def make_venv(folder, **variables):
    words = [f"{name}={value}" for name, value in variables.items()]
    return complaint("make", "venv", f"VENV={folder}", *words)


def test_environment_without_pip(tmp_path):
    folder = tmp_path / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    assert make_venv(folder) == (
        f"error: {folder}/bin/python has no module pip; "
        f"remove {folder} (rm -rf {folder}) and try again"
    )


def test_environment_of_a_python_that_has_gone(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").symlink_to("/no/such/python3.9")
    got = make_venv(tmp_path)
    assert f"there is no {tmp_path}/bin/python;" in got
    assert f"remove {tmp_path} (rm -rf {tmp_path}) and try again" in got


def test_environment_of_an_old_python(tmp_path, program):
    (tmp_path / "bin").mkdir()
    program("bin/python", "echo 'Python 3.10 to 3.13 is needed' >&2; exit 1")
    got = make_venv(tmp_path)
    assert got.startswith("error: Python 3.10 to 3.13 is needed; remove ")


def test_python_that_is_not_there(tmp_path):
    got = make_venv(tmp_path / "venv", PYTHON="no_such_python")
    assert "no no_such_python; Python 3.10 to 3.13 is needed; PYTHON" in got
    assert not (tmp_path / "venv").exists()


def test_metadata_needs_no_compiler(tmp_path):
    command = [sys.executable, "setup.py", "--quiet", "egg_info"]
    got = complaint(
        *command, f"--egg-base={tmp_path}", CC="no_such_compiler", BAZEL="none"
    )
    assert got == ""
    (folder,) = tmp_path.iterdir()
    assert "Name: tf_blocksparse" in (folder / "PKG-INFO").read_text()
