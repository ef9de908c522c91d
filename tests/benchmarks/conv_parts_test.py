# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The parts of the benchmark of convolutions that can be wrong unnoticed."""

import dataclasses
import math

import conv_shapes
import conv_timing
import layouts
import numpy as np
import pytest
import settings
import tensorflow as tf
from case import LAYOUTS, PRODUCTS
from conv_case import ConvCase, ConvMeasured
from suites import conv_never_slower

CASE = ConvCase(
    transposed=False,
    batch=2,
    spatial="6x5",
    inputs=10,
    outputs=7,
    kernel="3x2",
    strides=1,
    dilation=1,
    product="forward",
    block_size=4,
    sparsity=0.5,
)
CASES = [
    CASE,
    dataclasses.replace(CASE, strides=2),
    dataclasses.replace(CASE, dilation=2, padding="valid"),
    dataclasses.replace(CASE, spatial="9", kernel="4", strides=3),
    dataclasses.replace(CASE, spatial="9", kernel="4", padding="valid"),
    dataclasses.replace(CASE, spatial="4x5x3", kernel="3x2x2", strides=2),
]
EACH_CASE = pytest.mark.parametrize(
    "case",
    [
        dataclasses.replace(each, transposed=transposed)
        for each in CASES
        for transposed in (False, True)
    ],
    ids=lambda case: case.label,
)
SETTINGS = settings.Settings(
    suites=("conv_never_slower",), threads=(1,), rounds=1, seed=1, cases=300
)


@EACH_CASE
def test_sizes_are_tensorflows(case):
    padding = case.padding.upper()
    kernel = case.kernel_size
    if not case.transposed:
        x = tf.zeros([case.batch, *case.fine, case.inputs])
        w = tf.zeros([*kernel, case.inputs, case.outputs])
        y = tf.nn.convolution(x, w, case.strides, padding, None, case.dilation)
        assert tuple(y.shape[1:-1]) == case.coarse
    else:
        # A convolution of y leads back to x.
        y = tf.zeros([case.batch, *case.fine, case.outputs])
        w = tf.zeros([*kernel, case.outputs, case.inputs])
        x = tf.nn.convolution(y, w, case.strides, padding, None, case.dilation)
        assert tuple(x.shape[1:-1]) == case.coarse
    assert case.dense_flops == (
        2 * 2 * math.prod(case.coarse) * math.prod(kernel) * 70
    )


@EACH_CASE
@pytest.mark.parametrize("per_tap", [False, True])
@pytest.mark.parametrize("product", PRODUCTS)
def test_products_equal_dense_ones_and_wrong_ones_are_found(
    case, per_tap, product
):
    case = dataclasses.replace(case, per_tap=per_tap, product=product)
    layout = layouts.of_kernel(case, seed=3)
    assert (layout.taps is not None) == per_tap
    dense = conv_timing.Dense(case)
    w = tf.Variable(tf.zeros(dense.kernel_shape))
    blocks = tf.Variable(tf.zeros(conv_timing.blocks_shape(case, layout)))
    function = conv_timing.sparse(case, blocks, layout)
    pair = dense.product(w), w
    conv_timing.check(case, layout, pair, (function, blocks), seed=5)

    def wrong(*arguments):
        result = function(*arguments).numpy()
        result.flat[np.argmax(abs(result))] *= 1.000001
        return tf.constant(result)

    with pytest.raises(AssertionError):
        conv_timing.check(case, layout, pair, (wrong, blocks), seed=5)


def test_dx_leaves_the_forward_product_out():
    case = dataclasses.replace(CASE, product="dx")
    layout = layouts.of_kernel(case, seed=3)
    blocks = tf.Variable(tf.ones(conv_timing.blocks_shape(case, layout)))
    function = tf.function(conv_timing.sparse(case, blocks, layout))
    dy = tf.ones(conv_timing.Dense(case).argument_shapes()[0])
    graph = function.get_concrete_function(dy).graph
    convolutions = [
        op for op in graph.get_operations() if op.type == "Blocksparse>Conv"
    ]
    needed, open_ops = set(), [graph.outputs[0].op]
    while open_ops:
        op = open_ops.pop()
        needed.add(op.name)
        open_ops += [each.op for each in op.inputs] + op.control_inputs
    assert len([op for op in convolutions if op.name in needed]) == 1
    # What is not needed is run if it has a state.
    assert not any(op.op_def.is_stateful for op in convolutions)


