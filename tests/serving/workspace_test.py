# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The ops in somebody else's Bazel workspace, by the lines of the docs.

It has TensorFlow as @org_tensorflow, as TensorFlow Serving does; here it is the
installed one behind Serving's labels.
"""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from exported_models import export, tensor_names

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = ["libtensorflow_cc.so.2", "libtensorflow_framework.so.2"]

sys.path.insert(0, str(ROOT / "cc/bazel"))

import bazel_command  # noqa: E402

# Serving has these already.
BEFORE = """
local_repository(name = "rules_cc", path = "{root}/cc/bazel/rules_cc")
local_repository(name = "org_tensorflow", path = "org_tensorflow")
"""

CORE = """
cc_library(
    name = "framework",
    hdrs = glob(["include/%s/**" % name for name in [
        "Eigen", "absl", "google", "ml_dtypes", "tensorflow/c",
        "tensorflow/core", "third_party", "tsl", "unsupported", "xla",
    ]]),
    defines = ["EIGEN_MAX_ALIGN_BYTES=64", "_GLIBCXX_USE_CXX11_ABI=1"],
    includes = ["include"],
    visibility = ["//visibility:public"],
)
cc_library(
    name = "lib",
    visibility = ["//visibility:public"],
    deps = [":framework"],
)
exports_files(glob(["*.so.2"]))
"""

BINARY = """
LIBRARIES = ["@org_tensorflow//tensorflow/core:" + name for name in {names}]
cc_binary(
    name = "run_saved_model",
    srcs = ["run_saved_model.c"],
    additional_linker_inputs = LIBRARIES,
    linkopts = ["$(location %s)" % library for library in LIBRARIES],
    deps = ["@org_tensorflow//tensorflow/core:framework"] +
           SUPPORTED_TENSORFLOW_OPS,
)
"""


@pytest.fixture(scope="module")
def bazel(tmp_path_factory):
    """Runs Bazel in such a workspace; returns the folder of what it builds."""
    folder = tmp_path_factory.mktemp("workspace")
    text = (ROOT / "docs/serving.md").read_text()
    repositories, ops = re.findall(
        r"^```bazel\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
    )
    repositories = repositories.replace("/path/to/tf_blocksparse", str(ROOT))
    before = BEFORE.format(root=ROOT)
    (folder / "WORKSPACE").write_text(before + repositories)
    (folder / "BUILD").write_text(ops + BINARY.format(names=LIBRARIES))
    (folder / "run_saved_model.c").symlink_to(
        ROOT / "examples/serving/run_saved_model.c"
    )
    core = folder / "org_tensorflow/tensorflow/core"
    core.mkdir(parents=True)
    (folder / "org_tensorflow/WORKSPACE").touch()
    (core / "BUILD").write_text(CORE)
    tensorflow = pathlib.Path(tf.sysconfig.get_lib())
    for name in ["include", *LIBRARIES]:
        (core / name).symlink_to(tensorflow / name)

    program = bazel_command.find_bazel()
    flags = [
        flag
        for flag in bazel_command.flags(program)
        if not flag.startswith("--repo_env=")
    ]

    def run(*command):
        done = subprocess.run(
            [program, *command], cwd=folder, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

    def build(*arguments):
        run(
            "build", "-c", "opt", "--cxxopt=-std=c++17", *flags,
            "--repo_env=TF_BLOCKSPARSE_CUDA=0",
            # Whether it works is asked, not how fast: less to optimize.
            "--per_file_copt=tf_blocksparse/cc/@-O1", *arguments,
            "//:run_saved_model",
        )  # fmt: skip
        return folder / "bazel-bin"

    yield build
    # The next run has another folder, and would not find what is kept.
    run("clean", "--expunge")


@pytest.mark.slow
def test_every_target_of_the_library_is_found(bazel):
    bazel("--nobuild")


@pytest.mark.complete
def test_server_has_the_ops(bazel, tmp_path):
    program = bazel() / "run_saved_model"
    model, (x, *_) = export("dense", tmp_path / "exported")
    shape = ",".join(map(str, x.shape))
    done = subprocess.run(
        [program, tmp_path / "exported", *tensor_names(tmp_path / "exported"),
         shape],
        input=x.tobytes(),
        capture_output=True,
        env={**os.environ, "LD_LIBRARY_PATH": tf.sysconfig.get_lib()},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    y = np.frombuffer(done.stdout, np.float32)
    np.testing.assert_allclose(y, np.ravel(model(x)), rtol=1e-5, atol=1e-5)
