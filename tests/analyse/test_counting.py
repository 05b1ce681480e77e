"""Counting: its bounds contain the truth wherever it is known, and come as close as asked."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
from counted_questions import (
    ONE,
    asked,
    at_least,
    at_most,
    linear,
    random_relu,
    size_of_two,
    square,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.analyse.count.counting import Counted, Search, count
from assay.analyse.count.settings import Settings
from assay.errors import BadInput, Unsupported
from assay.question.graph import mlp
from assay.question.network import Network, load
from assay.question.property import Case, Inequality, Violation, merged_by_box
from assay.question.region import Box
from assay.question.torch_view import torch_view
from assay.question.vnnlib2 import read_any
from assay.truth.planted import PlantedKnobs, make

CLOSE = Settings(gap=1e-9, seconds=30)


def within(counted: Counted, rate: Fraction | int, gap: float) -> None:
    assert counted.lower <= rate <= counted.upper
    assert counted.gap <= gap


def test_a_half_plane_is_exact_at_once() -> None:
    network = linear([[1, 2]], [0.25])
    found = count(network, asked(square(2), [at_most(0, 0)]), CLOSE)
    within(found, Fraction(7, 16), 1e-12)
    assert found.boxes == 1


def test_the_share_of_a_diamond() -> None:
    case = asked(square(2), [at_most(0, "0.5")])
    within(count(size_of_two(), case, CLOSE), Fraction(1, 8), 1e-9)


def test_an_and_and_an_or_of_inequalities() -> None:
    network = linear([[1, 0], [0, 1]], [0, 0])
    both = asked(square(2), [at_most(0, 0), at_most(1, "0.5")], outputs=2)
    within(count(network, both, Settings(gap=1e-3)), Fraction(3, 8), 1e-3)
    either = asked(square(2), [at_most(0, 0)], [at_most(1, "0.5")], outputs=2)
    within(count(network, either, Settings(gap=1e-3)), Fraction(7, 8), 1e-3)
    band = asked(square(2), [at_least(0, "-0.25"), at_most(0, "0.5")], outputs=2)
    within(count(network, band, CLOSE), Fraction(3, 8), 1e-9)
    excluded = asked(square(2), [at_least(0, "0.5"), at_most(0, "-0.5")], outputs=2)
    within(count(network, excluded, CLOSE), 0, 1e-9)


def test_coefficients_that_are_no_floats() -> None:
    third = Inequality(((0, Fraction(1, 3)), (1, Fraction(-2, 3))), Fraction(1, 9))
    network = linear([[1, 0], [0, 1]], [0, 0])
    # x - 2 y <= 1/3 on the square
    found = count(network, Case(square(2), Violation(2, ((third,),))), CLOSE)
    within(found, Fraction(7, 12), 1e-9)


def test_inputs_that_are_fixed_do_not_count() -> None:
    network = linear([[1, 2, 4]], [0])
    box = Box((Fraction(-1), Fraction(1, 10), Fraction(-1)), (ONE, Fraction(1, 10), ONE))
    found = count(network, asked(box, [at_most(0, "0.2")]), CLOSE)
    within(found, Fraction(1, 2), 1e-12)


def test_a_box_that_is_one_point() -> None:
    network = linear([[1, 1]], [0])
    point = square(2, "0.1", "0.1")
    for bound, rate in (("0.2", 1), ("0.19", 0), ("0.3", 1)):
        found = count(network, asked(point, [at_most(0, bound)]), CLOSE)
        assert (found.lower, found.upper) == (rate, rate)


def test_violations_that_always_or_never_hold() -> None:
    network = linear([[1, 1]], [0])
    assert count(network, Case(square(2), Violation(1, ()))).upper == 0
    assert count(network, Case(square(2), Violation(1, ((),)))).lower == 1


@pytest.mark.parametrize(("width", "gap"), [("1e-6", 1e-3), ("1e-9", 0.5), ("1e-15", 1)])
def test_thin_boxes_far_from_zero_stay_sound(width: str, gap: float) -> None:
    low, side = Fraction(1000), Fraction(width)
    case = asked(Box((low, low), (low + side, low + side)), [at_most(0, 2 * low + side)])
    found = count(linear([[1, 1]], [0]), case, Settings(gap=0, seconds=2))
    within(found, Fraction(1, 2), gap)


def test_numbers_of_very_unlike_sizes() -> None:
    network = linear([[1, 1e-12, 1e-6]], [0])
    within(count(network, asked(square(3), [at_most(0, "0.5")]), CLOSE), Fraction(3, 4), 1e-6)


@given(st.integers(0, 10**6), st.integers(1, 3), st.floats(-0.5, 0.5))
@settings(max_examples=15, deadline=None)
def test_samples_lie_between_the_bounds(seed: int, inputs: int, threshold: float) -> None:
    network = random_relu(seed, inputs)
    case = asked(square(inputs), [at_most(0, Fraction(threshold))])
    found = count(network, case, Settings(gap=5e-3, seconds=1))
    rate, error = sampled(network, case, 20_000)
    assert found.lower - error <= rate <= found.upper + error


def sampled(network: Network, case: Case, samples: int) -> tuple[float, float]:
    """The rate of random points, and five of its standard errors."""
    draw = np.random.default_rng(1)
    low, high = ([float(v) for v in end] for end in (case.box.lower, case.box.upper))
    points = torch.from_numpy(draw.uniform(low, high, (samples, network.inputs)))
    outputs = torch_view(network, torch.float64)(points).tolist()
    hits = sum(
        any(
            all(sum(float(c) * y[i] for i, c in one.terms) <= float(one.bound) for one in disjunct)
            for disjunct in case.violation.disjuncts
        )
        for y in outputs
    )
    rate = hits / samples
    return rate, 5 * math.sqrt(max(rate * (1 - rate), 1 / samples) / samples)


def test_several_classes_and_conditions_against_samples() -> None:
    network = random_relu(3, 3, outputs=4)
    wrong = Case(square(3), Violation.misclassification(1, 4))
    found = count(network, wrong, Settings(gap=5e-3, seconds=20))
    rate, error = sampled(network, wrong, 40_000)
    assert found.gap <= 5e-3
    assert found.lower - error <= rate <= found.upper + error
    mixed = asked(square(3), [at_most(0, "0.1"), at_least(1, 0)], [at_least(2, "0.2")], outputs=4)
    found = count(network, mixed, Settings(gap=1e-2, seconds=20))
    rate, error = sampled(network, mixed, 40_000)
    assert found.lower - error <= rate <= found.upper + error


PLANTS = {
    "soft box": {"kind": "soft_box", "inputs": 2},
    "soft box of 4": {"kind": "soft_box", "inputs": 4},
    "rotated box": {"kind": "rotated_box", "inputs": 3},
    "simplex": {"kind": "simplex", "inputs": 2},
    "tent": {"kind": "tent", "inputs": 2, "folds": 1},
    "two plants": {"kind": "soft_box", "inputs": 2, "plants": 2, "width": 0.1},
    "sigmoid": {"kind": "soft_box", "inputs": 2, "stem": "sigmoid"},
    "convolutions": {"kind": "soft_box", "inputs": 2, "background": "cnn"},
}


@pytest.mark.parametrize("name", PLANTS)
def test_planted_rates_lie_between_the_bounds(name: str) -> None:
    for instance in make(PlantedKnobs.model_validate(PLANTS[name]), 1):
        network = load(instance.onnx, instance.name)
        (case,) = read_any(instance.vnnlib.decode(), instance.name).cases
        known = instance.truth.violation_probability or {"exact": "0"}
        low, high = (Fraction(known.get("exact", known.get(end, ""))) for end in ("lower", "upper"))
        found = count(network, case, Settings(gap=4e-3, seconds=60))
        assert found.gap <= 4e-3
        assert found.lower <= low
        assert high <= found.upper
        assert (found.lower > 0) <= (instance.truth.answer == "violated")


def test_bounds_only_get_closer() -> None:
    network = random_relu(5, 3)
    search = Search(network, asked(square(3), [at_most(0, 0)]), Settings(gap=1e-2, seconds=60))
    heard: list[Counted] = []
    last = search.run(heard.append)
    for earlier, later in pairwise(heard):
        assert earlier.lower <= later.lower <= later.upper <= earlier.upper
    assert last.ending == "gap"
    assert last.gap <= 1e-2


def test_the_same_whatever_the_threads() -> None:
    network, case = random_relu(6, 3), asked(square(3), [at_most(0, 0)])
    before = torch.get_num_threads()
    found = []
    try:
        for threads, jobs in ((1, 1), (2, 1), (1, 3)):
            torch.set_num_threads(threads)
            one = count(network, case, Settings(gap=1e-3, seconds=60), jobs=jobs)
            found.append(replace(one, seconds=0, cpu_seconds=0))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_time_and_memory_end_a_count_with_what_is_proved() -> None:
    network, case = random_relu(7, 6), asked(square(6), [at_most(0, 0)])
    begun = time.monotonic()
    found = count(network, case, Settings(gap=0, seconds=0.3))
    assert found.ending == "time"
    assert time.monotonic() - begun < 20
    full = count(network, case, Settings(gap=0, seconds=60, most_cells=50))
    assert full.ending == "cells"
    assert full.undecided >= 50
    rate, error = sampled(network, case, 20_000)
    for one in (found, full):
        assert one.lower - error <= rate <= one.upper + error
        assert one.undecided_share >= one.gap


def test_it_ends_when_nothing_is_left_to_halve() -> None:
    network = size_of_two()
    found = count(network, asked(square(2), [at_most(0, "0.3")]), Settings(gap=0, seconds=30))
    assert found.ending == "all"
    assert 0 < found.gap < 1e-11


def test_too_many_inputs_are_refused_with_a_remedy() -> None:
    network = linear([[1.0] * 17], [0])
    with pytest.raises(Unsupported, match=r"17 inputs differ .* assay weakened"):
        count(network, asked(square(17), [at_most(0, 0)]))


def test_a_question_about_another_network_is_refused() -> None:
    with pytest.raises(BadInput, match="2 inputs"):
        count(linear([[1, 1]], [0]), asked(square(3), [at_most(0, 0)]))


@pytest.mark.parametrize(
    "wrong",
    [
        {"gap": -1.0},
        {"gap": math.nan},
        {"gap": 1.0},
        {"seconds": 0.0},
        {"seconds": math.nan},
        {"most_cells": 0},
        {"samples": -1},
        {"confidence": 1.0},
        {"seed": -1},
    ],
)
def test_settings_that_make_no_sense(wrong: dict[str, float]) -> None:
    with pytest.raises(BadInput, match=r"; (try|allow|give)"):
        Settings(**wrong)  # type: ignore[arg-type]


def test_cases_on_one_box_are_one_or() -> None:
    box, other = square(2), square(2, 0, 1)
    cases = [asked(b, [at_most(0, k)]) for k, b in enumerate((box, other, box))]
    first, second = merged_by_box(cases)
    assert [len(c.violation.disjuncts) for c in (first, second)] == [2, 1]


def test_weights_that_overflow_leave_the_rate_open() -> None:
    huge = np.full((1, 2), 3e38, np.float32)
    layers = [(huge, np.zeros(1, np.float32))] * 1 + [
        (np.full((1, 1), 3e38, np.float32), np.zeros(1, np.float32)) for _ in range(9)
    ]
    found = count(load(mlp(layers), "huge"), asked(square(2), [at_most(0, 0)]), Settings(seconds=1))
    assert found.lower <= Fraction(1, 2) <= found.upper
