# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The parts of gpu_check.py: what is missing, building, time, crossovers."""

import dataclasses
import subprocess

import pytest
from gpu import building, cases, finding, report

TOOLKIT = finding.Toolkit("/opt/nvcc", (13, 0))
GPU = finding.Gpu("A card", 80, (13, 0))

DRIVER = """
extern "C" int cuInit(unsigned) { return STATUS; }
extern "C" int cuDeviceGetCount(int* count) { *count = COUNT; return 0; }
extern "C" int cuDriverGetVersion(int* v) { *v = 12040; return 0; }
extern "C" int cuDeviceGetName(char* n, int, int) {
  n[0] = 'X'; n[1] = 0; return 0;
}
extern "C" int cuDeviceGetAttribute(int* v, int what, int) {
  *v = what == 75 ? 8 : what == 76 ? 6 : -1; return 0;
}
"""


@pytest.fixture
def driver(tmp_path):
    """Makes a library with the driver's functions."""

    def make(status=0, count=1):
        source = tmp_path / "driver.cc"
        source.write_text(DRIVER)
        library = tmp_path / f"driver_{status}_{count}.so"
        flags = [f"-DSTATUS={status}", f"-DCOUNT={count}", "-shared", "-fPIC"]
        subprocess.run(["g++", *flags, source, "-o", library], check=True)
        return str(library)

    return make


def test_asks_the_driver_for_the_gpu(driver):
    assert finding.find_gpu(driver()) == finding.Gpu("X", 86, (12, 4))


@pytest.mark.parametrize(
    ("status", "count", "expected"),
    [
        (0, 0, "there is a driver, but no NVIDIA GPU"),
        (100, 0, "there is a driver, but no NVIDIA GPU"),
        (803, 0, "restart the machine"),
        (999, 0, "does not start (CUDA error 999)"),
    ],
)
def test_says_what_is_wrong_with_the_driver(driver, status, count, expected):
    with pytest.raises(finding.CannotCheckError) as error:
        finding.find_gpu(driver(status, count))
    assert expected in str(error.value)


def test_names_all_that_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setattr(finding, "USUAL_NVCC", str(tmp_path))
    with pytest.raises(finding.CannotCheckError) as error:
        finding.find(str(tmp_path / "libcuda.so.1"))
    toolkit, driver = str(error.value).splitlines()
    assert toolkit.startswith("no nvcc in $CUDA_HOME/bin")
    assert driver.startswith("no NVIDIA driver (")


@pytest.mark.parametrize(
    ("capability", "driver", "expected"),
    [
        (80, (13, 0), ""),
        (80, (13, 2), ""),
        # Within a major version, older drivers run newer programs.
        (80, (14, 0), ""),
        (80, (12, 9), "supports CUDA 12.9, too old for CUDA 13.0"),
        (80, (12, 9), "install a driver from 580 on"),
        (70, (13, 0), "does not compile for A card (compute capability 7.0)"),
    ],
)
def test_driver_and_gpu_must_suit_the_toolkit(capability, driver, expected):
    gpu = finding.Gpu("A card", capability, driver)
    found = finding.complaints(gpu, TOOLKIT, {"sm_75", "sm_80"})
    assert len(found) == (expected != "")
    assert expected in "".join(found)


