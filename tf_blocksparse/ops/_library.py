# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Loads the libraries of ops, after checking that they can work here.

A library built for another TensorFlow fails with an undefined C++ symbol, and
Keras with another backend somewhere inside of a layer. Each such case is one
readable line here instead.
"""

import importlib
import json
import os
import pathlib
import platform
import sys
from typing import Any

_FOLDER = pathlib.Path(__file__).resolve().parent.parent
_LIBRARY = _FOLDER / "libtf_blocksparse.so"
_XLA_LIBRARY = _FOLDER / "libtf_blocksparse_xla.so"
_BUILT_FOR = _FOLDER / "built_for.json"


def library_path() -> str:
    """The path of the library of ops, for programs without this package.

    `tf.load_op_library(path)`, or `TF_LoadLibrary` of the C API, is all that
    a program needs to load and run an exported SavedModel.

    >>> import os
    >>> os.path.basename(library_path())
    'libtf_blocksparse.so'
    """
    return str(_LIBRARY)


def xla_library_path() -> str:
    """The path of the library that XLA needs to compile the ops.

    Importing `tf_blocksparse` loads it. A program without this package, which
    runs a model with `jit_compile=True` inside, calls `tf.load_library(path)`
    after it has loaded `library_path()`. It needs `libtensorflow_cc.so.2`,
    which every wheel of TensorFlow has.

    >>> import os
    >>> os.path.basename(xla_library_path())
    'libtf_blocksparse_xla.so'
    """
    return str(_XLA_LIBRARY)


def build_info() -> dict[str, Any]:
    """What the library of ops was built with.

    Returns:
      A dict with `tensorflow`, the version it was built for; `cuda`, the
      version of the CUDA toolkit, or None if it has no kernels for GPUs; and
      `cuda_archs`, the compute capabilities that these were compiled for, such
      as `["80", "90a"]`.

    >>> sorted(build_info())
    ['cuda', 'cuda_archs', 'tensorflow']
    """
    info = json.loads(_BUILT_FOR.read_text(encoding="utf-8"))
    return {"cuda": None, "cuda_archs": [], **info}


def _check_built() -> str:
    """The minor of TensorFlow that the library is built for."""
    if not sys.platform.startswith("linux"):
        raise ImportError(
            f"tf_blocksparse: got platform {sys.platform}, expected linux; "
            "use a Linux machine, container or WSL"
        )
    if not (_LIBRARY.is_file() and _BUILT_FOR.is_file()):
        # A source tree in the current folder hides an installed package.
        advice = (
            "run `make build` there, or, if tf_blocksparse is installed, start "
            "Python in another folder"
            if (_FOLDER.parent / "setup.py").is_file()
            else "install tf_blocksparse again"
        )
        raise ImportError(
            f"tf_blocksparse: no library in {_FOLDER}, expected "
            f"{_LIBRARY.name} built; {advice}"
        )
    return _minor(build_info()["tensorflow"])


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _install(minor: str) -> str:
    # Wheels of tensorflow-cpu are for x86-64 only.
    x86 = platform.machine() == "x86_64"
    package = "tensorflow-cpu" if x86 else "tensorflow"
    return (
        f'run `pip install "{package}=={minor}.*"`, or with a GPU '
        f'`pip install "tensorflow[and-cuda]=={minor}.*"`'
    )


def _import_tensorflow(built_for: str) -> Any:
    try:
        tensorflow = importlib.import_module("tensorflow")
    except ModuleNotFoundError as error:
        if error.name != "tensorflow":
            raise
        raise ImportError(
            f"tf_blocksparse: no TensorFlow, expected {built_for}; "
            f"{_install(built_for)}"
        ) from None
    # What an uninstalled TensorFlow leaves behind imports, too: as nothing.
    found = getattr(tensorflow, "__version__", None)
    if found is None:
        raise ImportError(
            "tf_blocksparse: got a TensorFlow without a version, half "
            f"uninstalled, expected {built_for}; remove tensorflow and "
            f"tensorflow-cpu with pip, then {_install(built_for)}"
        )
    if _minor(found) != built_for:
        raise ImportError(
            f"tf_blocksparse: built for TensorFlow {built_for}, found {found}; "
            f"{_install(built_for)}, or build tf_blocksparse again"
        )
    return tensorflow


def _check_keras_backend() -> None:
    # Importing Keras for a backend that isn't installed fails, so the variable
    # is asked first; a Keras that is there already has the last word.
    keras = sys.modules.get("keras")
    backend = os.environ.get("KERAS_BACKEND") if keras is None else None
    if backend in (None, "tensorflow"):
        backend = importlib.import_module("keras").config.backend()
    if backend != "tensorflow":
        raise ImportError(
            f"tf_blocksparse: got the Keras backend {backend}, expected "
            "tensorflow; set KERAS_BACKEND=tensorflow before importing keras"
        )


def _load() -> Any:
    built_for = _check_built()
    tensorflow = _import_tensorflow(built_for)
    _check_keras_backend()
    return tensorflow.load_op_library(library_path())


def _load_xla() -> bool:
    """Whether XLA can compile the ops, now that its library is loaded."""
    tensorflow = importlib.import_module("tensorflow")
    if not _XLA_LIBRARY.is_file():
        return False
    try:
        tensorflow.load_library(xla_library_path())
    except tensorflow.errors.NotFoundError as error:
        # A TensorFlow without XLA runs the ops all the same.
        if "libtensorflow_cc" in str(error):
            return False
        raise
    return True


# The module of generated ops, as TensorFlow makes it.
library = _load()
HAS_XLA = _load_xla()
