# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""How CUDA sources are compiled, and what is asked of the outcome."""

load("@cuda//:config.bzl", "ARCHS", "NVCC", "VERSION")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

# Every GPU that there is code for, if it is asked for.
_ALL_ARCHS = ["75", "80", "86", "89", "90", "90a", "100", "120"]

_FLAGS = [
    "-std=c++17",
    "-O3",
    "-x=cu",
    "-I.",
    "--Werror=all-warnings",
    "-Xcompiler=-fPIC,-fvisibility=hidden",
    # Tells registers, shared memory and spills of each kernel.
    "-Xptxas=-v",
]

# Where there is code for compute capability 9.0 alone, its kernels are in the
# tables.
def _defines(archs):
    return ["-DTF_BLOCKSPARSE_SM90A"] if "90a" in archs else []

NvccInfo = provider(
    doc = "What nvcc has made of sources.",
    fields = {
        "archs": "the GPUs, as compute capabilities without the point",
        "logs": "a file of ptxas's words for each source",
    },
)

def _gencode(archs):
    flags = [
        "-gencode=arch=compute_%s,code=sm_%s" % (arch, arch)
        for arch in archs
    ]

    # PTX of the last one that later GPUs can run: not of sm_90a and its like.
    common = [arch for arch in archs if arch.isdigit()]
    if common:
        last = common[-1]
        flags.append("-gencode=arch=compute_%s,code=compute_%s" % (last, last))
    return flags

def _nvcc_objects_impl(ctx):
    headers = depset(transitive = [
        dep[CcInfo].compilation_context.headers
        for dep in ctx.attr.deps
    ])
    objects = []
    logs = []
    for src in ctx.files.srcs:
        base = "%s/%s" % (ctx.label.name, src.basename[:-len(".cu.cc")])
        made = ctx.actions.declare_file(base + ".pic.o")
        log = ctx.actions.declare_file(base + ".log")
        ctx.actions.run_shell(
            outputs = [made, log],
            inputs = depset([src], transitive = [headers]),
            command = "log=$1; shift; " +
                      "\"$@\" 2>$log || { cat $log >&2; exit 1; }",
            arguments = [log.path, NVCC] + _FLAGS +
                        _defines(ctx.attr.archs) +
                        _gencode(ctx.attr.archs) +
                        ["--compile", src.path, "--output-file=" + made.path],
            mnemonic = "Nvcc",
            progress_message = "Compiling %s" % src.short_path,
            use_default_shell_env = True,
        )
        objects.append(made)
        logs.append(log)
    return [
        DefaultInfo(files = depset(objects)),
        NvccInfo(archs = ctx.attr.archs, logs = logs),
    ]

_nvcc_objects = rule(
    implementation = _nvcc_objects_impl,
    attrs = {
        "archs": attr.string_list(mandatory = True),
        "deps": attr.label_list(providers = [CcInfo]),
        "srcs": attr.label_list(allow_files = [".cu.cc"]),
    },
    doc = "Compiles each source with nvcc: for GPUs, and for its host.",
)

def _ptxas_test_impl(ctx):
    program = ctx.actions.declare_file(ctx.label.name)
    info = ctx.attr.objects[NvccInfo]
    words = [ctx.file._program.short_path, ",".join(info.archs)]
    words += [file.short_path for file in info.logs]
    ctx.actions.write(
        output = program,
        content = "#!/usr/bin/env bash\nexec " + " ".join(words) + "\n",
        is_executable = True,
    )
    return [DefaultInfo(
        executable = program,
        runfiles = ctx.runfiles(files = info.logs + [ctx.file._program]),
    )]

_ptxas_test = rule(
    implementation = _ptxas_test_impl,
    attrs = {
        "objects": attr.label(mandatory = True, providers = [NvccInfo]),
        "_program": attr.label(
            allow_single_file = True,
            default = Label("//cc/bazel:ptxas_test.sh"),
        ),
    },
    doc = "Fails if a kernel keeps registers in memory, or there is none.",
    test = True,
)

def when_cuda(items):
    """The items where CUDA sources are compiled, else nothing."""
    return items if NVCC else []

# What the library is built with, in JSON.
BUILT_WITH = "\"cuda\": %s, \"cuda_archs\": %s" % (
    "\"%s\"" % VERSION if NVCC else "null",
    "[%s]" % ", ".join(["\"%s\"" % arch for arch in when_cuda(ARCHS)]),
)

def cuda_objects(name, srcs, deps, has_kernels = True, **kwargs):
    """Compiles CUDA sources for the GPUs asked for, with a test of each kernel.

    `<name>_all_archs` and its test are for every GPU there is code for; both
    are to be asked for by name. Where there is no nvcc, there is nothing.

    Args:
      name: of the objects.
      srcs: files `.cu.cc`.
      deps: libraries whose headers they include.
      has_kernels: False for sources that only speak to the driver: there is
        nothing to be tested then.
      **kwargs: as in every rule.
    """
    if not NVCC:
        return
    if not has_kernels:
        _nvcc_objects(
            name = name,
            srcs = srcs,
            archs = ARCHS,
            deps = deps,
            **kwargs
        )
        return
    for target, archs, tags in [
        (name, ARCHS, []),
        (name + "_all_archs", _ALL_ARCHS, ["manual"]),
    ]:
        _nvcc_objects(
            name = target,
            srcs = srcs,
            archs = archs,
            tags = tags,
            deps = deps,
            **kwargs
        )
        _ptxas_test(
            name = target + "_ptxas_test",
            size = "small",
            objects = ":" + target,
            tags = tags + [
                # A script.
                "no-emulator",
                # No sanitizer changes what runs on a GPU.
                "no-sanitizer",
            ],
        )
