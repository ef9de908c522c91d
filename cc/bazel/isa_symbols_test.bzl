# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The test of which functions the objects of an instruction set export."""

def _isa_symbols_test_impl(ctx):
    program = ctx.actions.declare_file(ctx.label.name)
    words = ["exec", ctx.file._program.short_path, ctx.attr.isa]
    words += [file.short_path for file in ctx.files.kernels]
    if not ctx.attr.compiled:
        words = ["true"]
    ctx.actions.write(
        output = program,
        content = "#!/usr/bin/env bash\n" + " ".join(words) + "\n",
        is_executable = True,
    )
    files = ctx.files.kernels + [ctx.file._program]
    return [DefaultInfo(
        executable = program,
        runfiles = ctx.runfiles(files = files),
    )]

# A rule of its own: newer Bazels have no sh_test without a download.
isa_symbols_test = rule(
    implementation = _isa_symbols_test_impl,
    attrs = {
        "compiled": attr.bool(mandatory = True),
        "isa": attr.string(mandatory = True),
        "kernels": attr.label(mandatory = True),
        "_program": attr.label(
            allow_single_file = True,
            default = Label("//cc/bazel:isa_symbols_test.sh"),
        ),
    },
    doc = "Fails if the library `kernels` exports a function that is not " +
          "of the namespace `isa`, or runs code when it is loaded. Nothing " +
          "is asked of what is not `compiled` for this processor.",
    test = True,
)
