# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The forward product beside TensorFlow's other mode and other libraries.

TensorFlow without oneDNN, torch, SciPy and MKL need processes of their own, so
this suite times them one after the other, and not in turns. Libraries that are
not installed are skipped; `--other_python` names a Python that has them.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any

import grids
import libraries
import table
from case import Case
from settings import Settings
from task import Task, threads_title

TITLE = "Other libraries"
METRIC = "ms"
BASELINE = None

_SHAPES = [*grids.MAIN_SHAPES[:2], (1, 4096, 4096)]
_OURS = "tf_blocksparse"
_ONEDNN = {"TF oneDNN": "1", "TF without oneDNN": "0"}
_DENSE = (*_ONEDNN, "torch dense")
# The first of TensorFlow's is measured with ours.
_SPARSE = {"TF oneDNN", *libraries.LIBRARIES} - {"torch dense"}


def plan(settings: Settings) -> list[Task]:
    """Two processes of TensorFlow and one of each library, per threads."""
    shapes = settings.shapes or _SHAPES
    block_sizes = settings.block_sizes or grids.MAIN_BLOCK_SIZES
    sparsity = (settings.sparsities or (0.9,))[:1]
    cases = grids.combinations(shapes, ("forward",), block_sizes, sparsity)
    # Where the dense product is all that counts.
    few = grids.combinations(shapes, ("forward",), block_sizes[:1], sparsity)
    tasks = []
    for threads in settings.threads:
        for name in (*_ONEDNN, *libraries.LIBRARIES):
            if threads > 1 and name in libraries.ONE_THREAD:
                continue
            chosen = cases if name in _SPARSE else few
            if name in _ONEDNN:
                gflops = threads * settings.peak_gflops
                seconds = sum(
                    grids.seconds(group, settings.rounds, gflops)
                    for group in grids.groups(chosen)
                )
            else:
                seconds = 1.3 * len(chosen)
            tasks.append(
                Task(
                    suite="others",
                    title=f"others, {name}, {threads_title(threads)}",
                    threads=threads,
                    work=[_work(case, name) for case in chosen],
                    steps=len(chosen),
                    seconds=4 + seconds,
                    rounds=settings.rounds,
                    seed=settings.seed,
                    **_process(name, threads, settings.other_python),
                )
            )
    return tasks


def _work(case: Case, name: str) -> dict[str, Any]:
    dense = name == "torch dense"
    return {
        "rows": case.rows,
        "inputs": case.inputs,
        "outputs": case.outputs,
        "block_size": 0 if dense else case.block_size,
        "sparsity": 0.0 if dense else case.sparsity,
        "library": name,
    }


def _process(name: str, threads: int, python: str) -> dict[str, Any]:
    """What the process of a library needs."""
    if name in _ONEDNN:
        return {"environment": {"TF_ENABLE_ONEDNN_OPTS": _ONEDNN[name]}}
    variables = ("MKL_NUM_THREADS", "OMP_NUM_THREADS")
    environment = dict.fromkeys(variables, str(threads))
    return {"environment": environment, "python": python}


def measure(task: Task, progress: Callable[[], None]) -> list[dict[str, Any]]:
    """The lines of one library; one that says why if it can't be used."""
    name = task.work[0]["library"]
    if name in _ONEDNN:
        return _measure_tensorflow(task, progress)
    lines = []
    for case in task.work:
        try:
            ms = libraries.milliseconds(
                name, case, task.threads, task.rounds, task.seed
            )
        except (ImportError, OSError) as error:
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            return [
                {
                    "skipped": f"{name}, {threads_title(task.threads)}",
                    "reason": reason,
                }
            ]
        except (RuntimeError, ValueError, NotImplementedError) as error:
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            size = f"block {case['block_size']}, {case['rows']} rows"
            lines.append({"skipped": f"{name}, {size}", "reason": reason})
            continue
        finally:
            progress()
        lines.append({"case": case, "threads": task.threads, "ms": ms})
    return lines


def _measure_tensorflow(
    task: Task, progress: Callable[[], None]
) -> list[dict[str, Any]]:
    import native
    import timing
    import turns

    turns.use_threads(task.threads)
    cases = []
    for each in task.work:
        sizes = {k: v for k, v in each.items() if k != "library"}
        cases.append(Case(**sizes, product="forward"))
    name = task.work[0]["library"]
    onednn = os.environ["TF_ENABLE_ONEDNN_OPTS"] == "1"
    lines = []
    with native.fma_peak(task.programs["fma_peak"], task.threads) as peak:
        for group in grids.groups(cases):
            found = timing.measure(
                group, task.threads, task.rounds, task.seed, peak, lambda: None
            )
            progress(len(group))
            case = {
                "rows": group[0].rows,
                "inputs": group[0].inputs,
                "outputs": group[0].outputs,
            }
            results = [(name, 0, 0.0, found[0].dense_ms)]
            if onednn:
                results += [
                    (
                        _OURS,
                        each.case.block_size,
                        each.case.sparsity,
                        each.sparse_ms,
                    )
                    for each in found
                ]
            for library, block_size, sparsity, ms in results:
                lines.append(
                    {
                        "case": {
                            **case,
                            "block_size": block_size,
                            "sparsity": sparsity,
                            "library": library,
                        },
                        "threads": task.threads,
                        "ms": ms,
                    }
                )
    return lines


def markdown(lines: Sequence[dict[str, Any]], run: dict[str, Any]) -> str:
    """Milliseconds of each library, and ratios to the best of them."""
    times: dict[Any, float] = {}
    for line in lines:
        case = line["case"]
        shape = (case["rows"], case["inputs"], case["outputs"])
        key = (shape, case["block_size"], case["library"], line["threads"])
        times[key] = line["ms"]
    threads = sorted({key[3] for key in times})
    named = [name for name in _names() if any(k[2] == name for k in times)]
    others = [name for name in named if name != _OURS]
    rows = []
    for shape, block in dict.fromkeys(k[:2] for k in times if k[2] == _OURS):

        def found(name: str, count: int, key: Any = (shape, block)) -> Any:
            size = 0 if name in _DENSE else key[1]
            return times.get((key[0], size, name, count))

        cells = [
            " / ".join(_cell(found(name, count)) for count in threads)
            for name in named
        ]
        ratios = []
        for chosen in (
            [name for name in others if name in _DENSE],
            [name for name in others if name not in _DENSE],
        ):
            best = []
            for count in threads:
                known = [found(name, count) for name in chosen]
                least = min((ms for ms in known if ms), default=None)
                ours = found(_OURS, count)
                best.append(f"{least / ours:.2g}" if least and ours else "-")
            ratios.append(" / ".join(best))
        size = " x ".join(map(str, shape))
        rows.append([size, str(block), *ratios, *cells])
    text = table.paragraph(
        f"Forward, milliseconds, {table.threads(threads)}, "
        f"{_versions(run)}. Ratios are to the fastest dense and the fastest "
        "other sparse product."
    )
    titles = [
        "rows x inputs x outputs",
        "block",
        "over dense",
        "over sparse",
        *named,
    ]
    return f"{text}\n\n{table.table(titles, rows, texts=1)}"


def _names() -> list[str]:
    return [_OURS, *_ONEDNN, *libraries.LIBRARIES]


def _cell(ms: float | None) -> str:
    return "-" if ms is None else f"{ms:.3g}"


def _versions(run: dict[str, Any]) -> str:
    names = ("tensorflow", "torch", "scipy", "mkl", "sparse_dot_mkl")
    known = run["machine"]
    return ", ".join(f"{name} {known[name]}" for name in names if name in known)
