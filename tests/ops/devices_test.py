# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Which devices ops have kernels for, and that nobody needs a GPU."""

import ctypes
import pathlib
import subprocess

import pytest
import tensorflow as tf

import tf_blocksparse

TENSORFLOW = pathlib.Path(tf.__file__).parent


class Buffer(ctypes.Structure):
    """TF_Buffer of the C API."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("deallocator", ctypes.c_void_p),
    )


def kernels(op, device):
    """How many kernels are registered, by the C API: there is no other way."""
    c = ctypes.CDLL(str(TENSORFLOW / "libtensorflow_cc.so.2"))
    c.TF_NewStatus.restype = ctypes.c_void_p
    c.TF_GetRegisteredKernelsForOp.restype = ctypes.POINTER(Buffer)
    status = ctypes.c_void_p(c.TF_NewStatus())
    found = c.TF_GetRegisteredKernelsForOp(op.encode(), status)
    assert c.TF_GetCode(status) == 0
    buffer = found.contents
    # Field 2 of a KernelDef is the type of its device.
    text = ctypes.string_at(buffer.data, buffer.length)
    count = text.count(b"\x12\x03" + device.encode())
    c.TF_DeleteBuffer(found)
    c.TF_DeleteStatus(status)
    return count


@pytest.mark.parametrize(
    "name",
    [
        "Matmul",
        "MatmulFused",
        "SampledMatmul",
        "Conv",
        "ConvFused",
        "ConvSampled",
    ],
)
def test_ops_have_kernels_for_gpus_where_they_are_compiled(name):
    op = f"Blocksparse>{name}"
    assert kernels(op, "CPU") == 6
    assert kernels(op, "GPU") == (
        6 if tf_blocksparse.build_info()["cuda"] else 0
    )


def test_build_info():
    info = tf_blocksparse.build_info()
    assert info["tensorflow"] == tf.__version__
    assert bool(info["cuda"]) == bool(info["cuda_archs"])


def test_the_library_links_to_no_cuda():
    # This test runs where there is no driver, and it has been loaded.
    path = tf_blocksparse.library_path()
    needed = subprocess.run(
        ["readelf", "--dynamic", path],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "libtensorflow_framework" in needed
    assert "cuda" not in needed
