# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The rules that hold for every source file, and who may know whom."""

import ast
import functools
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ["tf_blocksparse", "cc", "tests", "benchmarks", "examples", "tools"]
LICENCE = (
    "Copyright 2026 The tf_blocksparse Authors. "
    "SPDX-License-Identifier: Apache-2.0"
)
COMMENT = {
    ".c": "// ",
    ".cc": "// ",
    ".h": "// ",
    ".inc": "// ",
    ".lds": "/* ",
}


def sources(*suffixes):
    """Every source file with one of the suffixes; all without one given."""
    paths = [ROOT / "setup.py"]
    for folder in FOLDERS:
        paths += sorted((ROOT / folder).rglob("*"))
    known = (".bzl", ".c", ".cc", ".h", ".inc", ".lds", ".py", ".sh", ".BUILD")
    return [
        path
        for path in paths
        if path.is_file()
        and path.name.endswith(suffixes or (*known, "BUILD", "WORKSPACE"))
    ]


def complaints(paths, check):
    """Lines "file: what" for every thing that check yields of a file."""
    return [
        f"{path.relative_to(ROOT)}: {what}"
        for path in paths
        for what in check(path)
    ]


def test_sources_are_found():
    # The other tests pass on an empty list.
    assert len(sources(".py")) > 10
    assert len(sources(".cc", ".h")) > 10


def test_every_file_starts_with_its_licence():
    def check(path):
        lines = path.read_text().splitlines()
        first = lines[1 if lines and lines[0].startswith("#!") else 0 :][:1]
        start = COMMENT.get(path.suffix, "# ") + LICENCE
        if not (first and first[0].startswith(start)):
            yield "does not start with the licence line"

    assert complaints(sources(), check) == []


def test_lines_have_80_columns():
    def check(path):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if len(line) > 80 and LICENCE not in line and "://" not in line:
                yield f"line {number} has {len(line)} columns"

    assert complaints(sources(), check) == []


def test_one_word_for_one_thing():
    # Names that older libraries of this kind use for layout, block_size,
    # inputs and outputs.
    words = re.compile(r"\b(lut|bsize|CB|KB|updat|xprop)\b")

    def check(path):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for word in words.findall(line):
                yield f"line {number} says {word}"

    paths = [path for path in sources() if path.name != "source_test.py"]
    assert complaints(paths, check) == []


# What a room of the C++ sources may include from others, as DESIGN has it.
ROOMS = {
    "cc/base": [],
    "cc/layout": ["cc/base"],
    "cc/kernels/reference": ["cc/base", "cc/layout", "cc/kernels"],
    "cc/kernels/cpu": ["cc/base", "cc/layout", "cc/kernels"],
    "cc/kernels/cuda": ["cc/base", "cc/layout", "cc/kernels"],
    "cc/kernels": ["cc/base", "cc/layout"],
    "cc/tf": [
        "cc/base",
        "cc/layout",
        "cc/kernels",
        "cc/kernels/cpu",
        "cc/kernels/cuda",
    ],
    # What tests share, and nobody else knows.
    "cc/testing": [
        "cc/base",
        "cc/layout",
        "cc/kernels",
        "cc/kernels/reference",
    ],
    "cc/fuzz": [
        "cc/base",
        "cc/layout",
        "cc/kernels",
        "cc/kernels/cpu",
        "cc/kernels/reference",
        "cc/testing",
    ],
    "cc/benchmarks": ["cc/base"],
    # What a GPU is checked by.
    "cc/gpu_check": [
        "cc/base",
        "cc/layout",
        "cc/kernels",
        "cc/kernels/cuda",
        "cc/testing",
    ],
}
TENSORFLOW = ("tensorflow/", "tsl/", "xla/", "absl/", "Eigen/", "unsupported/")


def room(name):
    """The innermost room that a file is in, or None."""
    found = [r for r in ROOMS if name.startswith(r + "/")]
    return max(found, key=len, default=None)


def test_arrows_of_the_rooms_go_down():
    def check(path):
        own = room(path.relative_to(ROOT).as_posix())
        if own is None:
            yield "lies in no room"
            return
        if path.name.endswith("_test.cc"):
            return
        for name in re.findall(
            r'^ *# *include ["<](.*?)[">]', path.read_text(), re.MULTILINE
        ):
            other = room(name)
            if other and other != own and other not in ROOMS[own]:
                yield f"{own} must not know {name}"

    assert complaints(sources(".cc", ".h", ".inc"), check) == []


def test_only_the_op_folder_knows_tensorflow():
    def check(path):
        if "cc/tf" in path.as_posix():
            return
        for name in re.findall(
            r'^ *# *include ["<](.*?)[">]', path.read_text(), re.MULTILINE
        ):
            if name.startswith(TENSORFLOW):
                yield f"includes {name}"

    assert complaints(sources(".cc", ".h", ".inc"), check) == []


@functools.cache
def parsed(path):
    return ast.parse(path.read_text())