@pytest.fixture
def nvcc(tmp_path, monkeypatch):
    """A compiler that writes down how it is called."""
    monkeypatch.setattr(building, "BUILT", tmp_path / "built")
    script = tmp_path / "nvcc"
    log = tmp_path / "log"
    script.write_text(
        f"#!/bin/bash\necho $* >>{log}\n"
        '[[ "$*" == *$BREAKS* ]] && { echo "it broke" >&2; exit 1; }\n'
        'touch "${@: -1}"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("BREAKS", "nothing of it")
    return finding.Toolkit(str(script), (13, 0)), log


def test_builds_for_the_gpu_that_is_there(nvcc):
    toolkit, log = nvcc
    program = building.build(toolkit, 86)
    lines = log.read_text().splitlines()
    assert all("-gencode=arch=compute_86,code=sm_86" in line for line in lines)
    compiled = [line.split(" -c ")[1].split()[0] for line in lines[:-1]]
    assert sorted(compiled) == sorted(
        str(path.relative_to(building.ROOT)) for path in building.sources()
    )
    assert lines[-1].count(".o") == len(compiled)
    for line in lines[:-1]:
        assert ("-x=cu " in line) == (".cu.cc" in line)
    # Nothing has changed.
    assert building.build(toolkit, 86) == program
    assert len(log.read_text().splitlines()) == len(lines)
    assert building.build(toolkit, 90) != program
    assert "code=sm_90a" in log.read_text()


def test_tells_what_the_compiler_said(nvcc, monkeypatch):
    monkeypatch.setenv("BREAKS", "cc/kernels/cuda/matmul.cc")
    with pytest.raises(finding.CannotCheckError, match="it broke"):
        building.build(nvcc[0], 86, jobs=1)
    # Nothing is left that would be taken for whole.
    assert list(building.BUILT.iterdir()) == []


def test_builds_all_kernels_and_no_test_or_emulator():
    names = [path.name for path in building.sources()]
    kernels = building.ROOT / "cc/kernels/cuda"
    assert {path.name for path in kernels.glob("*.cu.cc")} < set(names)
    assert "device.cu.cc" in names
    for name in names:
        assert not name.endswith("_test.cc")
        assert "emulat" not in name


def answer(*words):
    """As the program's, of a GPU that takes a second for everything."""
    return {"seconds": 1.0, "flops": 2e12, "bytes": 1e12, "error": ""} | (
        {"kernel": "k"} if words[0] == "sparse" else {"kernel": "cuBLAS"}
    )


def test_what_there_is_no_time_for_is_left_out():
    asked = []
    now = iter(range(100))

    def ask(*words):
        asked.append(words)
        return answer(*words)

    wanted = cases.curves((64,), 256, 0, ("forward", "dx"), ("f16",), (32, 8))
    found = cases.measure(
        wanted, (0.1, 0.5), ask, {cases.DENSE}, 3, clock=lambda: next(now)
    )
    # The clock tells 0, and then 1, 2 and 3 before a curve.
    assert found.left_out == wanted[2:]
    assert asked == [
        ("dense", "forward", "f16", 64, 256, 256),
        ("sparse", "forward", "f16", 64, 256, 256, 32, 0.1),
        ("sparse", "forward", "f16", 64, 256, 256, 32, 0.5),
        ("sparse", "forward", "f16", 64, 256, 256, 8, 0.1),
        ("sparse", "forward", "f16", 64, 256, 256, 8, 0.5),
    ]
    assert [line["dense_seconds"] for line in found.lines] == [1.0] * 4


def test_the_whole_table_is_wanted_first_rows_first():
    wanted = cases.curves(cases.ROWS, 4096)
    assert len(set(wanted)) == 3 * 3 * 4 * 5
    assert [curve.rows for curve in wanted] == (
        [512] * 60 + [64] * 60 + [4096] * 60
    )


def test_wrong_results_of_what_is_timed_are_told():
    line = {
        **dataclasses.asdict(cases.curves((8,), 256)[0]),
        "density": 0.5,
        **answer("sparse"),
    }
    assert cases.errors([line]) == []
    assert "k: off" in cases.errors([{**line, "error": "off"}])[0]
    assert "dense" in cases.errors([{**line, "dense_error": "off"}])[0]
    assert "of 14 x 14" in cases.errors([{**line, "error": "o", "side": 14}])[0]


def test_convolutions_are_asked_for_by_images_and_side():
    (wanted,) = cases.curves((32,), 64, 14, ("dw",), ("f16",), (16,))
    asked = []

    def ask(*words):
        asked.append(words)
        return answer(*words)

    found = cases.measure([wanted], (0.5,), ask, {cases.DENSE_CONV}, 1)
    assert asked == [
        ("dense_conv", "dw", "f16", 32, 14, 64, 64),
        ("conv", "dw", "f16", 32, 14, 64, 64, 16, 0.5),
    ]
    assert found.lines[0]["dense_seconds"] == 1.0
    # Where there is nothing dense, nobody asks.
    cases.measure([wanted], (0.5,), ask, {cases.DENSE}, 1)
    assert [words[0] for words in asked[2:]] == ["conv"]


def curve(*points):
    """Lines of a curve from (density, times as fast as dense)."""
    return [
        {
            "rows": 64,
            "product": "dx",
            "dtype": "f16",
            "block_size": 8,
            "side": 0,
            "density": density,
            "seconds": 1 / faster,
            "dense_seconds": 1.0,
            "flops": density * 1e13,
            "dense_flops": 1e13,
            "bytes": 1e11,
        }
        for density, faster in points
    ]


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([(0.05, 4), (0.5, 1.5)], "above 0.5"),
        ([(0.05, 0.9), (0.5, 0.1)], "below 0.05"),
        ([(0.25, 2), (0.5, 0.5)], "0.417"),
        ([(0.5, 0.5), (0.1, 9), (0.25, 2)], "0.417"),
        ([], "-"),
    ],
)
def test_crossover(points, expected):
    assert report.crossing(curve(*points)) == expected


def test_there_is_no_crossover_without_a_dense_product():
    lines = curve((0.5, 1))
    del lines[0]["dense_seconds"]
    assert report.crossing(lines) == "-"
    assert report.of_dense(lines[0]) is None


def test_tables():
    lines = curve((0.1, 4), (0.5, 0.5))
    assert report.crossings(lines).splitlines()[2] == (
        "| 64 | dx | f16 | 0.443 |"
    )
    rates = report.rates(lines, bandwidth=1e12).splitlines()
    assert rates[0].endswith("| density 0.1 | density 0.5 |")
    # 1 TFLOP in a quarter of a second, 0.1 TB moved; dense makes 10 TFLOP/s.
    assert "| 4 / 40% / 40% / 4 |" in rates[2]
    assert "| 2.5 / 5% / 25% / 0.5 |" in rates[2]