def test_measured_is_held_to_its_floor():
    measured = ConvMeasured(
        case=CASE,
        threads=1,
        useful_flops=0.6 * CASE.dense_flops,
        dense_ms=6.0,
        sparse_ms=2.0,
        peak_gflops=CASE.dense_flops / 1e6,
        moved_bytes=1.5e6,
        copied_gb_per_s=1.0,
        floor="4",
    )
    assert measured.speed_up == 3
    assert measured.scaled == pytest.approx(3.6)
    assert measured.of_floor == pytest.approx(0.9)
    assert measured.of_peak == pytest.approx(0.3)
    # Bound by memory: 1.5 ms of 2; with a faster one by FLOPs: 0.6 ms.
    assert measured.of_roofline == pytest.approx(0.75)
    faster = dataclasses.replace(measured, copied_gb_per_s=10.0, floor="60%")
    assert faster.of_floor == pytest.approx(0.5)
    assert dataclasses.replace(measured, floor="-").of_floor is None


def test_the_file_of_shapes_has_what_is_promised():
    rows = conv_shapes.read(conv_shapes.DEFAULT)
    assert len({row.section for row in rows}) == 7
    assert len({row.case for row in rows}) == len(rows)
    assert {len(row.case.kernel_size) for row in rows} == {1, 2, 3}
    assert {row.floor for row in rows} >= {"-", "7.5", "70%", "12"}
    for group in conv_shapes.groups([row.case for row in rows]):
        for case in group:
            first = dataclasses.replace(group[0], block_size=case.block_size)
            assert case == first
    both = conv_shapes.chosen(rows, ("dx",), ["stride 2"], settings.TAPS)
    assert {row.case.per_tap for row in both} == {False, True}
    assert all(row.case.strides == 2 for row in both)


GOOD = "conv 8 28x28 128 64 3x3 1 1 8 0.9 - 6 4"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("conv", "dense", "got kind dense, expected one as in conv or"),
        (" 6 4", " 6", "got 12 words, expected kind batch spatial"),
        ("28x28", "28", "got spatial 28 and kernel 3x3, expected as many"),
        ("28x28", "2x2x2x2", "got spatial 2x2x2x2, expected one as in 28x28"),
        (" 8 0.9", " 300 0.9", "got blocks 300, expected at most 256"),
        ("0.9", "1.5", "got sparsity 1.5, expected one as in 0.9"),
        ("- 6", "- six", "got dx six, expected one as in 7.5, 70% or -"),
        ("28x28", "3000x3000", "which float32 holds exactly"),
        (GOOD, "# nothing", "got no case"),
    ],
)
def test_says_what_is_wrong_with_a_file(tmp_path, old, new, expected):
    path = tmp_path / "shapes.txt"
    path.write_text(GOOD)
    floors = [row.floor for row in conv_shapes.read(str(path))]
    assert floors == ["-", "6", "4"]
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(ValueError, match=r"shapes\.txt") as error:
        conv_shapes.read(str(path))
    assert expected in str(error.value)


def test_random_cases_cover_what_they_say():
    cases = conv_never_slower.draw(SETTINGS)
    assert cases == conv_never_slower.draw(SETTINGS)
    other = dataclasses.replace(SETTINGS, seed=2)
    assert cases != conv_never_slower.draw(other)
    assert {len(case.kernel_size) for case in cases} == {1, 2, 3}
    assert {case.product for case in cases} == set(PRODUCTS)
    assert {case.layout for case in cases} == set(LAYOUTS)
    assert {case.padding for case in cases} == {"same", "valid"}
    assert {case.strides for case in cases} == {1, 2, 3}
    assert {0.0, 1.0} < {case.sparsity for case in cases}
    assert any(case.dilation == 2 for case in cases)
    assert any(case.inputs % case.block_size for case in cases)
    for name in ("transposed", "per_tap"):
        assert {getattr(case, name) for case in cases} == {False, True}
    assert all(case.batch >= 8 for case in cases)
    assert all(0 < case.dense_flops <= 3e9 for case in cases)
    some = dataclasses.replace(
        SETTINGS, block_sizes=(16,), sparsities=(0.5,), products=("dw",)
    )
    assert {
        (case.block_size, case.sparsity, case.product)
        for case in conv_never_slower.draw(some)
    } == {(16, 0.5, "dw")}
