# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Runs a SavedModel through TensorFlow's C API, without TensorFlow's Python.

Usage: c_api_program.py TENSORFLOW LIBRARY FOLDER INPUT OUTPUT, with the folder
of TensorFlow's package and the names of two tensors. Prints the output as JSON.
"""

import ctypes
import json
import sys

import numpy as np

FLOAT = 1  # TF_FLOAT


class Output(ctypes.Structure):
    """TF_Output: which output of which operation."""

    _fields_ = (("operation", ctypes.c_void_p), ("index", ctypes.c_int))


def load_tensorflow(folder):
    ctypes.CDLL(f"{folder}/libtensorflow_framework.so.2", ctypes.RTLD_GLOBAL)
    c = ctypes.CDLL(f"{folder}/libtensorflow_cc.so.2", ctypes.RTLD_GLOBAL)
    for name in (
        "TF_AllocateTensor",
        "TF_GraphOperationByName",
        "TF_LoadLibrary",
        "TF_LoadSessionFromSavedModel",
        "TF_NewGraph",
        "TF_NewSessionOptions",
        "TF_NewStatus",
        "TF_TensorData",
    ):
        getattr(c, name).restype = ctypes.c_void_p
    c.TF_Message.restype = ctypes.c_char_p
    c.TF_Dim.restype = ctypes.c_int64
    return c


def main(folder, library, model, input_name, output_name):
    c = load_tensorflow(folder)
    status = ctypes.c_void_p(c.TF_NewStatus())

    def check():
        if c.TF_GetCode(status) != 0:
            sys.exit(c.TF_Message(status).decode())

    c.TF_LoadLibrary(library.encode(), status)
    check()
    graph = ctypes.c_void_p(c.TF_NewGraph())
    session = ctypes.c_void_p(
        c.TF_LoadSessionFromSavedModel(
            ctypes.c_void_p(c.TF_NewSessionOptions()),
            None,
            f"{model}/model".encode(),
            (ctypes.c_char_p * 1)(b"serve"),
            1,
            graph,
            None,
            status,
        )
    )
    check()

    def tensor(name):
        operation, index = name.split(":")
        found = c.TF_GraphOperationByName(graph, operation.encode())
        return (Output * 1)(Output(found, int(index)))

    x = np.load(f"{model}/x.npy")
    x_tensor = ctypes.c_void_p(
        c.TF_AllocateTensor(
            FLOAT,
            (ctypes.c_int64 * x.ndim)(*x.shape),
            x.ndim,
            ctypes.c_size_t(x.nbytes),
        )
    )
    ctypes.memmove(c.TF_TensorData(x_tensor), x.ctypes.data, x.nbytes)
    result = (ctypes.c_void_p * 1)()
    c.TF_SessionRun(
        session,
        None,
        tensor(input_name),
        (ctypes.c_void_p * 1)(x_tensor),
        1,
        tensor(output_name),
        result,
        1,
        None,
        0,
        None,
        status,
    )
    check()
    y = ctypes.c_void_p(result[0])
    shape = [c.TF_Dim(y, axis) for axis in range(c.TF_NumDims(y))]
    data = ctypes.cast(c.TF_TensorData(y), ctypes.POINTER(ctypes.c_float))
    print(json.dumps(np.ctypeslib.as_array(data, shape).tolist()))


if __name__ == "__main__":
    main(*sys.argv[1:])
