# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Repositories that only point at what is installed; nothing is downloaded."""

def _tensorflow_repository_impl(repository_ctx):
    python = repository_ctx.os.environ.get("PYTHON_BIN_PATH", "python3")
    if "/" not in python:
        python = repository_ctx.which(python)
    finder = repository_ctx.path(Label("//cc/bazel:tensorflow_wheel.py"))
    result = repository_ctx.execute([python, finder])
    if result.return_code != 0:
        fail(result.stderr.strip())

    # Two keys with plain strings: no need of a JSON parser, which Bazel 4.2.3
    # has not under the name that later ones have.
    words = result.stdout.split("\"")
    folder = repository_ctx.path(words[words.index("folder") + 2])
    version = words[words.index("version") + 2]

    repository_ctx.symlink(folder.get_child("include"), "include")
    library = "libtensorflow_framework.so.2"
    repository_ctx.symlink(folder.get_child(library), library)
    repository_ctx.symlink(Label("//cc/bazel:tensorflow.BUILD"), "BUILD")
    repository_ctx.file(
        "built_for.json",
        "{\"tensorflow\": \"%s\"}\n" % version,
        executable = False,
    )

tensorflow_repository = repository_rule(
    implementation = _tensorflow_repository_impl,
    configure = True,
    doc = """The installed TensorFlow of the Python in PYTHON_BIN_PATH.

TENSORFLOW_FOLDER and TENSORFLOW_VERSION are not read: they are here so that a
move or an upgrade of the wheel, of
which Bazel learns nothing, looks again.""",
    environ = [
        "PYTHON_BIN_PATH",
        "TENSORFLOW_FOLDER",
        "TENSORFLOW_VERSION",
    ],
    local = True,
)

def _googletest_repository_impl(repository_ctx):
    sources = repository_ctx.path(repository_ctx.os.environ.get(
        "GOOGLETEST_SOURCES",
        "/usr/src/googletest",
    ))
    if not sources.exists:
        fail(("no GoogleTest sources in %s: install Debian's package " +
              "googletest or set GOOGLETEST_SOURCES") % sources)
    for name in ["googlemock", "googletest"]:
        repository_ctx.symlink(sources.get_child(name), name)
    repository_ctx.symlink(Label("//cc/bazel:googletest.BUILD"), "BUILD")

googletest_repository = repository_rule(
    implementation = _googletest_repository_impl,
    doc = "GoogleTest as Debian and Ubuntu install it: as sources.",
    environ = ["GOOGLETEST_SOURCES"],
    local = True,
)
