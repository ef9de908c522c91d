# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The same repositories for Bazels that read MODULE.bazel (7 and later)."""

load(
    "//cc/bazel:repositories.bzl",
    "cuda_repository",
    "googletest_repository",
    "tensorflow_repository",
)

def _installed_impl(_module_ctx):
    cuda_repository(name = "cuda")
    googletest_repository(name = "googletest")
    tensorflow_repository(name = "tensorflow")

installed = module_extension(implementation = _installed_impl)
