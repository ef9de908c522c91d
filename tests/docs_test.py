# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What the README and docs/ say is so: code runs, commands and links exist."""

import pathlib
import re
import shlex

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
FILES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EVERY_FILE = pytest.mark.parametrize(
    "path", [*FILES, ROOT / "CHANGELOG.md"], ids=lambda path: path.name
)
LANGUAGES = {"python", "sh", "text", "cpp", "bazel"}


def blocks(path):
    """Yields (language, first line's number, text) of each fenced block."""
    fences = re.finditer(
        r"^```(\w*)\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL
    )
    for fence in fences:
        number = path.read_text().count("\n", 0, fence.start()) + 2
        yield fence[1], number, fence[2]


def prose(path):
    return re.sub(
        r"^```.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_python_blocks_run(path, tmp_path, monkeypatch):
    """Those of a file one after the other, as a reader would."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": path.name}
    for language, number, text in blocks(path):
        if language == "python":
            # Line numbers of a traceback are those of the file.
            code = compile("\n" * (number - 1) + text, path, "exec")
            exec(code, names)


def test_there_are_blocks_to_run():
    count = sum(b[0] == "python" for path in FILES for b in blocks(path))
    assert count >= 10


@EVERY_FILE
def test_blocks_name_their_language(path):
    for language, number, _ in blocks(path):
        assert language in LANGUAGES, f"{path.name}:{number}"


def check_make(words):
    targets = re.findall(
        r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    scripts = {
        "bench": "benchmarks/bench.py",
        "demo": "examples/char_lm.py",
    }
    for word in words:
        name, _, value = word.partition("=")
        if name != "ARGS":
            assert name in targets
        elif script := scripts.get(words[0]):
            text = (ROOT / script).read_text()
            for flag in shlex.split(value):
                flag = flag.lstrip("-").partition("=")
                if flag[0] == "flagfile":
                    assert (ROOT / flag[2]).is_file()
                else:
                    assert re.search(rf'DEFINE_\w+\(\s*"{flag[0]}"', text)


def check_bazel(words):
    assert words[0] in ("build", "test")
    for word in words[1:]:
        if word.startswith("//"):
            package, _, target = word[2:].partition(":")
            build = (ROOT / package / "BUILD").read_text()
            made = "room_tests(" in build and (
                target == "tests" or (ROOT / package / f"{target}.cc").is_file()
            )
            assert made or f'"{target}"' in build
        elif word.startswith("--config="):
            config = word.partition("=")[2]
            assert f"build:{config} " in (ROOT / ".bazelrc").read_text()
        else:
            assert word.startswith("--test_")


def check_python(words):
    if words[:2] == ["-m", "pytest"]:
        words = words[2:]
    assert words
    for word in words:
        assert word.startswith("-") or (ROOT / word).exists()


def check_installed_python(words):
    """A file, or `python -m` and a module of the package that has flags."""
    if words[0] != "-m":
        check_python(words)
        return
    program = ROOT / words[1].replace(".", "/") / "__main__.py"
    for word in words[2:]:
        flag = word.lstrip("-").partition("=")[0]
        assert re.search(rf'DEFINE_\w+\(\s*"{flag}"', program.read_text())


def check_pip(words):
    assert words in (["install", "."], ["install", ".[cpu]"])


def check_gcc(words):
    """Its options name what is installed; its sources are here."""
    sources = [word for word in words if word.endswith(".c")]
    assert sources
    for word in sources:
        assert (ROOT / word).is_file()


def check_script(path):
    """The flags are those that its usage tells."""

    def check(words):
        for word in words:
            flag = word.partition("=")[0]
            assert not word.startswith("--") or f"  {flag}" in path.read_text()

    return check


CHECKS = {
    "make": check_make,
    "bazel": check_bazel,
    "gcc": check_gcc,
    ".venv/bin/python": check_python,
    "pip": check_pip,
    "python": check_installed_python,
    **{
        f"tools/{path.name}": check_script(path)
        for path in (ROOT / "tools").glob("*.sh")
    },
}


@EVERY_FILE
def test_shell_blocks_hold_commands_that_exist(path):
    for language, number, text in blocks(path):
        if language != "sh":
            continue
        for line in text.replace("\\\n", "").splitlines():
            if re.match(r"[A-Z]+=\$\(", line):
                continue  # What a command prints; the next lines use it.
            words = shlex.split(line, comments=True)
            while words and re.match(r"[A-Z_]+=", words[0]):
                words.pop(0)
            if words:
                assert words[0] in CHECKS, f"{path.name}:{number}: {line}"
                CHECKS[words[0]](words[1:])


@EVERY_FILE
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
        if "://" in target:
            continue
        file, _, heading = target.partition("#")
        other = path.parent / file if file else path
        assert other.exists(), f"{path.name}: {target}"
        if heading:
            titles = re.findall(r"^#+ (.*)$", prose(other), re.MULTILINE)
            anchors = [
                re.sub(r"[^\w -]", "", t).lower().replace(" ", "-")
                for t in titles
            ]
            assert heading in anchors, f"{path.name}: {target}"


@EVERY_FILE
def test_names_are_in_the_files_they_are_said_to_be_in(path):
    """Rows of tables that begin "| `name` | [file](path) |"."""
    rows = re.findall(
        r"^\| `([^`]+)` \| \[[^]]*\]\(([^)]+)\) \|", prose(path), re.MULTILINE
    )
    if path.name == "design.md":
        assert len(rows) > 10
    for name, target in rows:
        name = re.split(r"::|\.", name.partition("(")[0])[-1]
        text = (path.parent / target).read_text()
        assert re.search(rf"\b{name}\b", text), f"{name} is not in {target}"


@EVERY_FILE
def test_lines_have_80_columns(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        long = len(line) > 80 and not line.startswith("|")
        assert not long or "](" in line, f"{path.name}:{number}"


@EVERY_FILE
def test_named_cpp_tests_exist(path):
    sources = "".join(p.read_text() for p in (ROOT / "cc").rglob("*_test.cc"))
    for suite, name in re.findall(r"`(\w+Test)\.(\w+)`", path.read_text()):
        assert re.search(rf"TEST(_P|_F)?\({suite},\s*{name}\)", sources), name
