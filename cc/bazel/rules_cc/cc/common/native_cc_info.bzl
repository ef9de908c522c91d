# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The provider that Bazel up to 7 has built in, under another name.

A file cannot give a name that is built in a value of the same name.
"""

NativeCcInfo = CcInfo  # buildifier: disable=native-cc-info
