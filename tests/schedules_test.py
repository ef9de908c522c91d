# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Schedules against their closed forms."""

import dataclasses
import json
import math

import numpy as np
import pytest

from tf_blocksparse import schedules

SCHEDULES = [
    schedules.Polynomial(0.25, 0.9, 100, 1150),
    schedules.Polynomial(0.0, 1.0, 0, 10, power=1, frequency=3),
    schedules.OneShot(0.5, 7),
    schedules.Threshold(100, 300, 501, 0.5, 0.75, frequency=50),
    schedules.Threshold(0, 10, 20, 0.5, frequency=1),
]


def due(schedule, steps=2000):
    return [step for step in range(steps) if schedule.is_due(step)]


@pytest.mark.parametrize("step", [100, 350, 700, 1150])
def test_polynomial_equals_its_closed_form(step):
    expected = 0.9 + (0.25 - 0.9) * (1 - (step - 100) / 1050) ** 3
    assert math.isclose(SCHEDULES[0](step), expected, rel_tol=1e-15)


def test_polynomial_begins_and_ends_exactly():
    schedule = SCHEDULES[0]
    assert [schedule(step) for step in (0, 99, 100)] == [0.0, 0.0, 0.25]
    assert [schedule(step) for step in (1150, 10**9)] == [0.9, 0.9]
    values = [schedule(step) for step in range(100, 1151)]
    assert values == sorted(values)
    assert max(values) == 0.9


def test_a_straight_line():
    schedule = SCHEDULES[1]
    np.testing.assert_allclose(
        [schedule(step) for step in range(11)], np.arange(11) / 10, atol=1e-15
    )


def test_polynomial_is_due_at_both_ends_and_regularly_between():
    assert due(SCHEDULES[0]) == [*range(100, 1101, 100), 1150]
    assert due(SCHEDULES[1]) == [0, 3, 6, 9, 10]


def test_one_shot():
    schedule = SCHEDULES[2]
    assert due(schedule) == [7]
    assert [schedule(step) for step in (0, 6, 7, 8)] == [0, 0, 0.5, 0.5]


@pytest.mark.parametrize(
    ("step", "epsilon"),
    [
        (150, 0.5 * (150 - 100 + 1) / 50),
        (299, 0.5 * (299 - 100 + 1) / 50),
        (300, (0.5 * (300 - 100 + 1) + 0.75 * (300 - 300 + 1)) / 50),
        (450, (0.5 * (300 - 100 + 1) + 0.75 * (450 - 300 + 1)) / 50),
    ],
)
def test_threshold_equals_the_papers_formula(step, epsilon):
    assert SCHEDULES[3](step) == epsilon


def test_threshold_rests_before_and_after():
    schedule = SCHEDULES[3]
    assert schedule(0) == schedule(100) == 0.0
    assert schedule(501) == schedule(10**6) > schedule(500)
    assert due(schedule) == [*range(150, 501, 50)]
    assert due(SCHEDULES[4]) == [*range(1, 20)]


def test_slopes_for_weights_are_the_papers():
    q, frequency = 0.3, 20
    schedule = schedules.Threshold.for_weights(
        q, 40, 200, 360, block_elements=81, ramp=2.0, frequency=frequency
    )
    theta = 2 * q * frequency / (2 * (200 - 40) + 3 * (360 - 200))
    assert math.isclose(schedule.start_slope, 3 * theta, rel_tol=1e-15)
    assert math.isclose(schedule.ramp_slope, 6 * theta, rel_tol=1e-15)
    # With phi = 1.5 theta and weights alone, it ends near q.
    schedule = schedules.Threshold.for_weights(q, 0, 10**6, 2 * 10**6)
    assert math.isclose(schedule(2 * 10**6), q, rel_tol=1e-5)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules_are_frozen_and_have_a_config(schedule):
    config = json.loads(json.dumps(schedule.get_config()))
    again = type(schedule).from_config(config)
    assert again == schedule
    assert hash(again) == hash(schedule)
    with pytest.raises(dataclasses.FrozenInstanceError):
        schedule.frequency = 1


def test_numbers_of_numpy_can_be_written():
    schedule = schedules.Threshold(
        np.int64(0), np.int32(2), np.int64(5), np.float32(0.5), np.float64(1)
    )
    expected = schedules.Threshold(0, 2, 5, 0.5, 1)
    text = json.dumps(schedule.get_config())
    assert schedules.Threshold.from_config(json.loads(text)) == expected


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_nothing_is_due_after_the_last_step(schedule):
    last = schedule.last_step
    assert not any(schedule.is_due(last + step) for step in range(1, 500))
    assert due(schedule)[-1] <= last


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: schedules.Polynomial(0.9, 0.5, 0, 1), "final_sparsity: got"),
        (lambda: schedules.Polynomial(0, 1.5, 0, 1), "final_sparsity: got"),
        (lambda: schedules.Polynomial(-1, 0.5, 0, 1), "initial_sparsity: got"),
        (lambda: schedules.Polynomial(0, 1, 5, 5), "end_step: got int 5"),
        (lambda: schedules.Polynomial(0, 1, -1, 5), "begin_step: got int -1"),
        (lambda: schedules.Polynomial(0, 1, 0, 5, power=0), "power: got"),
        (lambda: schedules.Polynomial(0, 1, 0, 5, frequency=0), "frequency:"),
        (lambda: schedules.OneShot(0.5, 1.5), "step: got float 1.5"),
        (lambda: schedules.OneShot("half", 1), "sparsity: got str 'half'"),
        (lambda: schedules.Threshold(0, 0, 5, 0.1), "ramp_step: got int 0"),
        (lambda: schedules.Threshold(0, 5, 5, 0.1), "end_step: got int 5"),
        (lambda: schedules.Threshold(0, 1, 5, -0.1), "start_slope: got"),
        (lambda: schedules.Threshold(0, 1, 5, 0.1, -1), "ramp_slope: got"),
        (lambda: schedules.Threshold(0, 1, 5, math.nan), "start_slope: got"),
        (
            lambda: schedules.Threshold.for_weights(0.0, 0, 1, 2),
            "percentile: got",
        ),
    ],
)
def test_arguments_out_of_range_are_refused(make, text):
    with pytest.raises(ValueError, match=text):
        make()
