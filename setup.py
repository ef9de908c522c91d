# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Builds the wheel: asks Bazel for the op library and packs it.

`pip install .` or, without TensorFlow, `pip install ".[cpu]"`.
"""

import os
import pathlib
import shutil
import subprocess
import sys

import setuptools
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "cc/bazel"))

import bazel_command  # noqa: E402
import tensorflow_wheel  # noqa: E402

BUILT = [
    "libtf_blocksparse.so",
    "libtf_blocksparse_xla.so",
    "built_for.json",
]


class Distribution(setuptools.Distribution):
    """One that holds machine code, though no extension of setuptools."""

    def has_ext_modules(self):
        return True


class BuildPy(build_py):
    """Adds what Bazel builds to the Python files."""

    def run(self):
        folder = ROOT / "tf_blocksparse"
        if not self.editable_mode:
            folder = pathlib.Path(self.build_lib) / "tf_blocksparse"
            # setuptools would pack what an earlier build has left there.
            shutil.rmtree(folder, ignore_errors=True)
        super().run()
        # An exit, not an exception: in editable mode setuptools makes a warning
        # of those, and pip would install a package without the libraries.
        try:
            _build_into(folder)
        except (OSError, bazel_command.CannotBuildError) as error:
            sys.exit(f"error: {error}")
        except subprocess.CalledProcessError as error:
            sys.exit(f"error: {error.cmd[0]} failed, see above")


class BdistWheel(bdist_wheel):
    """One wheel for every Python: the library does not link to it."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class Sdist(sdist):
    """Adds the sources of the op library."""

    def make_release_tree(self, base_dir, files):
        names = [".bazelignore", ".bazeliskrc", ".bazelrc", "BUILD"]
        names += ["MODULE.bazel", "WORKSPACE", "WORKSPACE.bzlmod"]
        names += (
            os.fspath(path.relative_to(ROOT))
            for path in sorted((ROOT / "cc").rglob("*"))
            if path.is_file() and path.suffix != ".pyc"
        )
        super().make_release_tree(base_dir, [*files, *names])


def _build_into(folder):
    bazel_command.check_system()
    bazel = bazel_command.find_bazel()
    command = [bazel, "build", *bazel_command.flags(bazel)]
    subprocess.run(
        [*command, *(f"//:{name}" for name in BUILT)],
        cwd=ROOT,
        env=bazel_command.environment(),
        check=True,
    )
    for name in BUILT:
        target = folder / name
        # Bazel's are read-only, and so would be a copy to copy over.
        target.unlink(missing_ok=True)
        shutil.copyfile(ROOT / ".bazel/bin/cc/tf" / name, target)


def _extras():
    found = tensorflow_wheel.find()
    minor = (
        ".".join(found[1].split(".")[:2])
        if found
        else tensorflow_wheel.DEFAULT_MINOR
    )
    return {
        "cpu": [tensorflow_wheel.requirement(minor)],
        "gpu": [tensorflow_wheel.requirement(minor, "tensorflow[and-cuda]")],
    }


def main():
    setuptools.setup(
        distclass=Distribution,
        cmdclass={
            "bdist_wheel": BdistWheel,
            "build_py": BuildPy,
            "sdist": Sdist,
        },
        extras_require=_extras(),
        # Not ./build: beside a file BUILD one would take it for Bazel's.
        options={"build": {"build_base": ".build"}},
    )


main()
