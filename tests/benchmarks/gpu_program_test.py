# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Programs that gpu_check.py talks to: those that fail, hang and say a lot."""

import io
import json
import sys
import types

import pytest
from gpu import dense_conv, finding, flags, program

KERNEL = 'echo \'{"kernel":"a","cases":2,"left_out":1,"failure":""}\''


@pytest.fixture
def make(tmp_path, monkeypatch):
    """A program of the lines of a shell script, for which nobody waits long."""
    monkeypatch.setattr(program, "_LONGEST_SECONDS", 2.0)

    def make_program(*lines):
        path = tmp_path / "program"
        path.write_text("\n".join(["#!/bin/bash", *lines, ""]))
        path.chmod(0o755)
        return str(path)

    return make_program


def test_counts_what_was_checked(make):
    path = make("echo '{\"kernels\": 2}'", KERNEL, KERNEL)
    found = program.check(path, 3, 1)
    assert found == program.Correctness(2, 4, 2, [], 3)


def test_any_amount_of_words_is_read(make):
    path = make("head -c 300000 /dev/zero >&2", KERNEL, "exit 1")
    found = program.check(path, 3, 1)
    assert found.failures[0].startswith("the program ended with 1 in the one")


def test_a_kernel_that_does_not_end_is_ended(make):
    found = program.check(make(KERNEL, "exec sleep 100"), 3, 0)
    assert found.failures == ["a kernel did not end: the one after a"]
    assert found.cases == 2


def test_what_could_not_begin_is_told(make):
    with pytest.raises(finding.CannotCheckError, match="no GPU"):
        program.check(make("echo no GPU >&2", "exit 2"), 3, 1)
    with pytest.raises(finding.CannotCheckError, match="check nvidia-smi"):
        program.describe(make("exec sleep 100"))


READY = 'echo \'{"dense": "", "reason": "why"}\''


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([READY, "read line", "exit 3"], "gpu_check ended early"),
        ([READY, "exit 3"], "gpu_check ended early"),
        ([READY, "exec sleep 100"], "gpu_check did not answer"),
    ],
)
def test_a_timer_that_does_not_answer_is_told(make, lines, expected):
    with program.speed(make(*lines), 3, None, 1) as timer:
        assert timer.reason == "why"
        for _ in range(2):
            with pytest.raises(finding.CannotCheckError, match=expected):
                timer.ask("bandwidth")
            expected = "ended early"


def test_a_library_finds_what_lies_beside_it(make):
    path = make('echo "{\\"dense\\": \\"$LD_LIBRARY_PATH\\", \\"reason\\": 0}"')
    with program.speed(path, 3, "/opt/lib/libcublas.so", 1) as timer:
        assert timer.dense.split(":")[0] == "/opt/lib"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--dtypes=fp16"], "invalid choice: 'fp16'"),
        (["--features=4000"], "a divisor of --features=4000"),
        (["--channels=48"], "a divisor of --channels=48"),
        (["--densities=1.5"], "expected at most 1"),
        (["--minutes=0"], "expected more than 0"),
        (["--step=x"], "invalid int value: 'x'"),
    ],
)
def test_flags_are_checked_before_anything_is_built(capsys, words, expected):
    with pytest.raises(SystemExit) as error:
        flags.read("", words)
    assert error.value.code == 2
    assert expected in capsys.readouterr().err


class Tensor:
    """Of PyTorch's, what dense_conv asks for."""

    def __init__(self, *shape, dtype=None, device=None):
        self.shape, self.dtype, self.device = shape, dtype, device

    def to(self, memory_format):
        assert memory_format == "channels_last"
        return self

    def zero_(self):
        pass


class Event:
    """One that says that two milliseconds have passed."""

    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        pass

    synchronize = record

    def elapsed_time(self, stop):
        return 2.0


def fake_torch(calls, failure=None):
    """A PyTorch that writes down what it is called with."""

    def call(name):
        def method(*tensors, padding):
            if failure:
                raise RuntimeError(failure)
            shapes = [getattr(each, "shape", each) for each in tensors]
            calls.append((name, *shapes, padding))

        return method

    torch = types.ModuleType("torch")
    torch.__version__ = "9.9"
    torch.cuda = types.SimpleNamespace(is_available=lambda: True, Event=Event)
    cudnn = types.SimpleNamespace(benchmark=False, allow_tf32=None)
    torch.backends = types.SimpleNamespace(cudnn=cudnn)
    torch.float16, torch.bfloat16, torch.float32 = "f16", "bf16", "f32"
    torch.uint8, torch.channels_last = "uint8", "channels_last"
    torch.randn = torch.empty = Tensor
    torch.nn = types.SimpleNamespace(
        functional=types.SimpleNamespace(conv2d=call("conv2d")),
        grad=types.SimpleNamespace(
            conv2d_input=call("input"), conv2d_weight=call("weight")
        ),
    )
    return torch


def answers(monkeypatch, capsys, torch, *lines):
    """What dense_conv tells."""
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines)))
    dense_conv.main()
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("product", "expected"),
    [
        ("forward", ("conv2d", (2, 16, 7, 7), (24, 16, 3, 3), 1)),
        ("dx", ("input", (2, 16, 7, 7), (24, 16, 3, 3), (2, 24, 7, 7), 1)),
        ("dw", ("weight", (2, 16, 7, 7), (24, 16, 3, 3), (2, 24, 7, 7), 1)),
    ],
)
def test_pytorch_is_asked_for_the_same_convolution(
    monkeypatch, capsys, product, expected
):
    calls = []
    torch = fake_torch(calls)
    ready, answer = answers(
        monkeypatch, capsys, torch, f"dense_conv {product} tf32 2 7 16 24"
    )
    assert ready["dense"] == "cuDNN by PyTorch 9.9"
    assert set(calls) == {expected}
    assert answer["seconds"] == 2e-3
    assert answer["flops"] == 2 * 2 * 49 * 16 * 24 * 9
    assert torch.backends.cudnn.allow_tf32


def test_what_pytorch_cannot_do_has_no_time(monkeypatch, capsys):
    torch = fake_torch([], "out of memory")
    _, answer = answers(
        monkeypatch, capsys, torch, "dense_conv dx f16 2 7 16 24"
    )
    assert answer["seconds"] is None


def test_without_a_gpu_pytorch_has_nothing(monkeypatch, capsys):
    torch = fake_torch([])
    torch.cuda.is_available = lambda: False
    (ready,) = answers(monkeypatch, capsys, torch)
    assert ready == {"dense": "", "reason": "PyTorch 9.9 sees no GPU"}
