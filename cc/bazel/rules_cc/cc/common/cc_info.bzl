# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The provider of C++ rules, under its later address."""

load(":native_cc_info.bzl", "NativeCcInfo")

CcInfo = NativeCcInfo
