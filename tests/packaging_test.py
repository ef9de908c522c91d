# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What leaves the house: the op library's symbols, and the wheel."""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import venv
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "cc/bazel"))

import tensorflow_wheel  # noqa: E402

PACKAGE = ROOT / "tf_blocksparse"
LIBRARY = PACKAGE / "libtf_blocksparse.so"

# Namespaces that TensorFlow's framework library or the C++ runtime defines.
CXX_SYMBOL = re.compile(
    r"""(?: (?: vtable | typeinfo | VTT ) [ ] for [ ] | guard variable [ ] for
        [ ] )?
    # A template's instance is written with the type it returns.
    (?: [\w:<>,*&() ]+ [ ] )?
    (?: tensorflow | tsl | absl(?:::lts_\d+)? | Eigen | google::protobuf
        | std | __cxxabiv1 | __gnu_cxx ) ::""",
    re.VERBOSE,
)
OPERATOR = re.compile(r"operator (new|delete)(\[\])?\(")
# What C defines carries the version of the library it is from.
C_SYMBOL = re.compile(r"\w+@(GLIBC|GCC|CXXABI|GLIBCXX)_[\d.]+$")
# Weak; of the compiler's start files.
START_FILES = {
    "_ITM_deregisterTMCloneTable",
    "_ITM_registerTMCloneTable",
    "__gmon_start__",
}


def run(*command, **kwargs):
    """Returns what the command prints; its complaints are in the failure."""
    done = subprocess.run(command, capture_output=True, text=True, **kwargs)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def symbols(which):
    lines = run("nm", "-D", "-C", which, LIBRARY).splitlines()
    return [line[16:].strip().split(" ", 1)[1] for line in lines]


def is_allowed(symbol):
    return (
        symbol in START_FILES
        or CXX_SYMBOL.match(symbol)
        or OPERATOR.match(symbol)
        or C_SYMBOL.match(symbol)
    )


def test_library_wants_nothing_but_tensorflow_and_the_runtime():
    undefined = symbols("--undefined-only")
    assert any("tensorflow::OpKernel" in symbol for symbol in undefined)
    assert [symbol for symbol in undefined if not is_allowed(symbol)] == []


XLA_LIBRARY = PACKAGE / "libtf_blocksparse_xla.so"


def test_xla_library_exports_nothing_and_searches_no_path():
    assert run("nm", "-D", "--defined-only", XLA_LIBRARY) == ""
    dynamic = run("readelf", "--dynamic", "--wide", XLA_LIBRARY)
    assert "[libtensorflow_cc.so.2]" in dynamic
    assert not re.search(r"\((RPATH|RUNPATH)\)", dynamic)
    assert bytes(ROOT) not in XLA_LIBRARY.read_bytes()


@pytest.mark.parametrize(
    "symbol", ["blocksparse::RunMatmul(int)", "cudaMalloc", "xla::Shape()"]
)
def test_allow_list_lets_no_other_symbol_pass(symbol):
    assert not is_allowed(symbol)


def test_library_exports_nothing():
    # Ops register themselves when the library is loaded; an exported copy of
    # an inline function could replace another library's.
    assert symbols("--defined-only") == []


def test_library_links_to_no_other_and_searches_no_path():
    dynamic = run("readelf", "--dynamic", "--wide", LIBRARY)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    assert set(needed) <= {
        "libtensorflow_framework.so.2",
        "libstdc++.so.6",
        "libm.so.6",
        "libgcc_s.so.1",
        "libpthread.so.0",
        "libc.so.6",
        # Whoever has variables of a thread, as CUDA's runtime in it does.
        "ld-linux-x86-64.so.2",
        "ld-linux-aarch64.so.1",
    }
    assert "libtensorflow_framework.so.2" in needed
    assert not re.search(r"\((RPATH|RUNPATH)\)", dynamic)
    assert bytes(ROOT) not in LIBRARY.read_bytes()


