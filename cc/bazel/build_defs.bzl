# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""How the C++ of this library is compiled: flags, and one macro per kind."""

load("@rules_cc//cc:defs.bzl", "cc_library", "cc_test")
load("//cc/bazel:isa_symbols_test.bzl", "isa_symbols_test")

COPTS = [
    # Only what TensorFlow calls by address leaves the library.
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
]

# What a kernel file of one instruction set is compiled with, on top of COPTS.
# A sum may be reassociated by the author of a kernel, never by the compiler
# (no -ffast-math): results are promised bit for bit.
_KERNEL_COPTS = [
    "-O3",
    "-ffp-contract=fast",
    "-fno-math-errno",
    # Vectors wider than the target's registers are passed between functions
    # of one file only, so their calling convention does not matter.
    "-Wno-psabi",
    # Of the next, Clang; GCC lets unknown ones pass that turn a warning off.
    "-Wno-unknown-warning-option",
    # GCC 12 finds one in its own header of AVX-512 intrinsics.
    "-Wno-maybe-uninitialized",
]

ISA_COPTS = {
    "portable": _KERNEL_COPTS,
    # Every processor of aarch64 has it.
    "neon": _KERNEL_COPTS,
    "avx2": _KERNEL_COPTS + [
        "-mavx2",
        "-mf16c",
        "-mfma",
    ],
    "avx512": _KERNEL_COPTS + [
        "-mavx512bw",
        "-mavx512dq",
        "-mavx512f",
        "-mavx512vl",
        "-mf16c",
        "-mfma",
        # GCC would otherwise use half of each register.
        "-mprefer-vector-width=512",
        # GCC 12 takes its own intrinsics' undefined operands for ours (its
        # bug 105593).
        "-Wno-maybe-uninitialized",
        "-Wno-uninitialized",
    ],
}

# The processors an instruction set is compiled for; portable for all.
_ISA_CPU = {
    "avx2": "@platforms//cpu:x86_64",
    "avx512": "@platforms//cpu:x86_64",
    "neon": "@platforms//cpu:aarch64",
}

def isa_kernels(name, hdrs, deps):
    """Compiles every *_<isa>.cc of this folder with the flags of its ISA.

    Only those for the processor that the build is for. A test of each looks at
    what its objects export.

    Args:
      name: of the library that holds them all.
      hdrs: the templates and tables they include.
      deps: of each of them.
    """
    for isa, isa_copts in ISA_COPTS.items():
        srcs = native.glob(["*_%s.cc" % isa])
        cpu = _ISA_CPU.get(isa)
        cc_library(
            name = "%s_%s" % (name, isa),
            srcs = srcs if cpu == None else select({
                cpu: srcs,
                "//conditions:default": [],
            }),
            copts = COPTS + isa_copts,
            linkstatic = True,
            textual_hdrs = hdrs,
            visibility = ["//visibility:private"],
            deps = deps,
        )
        isa_symbols_test(
            name = "%s_%s_symbols_test" % (name, isa),
            size = "small",
            compiled = True if cpu == None else select({
                cpu: True,
                "//conditions:default": False,
            }),
            isa = isa,
            kernels = ":%s_%s" % (name, isa),
            tags = [
                # A script.
                "no-emulator",
                # A sanitizer adds initializers, and less is inlined.
                "no-sanitizer",
            ],
        )
    cc_library(
        name = name,
        visibility = ["//visibility:private"],
        deps = [":%s_%s" % (name, isa) for isa in ISA_COPTS],
    )

def room_tests(deps, size = "small", **kwargs):
    """One test of each *_test.cc of this folder, and the suite :tests of all.

    Args:
      deps: what the tests use; GoogleTest is added.
      size: of each test.
      **kwargs: as in cc_test.
    """
    for src in native.glob(["*_test.cc"], allow_empty = True):
        cc_test(
            name = src[:-len(".cc")],
            size = size,
            srcs = [src],
            copts = COPTS,
            # Hidden symbols are not to be had from a shared library.
            linkstatic = True,
            deps = deps + ["@googletest//:gtest_main"],
            **kwargs
        )
    native.test_suite(
        name = "tests",
        visibility = ["//:__pkg__"],
    )
