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
    for library in ["libtensorflow_cc.so.2", "libtensorflow_framework.so.2"]:
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

# Compiled for this one alone, code still runs on later GPUs, from its PTX.
_DEFAULT_ARCHS = "80"

_PROBE = "#include <string>\n__global__ void Probe() {}\n"

def _find_nvcc(repository_ctx):
    environ = repository_ctx.os.environ
    for folder in [environ.get("CUDA_HOME"), environ.get("CUDA_PATH")]:
        if folder:
            return repository_ctx.path(folder + "/bin/nvcc")
    usual = repository_ctx.path("/usr/local/cuda/bin/nvcc")
    return repository_ctx.which("nvcc") or usual

# Where the toolkit of an nvcc has libcudart_static.a, which nvcc links itself.
def _find_cudart(repository_ctx, nvcc):
    result = repository_ctx.execute([nvcc, "--dryrun", "--compile", "probe.cu"])
    for line in result.stderr.split("\n"):
        if line.startswith("#$ TOP="):
            top = repository_ctx.path(line[len("#$ TOP="):].strip())
            for folder in ["lib64", "lib"]:
                found = top.get_child(folder).get_child("libcudart_static.a")
                if found.exists:
                    return found
    return None

# "13.0" of "Cuda compilation tools, release 13.0, V13.0.88".
def _cuda_version(repository_ctx, nvcc):
    words = repository_ctx.execute([nvcc, "--version"]).stdout.split(" ")
    return words[words.index("release") + 1].rstrip(",")

def _parse_archs(text):
    archs = text.replace(",", " ").replace(";", " ").split(" ")
    archs = [arch for arch in archs if arch]
    for arch in archs:
        if not arch.rstrip("af").isdigit():
            fail(("TF_BLOCKSPARSE_CUDA_ARCHS has '%s', expected compute " +
                  "capabilities without the point, such as '80 90a'") % arch)
    if not archs:
        fail("TF_BLOCKSPARSE_CUDA_ARCHS is empty: unset it, or name some")
    return archs

# What keeps nvcc from compiling, or None. A compiler of C++ that it does not
# know would fail only later, in the midst of a build.
def _nvcc_complaint(repository_ctx, nvcc, arch):
    if not nvcc.exists:
        return ("no nvcc in PATH, $CUDA_HOME/bin or /usr/local/cuda/bin: " +
                "install the CUDA toolkit or set CUDA_HOME to it")
    repository_ctx.file("probe.cu", _PROBE, executable = False)
    result = repository_ctx.execute([
        nvcc,
        "-std=c++17",
        "-arch=sm_" + arch,
        "--compile",
        "--output-file=probe.o",
        "probe.cu",
    ])
    if result.return_code != 0:
        return "%s does not compile for sm_%s: %s" % (
            nvcc,
            arch,
            result.stderr.strip(),
        )
    if _find_cudart(repository_ctx, nvcc) == None:
        return "there is no libcudart_static.a beside %s" % nvcc
    return None

def _cuda_repository_impl(repository_ctx):
    environ = repository_ctx.os.environ
    wanted = environ.get("TF_BLOCKSPARSE_CUDA") or "auto"
    if wanted not in ["0", "1", "auto"]:
        fail("TF_BLOCKSPARSE_CUDA is '%s', expected 0, 1 or auto" % wanted)
    archs = _parse_archs(
        environ.get("TF_BLOCKSPARSE_CUDA_ARCHS") or _DEFAULT_ARCHS,
    )
    nvcc = ""
    if wanted != "0":
        nvcc = _find_nvcc(repository_ctx)
        complaint = _nvcc_complaint(repository_ctx, nvcc, archs[0])
        if complaint and wanted == "1":
            fail("TF_BLOCKSPARSE_CUDA is 1, but " + complaint)
        if complaint:
            nvcc = ""
    version = ""
    if nvcc:
        version = _cuda_version(repository_ctx, nvcc)
        library = _find_cudart(repository_ctx, nvcc)
        repository_ctx.symlink(library, "libcudart_static.a")
    repository_ctx.symlink(Label("//cc/bazel:cuda.BUILD"), "BUILD")
    repository_ctx.file(
        "config.bzl",
        "NVCC = \"%s\"\nVERSION = \"%s\"\nARCHS = %s\n" %
        (nvcc, version, repr(archs)),
        executable = False,
    )

cuda_repository = repository_rule(
    implementation = _cuda_repository_impl,
    configure = True,
    doc = """Which nvcc compiles for which GPUs: constants of config.bzl.

NVCC and VERSION are empty where there is none that works, or where
TF_BLOCKSPARSE_CUDA is 0; where that is 1, there has to be one.""",
    environ = [
        "CUDA_HOME",
        "CUDA_PATH",
        "PATH",
        "TF_BLOCKSPARSE_CUDA",
        "TF_BLOCKSPARSE_CUDA_ARCHS",
    ],
    local = True,
)