def imported(path, for_types=True):
    """Yields (module, what) of every import of a file.

    Without `for_types`, not of those that only a type checker sees.
    """
    tree = parsed(path)
    unseen = set()
    if not for_types:
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(
                node.test
            ):
                unseen |= {id(inner) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in unseen:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield f"{'.' * node.level}{node.module or ''}.{alias.name}"


# Which part of the Python package may import which others.
NUMPY_ONLY = {
    "_arguments": [],
    "_packed": ["_arguments"],
    "patterns": ["_arguments"],
    "_layout_config": ["_arguments"],
    "_layout_pattern": ["_arguments", "patterns"],
    "_layout_picture": [],
    "_layout_scipy": ["_arguments", "_packed"],
    "_layout_shards": ["_arguments", "_packed"],
    "_layout_values": ["_arguments", "_packed"],
    "_layout_makers": [
        "_arguments",
        "_packed",
        "patterns",
        "_layout_config",
        "_layout_pattern",
        "_layout_scipy",
        "_layout_shards",
        "_layout_values",
    ],
    "layout": [
        "_arguments",
        "_packed",
        "_layout_config",
        "_layout_makers",
        "_layout_picture",
        "_layout_scipy",
        "_layout_shards",
        "_layout_values",
    ],
}
LIBRARY = ["ops", "layout", "_arguments", "_packed"]
PARTS = {
    **NUMPY_ONLY,
    "schedules": ["_arguments"],
    "ops": ["layout", "_arguments", "_packed"],
    "initializers": LIBRARY,
    "regularizers": LIBRARY,
    "layers": [*LIBRARY, "initializers", "patterns"],
    "optimizers": ["ops"],
    "_optimizer_slots": [],
    "conversion": [*LIBRARY, "layers", "patterns", "_optimizer_slots"],
    "inspection": [*LIBRARY, "layers"],
    "callbacks": [
        *LIBRARY,
        "layers",
        "patterns",
        "regularizers",
        "schedules",
        "conversion",
        "inspection",
        "_optimizer_slots",
    ],
    "advise": [*LIBRARY],
    "reference": ["ops", "layout", "_packed"],
    "testing": ["reference", "layout"],
    "__init__": [
        "callbacks",
        "conversion",
        "initializers",
        "inspection",
        "layers",
        "layout",
        "ops",
        "optimizers",
        "patterns",
        "regularizers",
        "schedules",
    ],
}


def part(path):
    return path.relative_to(ROOT / "tf_blocksparse").parts[0].split(".")[0]


def package():
    return sorted((ROOT / "tf_blocksparse").rglob("*.py"))


def upward(own, names):
    """Yields those of the imported names that a part must not know."""
    for name in names:
        other = re.match(r"tf_blocksparse(?:\.(\w+))?", name)
        if name.startswith(".") or (
            other and other[1] not in (own, *PARTS[own])
        ):
            yield f"imports {name}"


def test_every_part_of_the_package_is_known():
    # The other way round, a part that is gone would stay in the table.
    assert {part(path) for path in package()} == set(PARTS)


def test_parts_of_the_package_import_downwards():
    def check(path):
        yield from upward(part(path), imported(path, for_types=False))

    assert complaints(package(), check) == []


@pytest.mark.parametrize(
    ("own", "name"),
    [
        ("layout", "tf_blocksparse.ops"),
        ("ops", "tf_blocksparse.layers.BlockSparseDense"),
        ("ops", "tf_blocksparse.reference.matmul"),
        ("layers", "tf_blocksparse.testing"),
        ("reference", "tf_blocksparse.layers"),
        ("testing", "tf_blocksparse.ops"),
        ("_packed", "tf_blocksparse.layout.BlockLayout"),
        ("__init__", "tf_blocksparse.reference"),
        ("layers", "tf_blocksparse"),
        ("ops", "..layout.BlockLayout"),
    ],
)
def test_an_import_upwards_is_found(own, name):
    assert list(upward(own, [name])) == [f"imports {name}"]


def test_layouts_know_no_tensorflow():
    def check(path):
        for name in imported(path):
            if re.match(r"tensorflow|keras|tf_blocksparse\.ops", name):
                yield f"imports {name}"

    paths = [path for path in package() if part(path) in NUMPY_ONLY]
    assert {part(path) for path in paths} == set(NUMPY_ONLY)
    assert complaints(paths, check) == []


@pytest.mark.parametrize(
    "private", ["tensorflow.python", "keras.src", "tensorflow.core"]
)
def test_only_public_apis_are_used(private):
    def check(path):
        for name in imported(path):
            if f"{name}.".startswith(f"{private}."):
                yield f"imports {name}"

    assert complaints(sources(".py"), check) == []


def test_the_package_has_no_asserts():
    # They are gone under python -O; users get a ValueError.
    def check(path):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Assert):
                yield f"line {node.lineno} asserts"

    assert complaints(package(), check) == []
