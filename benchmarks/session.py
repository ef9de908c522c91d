# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""A run of suites: tasks, tables, JSON and pictures."""

import dataclasses
import json
import os
import pathlib
import sys
import time
from typing import Any

import machine
import native
import pictures
import runner
import suites
from settings import Settings
from task import Task

RESULTS = pathlib.Path(__file__).resolve().parent / "results"


def check(settings: Settings) -> None:
    """Raises a ValueError if a suite can't measure what is asked for.

    Before anything is built or measured.
    """
    for name in settings.suites:
        suites.load(name).plan(settings)


def measure(settings: Settings, output: str, folder: str) -> None:
    """Measures, prints tables, writes JSON and draws.

    Args:
      output: the JSON file; none if empty.
      folder: for pictures; none if empty.
    """
    described = machine.describe()
    programs = native.build()
    with native.fma_peak(programs["fma_peak"], 1) as peak:
        described["isa"] = peak.greeting
        settings = dataclasses.replace(settings, peak_gflops=peak.measure())
    tasks = {name: suites.load(name).plan(settings) for name in settings.suites}
    run: dict[str, Any] = {
        "machine": described,
        "started": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "flags": sys.argv[1:],
        "settings": dataclasses.asdict(settings),
        "rounds": settings.rounds,
        "seed": settings.seed,
        "suites": {},
    }
    whole = sum(task.seconds for each in tasks.values() for task in each)
    _tell(f"{_minutes(whole)}; --seed={settings.seed} makes the same layouts")
    if os.getloadavg()[0] > 0.5:
        _tell("this machine is busy with other work, too: expect noise")
    _run_suites(settings, tasks, programs, run, output)
    if folder:
        pictures.save(run, pathlib.Path(folder))


def _run_suites(
    settings: Settings,
    tasks: dict[str, list[Task]],
    programs: dict[str, str],
    run: dict[str, Any],
    output: str,
) -> None:
    """Runs the tasks, reports each suite when it is done, and fills in run."""
    left = sum(task.seconds for each in tasks.values() for task in each)
    for name in settings.suites:
        start = time.perf_counter()
        lines = []
        for task in tasks[name]:
            _tell(f"{task.title}: {_minutes(left)} to go")
            result = runner.run(task, programs)
            left -= task.seconds
            lines += result["lines"]
            run["machine"].update(result["versions"])
        run["suites"][name] = {
            "lines": [line for line in lines if "skipped" not in line],
            "skipped": [line for line in lines if "skipped" in line],
            "seconds": round(time.perf_counter() - start, 1),
        }
        _report(name, run)
        _write(run, output)


def _report(name: str, run: dict[str, Any]) -> None:
    """Prints a suite's part of the report."""
    suite = suites.load(name)
    result = run["suites"][name]
    print(f"## {suite.TITLE}\n")
    for each in result["skipped"]:
        _tell(f"skipped {each['skipped']}: {each['reason']}")
    if result["lines"]:
        print(suite.markdown(result["lines"], run))
    print(flush=True)


def _write(run: dict[str, Any], path: str) -> None:
    """Writes JSON, if a path is given."""
    if path:
        pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(path).write_text(json.dumps(run, indent=1) + "\n")


def _tell(text: str) -> None:
    """Prints a line of progress."""
    print(text, file=sys.stderr, flush=True)


def _minutes(seconds: float) -> str:
    """A duration in words."""
    if seconds < 90:
        return f"about {max(seconds, 1):.0f} seconds"
    return f"about {seconds / 60:.0f} minutes"
