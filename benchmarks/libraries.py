# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Products of other libraries, as each does them best.

Weights are made with NumPy alone, so that this runs in an environment without
TensorFlow. Where a library is fastest with x transposed, it gets it so.
"""

import os
import pathlib
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

_INPUTS = 8
# Of the rounds of a case; there are fewer of slow products.
_SECONDS = 1.0

Weight = npt.NDArray[np.float32]
Maker = Callable[[Weight, int, int], Callable[[Weight], Any]]


def random_weight(
    inputs: int, outputs: int, block_size: int, sparsity: float, seed: int
) -> Weight:
    """A dense array in which as many blocks of each output are not zero."""
    rng = np.random.default_rng(seed)
    rows, columns = -(-inputs // block_size), -(-outputs // block_size)
    count = max(1, round(rows * (1 - sparsity)))
    mask = rng.random((rows, columns)).argsort(axis=0).argsort(axis=0) < count
    weight = rng.random((inputs, outputs), np.float32) - np.float32(0.5)
    wide = mask.repeat(block_size, 0).repeat(block_size, 1)
    weight *= wide[:inputs, :outputs]
    return weight


def torch_dense(weight: Weight, block_size: int, threads: int) -> Any:
    """x @ W of torch."""
    import torch

    torch.set_num_threads(threads)
    w = torch.from_numpy(weight)
    return lambda x: torch.mm(torch.from_numpy(x), w)


def torch_bsr(weight: Weight, block_size: int, threads: int) -> Any:
    """Torch's block-sparse rows, which MKL multiplies."""
    import torch

    torch.set_num_threads(threads)
    w = torch.from_numpy(np.ascontiguousarray(weight.T))
    bsr = w.to_sparse_bsr((block_size, block_size))
    return lambda x: torch.mm(bsr, torch.from_numpy(x)).T


def scipy_bsr(weight: Weight, block_size: int, threads: int) -> Any:
    """SciPy's block-sparse rows; it has one thread."""
    import scipy.sparse

    w = scipy.sparse.bsr_array(weight.T, blocksize=(block_size, block_size))
    return lambda x: (w @ x).T


def scipy_csr(weight: Weight, block_size: int, threads: int) -> Any:
    """SciPy's sparse rows of single numbers; it has one thread."""
    import scipy.sparse

    w = scipy.sparse.csr_array(weight.T)
    return lambda x: (w @ x).T


def _find_mkl() -> Any:
    """sparse_dot_mkl, told where pip puts MKL."""
    for path in pathlib.Path(sys.prefix, "lib").glob("libmkl_rt.so*"):
        os.environ.setdefault("MKL_RT", str(path))
    import sparse_dot_mkl

    return sparse_dot_mkl


def mkl_bsr(weight: Weight, block_size: int, threads: int) -> Any:
    """MKL's block-sparse rows through sparse_dot_mkl."""
    import scipy.sparse

    mkl = _find_mkl()
    mkl.mkl_set_num_threads(threads)
    w = scipy.sparse.bsr_matrix(weight.T, blocksize=(block_size, block_size))
    return lambda x: mkl.dot_product_mkl(w, x).T


def mkl_csr(weight: Weight, block_size: int, threads: int) -> Any:
    """MKL's sparse rows of single numbers through sparse_dot_mkl."""
    import scipy.sparse

    mkl = _find_mkl()
    mkl.mkl_set_num_threads(threads)
    w = scipy.sparse.csr_matrix(weight.T)
    return lambda x: mkl.dot_product_mkl(w, x).T


# They know no threads.
ONE_THREAD = ("SciPy BSR", "SciPy CSR")
# Name, maker, and whether it takes x as [features, rows].
LIBRARIES: dict[str, tuple[Maker, bool]] = {
    "torch dense": (torch_dense, False),
    "torch BSR": (torch_bsr, True),
    "SciPy BSR": (scipy_bsr, True),
    "SciPy CSR": (scipy_csr, True),
    "MKL BSR": (mkl_bsr, True),
    "MKL CSR": (mkl_csr, True),
}


def milliseconds(
    name: str, case: dict[str, Any], threads: int, rounds: int, seed: int
) -> float:
    """The median time of a library's product, whose result is checked.

    Raises:
      ImportError: if the library is not installed.
    """
    maker, transposed = LIBRARIES[name]
    weight = random_weight(
        case["inputs"],
        case["outputs"],
        case["block_size"] or 1,
        case["sparsity"],
        seed,
    )
    call = maker(weight, case["block_size"], threads)
    rng = np.random.default_rng(seed)
    xs = [
        rng.random((case["rows"], case["inputs"]), np.float32) - np.float32(0.5)
        for _ in range(_INPUTS)
    ]
    given = [np.ascontiguousarray(x.T) for x in xs] if transposed else xs
    expected = xs[-1].astype(np.float64) @ weight
    np.testing.assert_allclose(
        np.asarray(call(given[-1])), expected, rtol=1e-3, atol=1e-3
    )
    start = time.perf_counter()
    call(given[0])
    single = time.perf_counter() - start
    count = max(1, min(_INPUTS, int(0.25 / single)))
    times: list[float] = []
    end = time.perf_counter() + _SECONDS
    while len(times) < rounds:
        if len(times) >= 3 and time.perf_counter() > end:
            break
        start = time.perf_counter()
        for x in given[:count]:
            call(x)
        times.append((time.perf_counter() - start) / count)
    return 1e3 * statistics.median(times)
