# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The C++ rules that Bazel up to 6 has built in, under their later address.

Newer Bazels fetch the real rules_cc (see MODULE.bazel); with this, an older one
needs no download. Debian's Bazel loads the names about toolchains.
"""

cc_binary = native.cc_binary
cc_import = native.cc_import
cc_library = native.cc_library
cc_proto_library = native.cc_proto_library
cc_test = native.cc_test
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
objc_library = native.objc_library