SHARED = "inline __attribute__((noinline)) int f(int i) { return i * i; }"
OWN = "template <class T> __attribute__((noinline)) T g(T i) { return i * i; }"


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("int h(int i) { return g(i); }", None),
        ("int h(int i) { return g(f(i)); }", " W f(int)"),
        ("int h(); int i = g(h());", "_GLOBAL__sub_I"),
        ("", "nothing of namespace avx2"),
    ],
)
def test_what_an_instruction_set_shares_is_found(tmp_path, source, complaint):
    # Bazel runs this program on the objects of each instruction set.
    program = ROOT / "cc/bazel/isa_symbols_test.sh"
    compiled = tmp_path / "some.o"
    (tmp_path / "some.cc").write_text(
        f"{SHARED} namespace blocksparse::avx2 {{ {OWN} {source} }}"
    )
    run("g++", "-std=c++17", "-O2", "-c", tmp_path / "some.cc", "-o", compiled)
    done = subprocess.run(
        [program, "avx2", compiled], capture_output=True, text=True
    )
    assert (done.returncode == 0) == (complaint is None)
    assert (complaint or "") in done.stderr


def test_built_for_says_this_tensorflow():
    import tensorflow as tf

    built_for = json.loads((PACKAGE / "built_for.json").read_text())
    assert built_for["tensorflow"] == tf.__version__
    assert set(built_for) == {"cuda", "cuda_archs", "tensorflow"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """One that was tried in an environment which has nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    script = ROOT / "tools/build_wheel.sh"
    run(script, f"--python={sys.executable}", f"--output={folder}")
    (path,) = folder.iterdir()
    return path


@pytest.mark.slow
def test_wheel_is_for_every_python_and_holds_the_library(wheel):
    assert re.fullmatch(
        r"tf_blocksparse-[\d.]+-py3-none-manylinux_2_\d+_\w+\.whl", wheel.name
    )
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(
            next(name for name in names if name.endswith("/METADATA"))
        ).decode()
    assert "tf_blocksparse/libtf_blocksparse.so" in names
    assert "tf_blocksparse/built_for.json" in names
    # No library of TensorFlow's or of the system's is copied into it.
    libraries = {name for name in names if ".so" in name}
    built = {f"tf_blocksparse/{path.name}" for path in PACKAGE.glob("*.so")}
    assert libraries == built
    sources = {
        path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("*.py")
    }
    assert {name for name in names if name.endswith(".py")} == sources
    version = json.loads((PACKAGE / "built_for.json").read_text())["tensorflow"]
    minor = ".".join(version.split(".")[:2])
    for requirement in [
        f'tensorflow-cpu=={minor}.*; extra == "cpu"',
        f'tensorflow[and-cuda]=={minor}.*; extra == "gpu"',
    ]:
        assert f"Requires-Dist: {requirement}" in metadata
    assert not re.search(r"Requires-Dist: tensorflow[^;]*$", metadata)


BUILD = """
import sys
sys.path.insert(0, "cc/bazel")
import pep517_backend
getattr(pep517_backend, sys.argv[1])(sys.argv[2])
"""


@pytest.mark.parametrize("kind", ["wheel", "editable"])
def test_build_that_fails_makes_no_wheel(tmp_path, kind):
    bazel = tmp_path / "bazel"
    bazel.write_text('#!/bin/sh\n[ "$1" = --version ] && echo bazel 7.0.0\n')
    bazel.chmod(0o755)
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", BUILD, f"build_{kind}", wheels],
        cwd=ROOT,
        env={**os.environ, "BAZEL": str(bazel)},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert done.stderr.endswith(f"error: {bazel} failed, see above\n")
    assert list(wheels.glob("*.whl")) == []


BACKEND = """
import sys
sys.path[:0] = ["cc/bazel", *sys.argv[1:]]
import pep517_backend
print(*pep517_backend.get_requires_for_build_wheel())
"""


def test_build_asks_for_tensorflow_only_where_there_is_none(tmp_path):
    # An environment that has nothing, and the setuptools of this one.
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    spec = importlib.util.find_spec("setuptools")
    folder = pathlib.Path(spec.origin).parents[1]
    for path in [*folder.glob("setuptools*"), folder / "_distutils_hack"]:
        (tmp_path / path.name).symlink_to(path)
    required = []
    for python in (tmp_path / "venv/bin/python", sys.executable):
        done = run(python, "-c", BACKEND, tmp_path, cwd=ROOT)
        required.append([w for w in done.split() if "tensorflow" in w])
    assert required == [[tensorflow_wheel.requirement()], []]
