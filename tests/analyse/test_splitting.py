"""Splitting finds rare failures where margins lead to them, and says when they do not.

`agrees` accepts an estimate whose distance from the truth, over its own standard error, is one that
Student's law for its repeats has with probability 1 - ACCEPTED. Seeds are fixed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from math import comb, factorial
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import special, stats

from assay.analyse import splitting
from assay.analyse.asked import Asked, of_files
from assay.analyse.kept import LabelSet
from assay.analyse.model import callable_model
from assay.analyse.regions import Ball, BoxRegion, Region
from assay.analyse.splitting import Splitting, SplittingSettings, Stage, split
from assay.errors import BadInput
from assay.truth.planted import PlantedKnobs, make

ACCEPTED = 1e-3
QUICK = SplittingSettings(particles=300, repeats=10, steps=15)


def agrees(found: Splitting, truth: float) -> bool:
    assert found.relative_error is not None
    far = abs(found.estimate - truth) / (found.estimate * found.relative_error)
    return bool(far <= stats.t(len(found.repeats) - 1).isf(ACCEPTED / 2))


def half_space(region: Region, direction: np.ndarray, threshold: float) -> Asked:
    """Fails where direction times x is at least the threshold."""

    def scores(points: np.ndarray) -> np.ndarray:
        beyond = points.astype(np.float64) @ direction - threshold
        return np.stack([-beyond, np.zeros(len(points))], 1)

    return Asked(callable_model(scores, (region.dimension,)), LabelSet((0,)), region)


def sum_above(dimension: int, threshold: Fraction) -> float:
    """P(sum of uniform numbers >= threshold), by Irwin and Hall, exactly."""
    above = dimension - threshold
    terms = (
        (-1) ** k * comb(dimension, k) * (above - k) ** dimension
        for k in range(math.floor(above) + 1)
    )
    return float(sum(terms, start=Fraction(0)) / factorial(dimension))


@pytest.mark.parametrize(("dimension", "deviations"), [(2, 2), (20, 3), (20, 5.5), (100, 5)])
def test_half_spaces_of_a_box(dimension: int, deviations: float) -> None:
    box = BoxRegion(np.zeros(dimension), np.ones(dimension))
    threshold = Fraction(dimension / 2 + deviations * math.sqrt(dimension / 12)).limit_denominator(
        10**6
    )
    truth = sum_above(dimension, threshold)
    assert 1e-10 < truth < 0.05
    found = split(half_space(box, np.ones(dimension), float(threshold)), QUICK)
    assert agrees(found, truth)
    assert found.endings == {"failed": 10}


@pytest.mark.parametrize(("dimension", "deviations"), [(3, 2), (50, 4), (200, 5)])
def test_half_spaces_of_a_round_ball(dimension: int, deviations: float) -> None:
    threshold = deviations / math.sqrt(dimension + 2)
    if threshold >= 1:
        threshold = 0.99
    truth = special.betainc((dimension + 1) / 2, 0.5, 1 - threshold**2) / 2
    direction = np.zeros(dimension)
    direction[0] = 1
    ball = Ball(np.full(dimension, 0.5), 0.25, "2")
    found = split(half_space(ball, direction, 0.5 + 0.25 * threshold), QUICK)
    assert agrees(found, truth)


@pytest.mark.parametrize(("dimension", "threshold"), [(4, 0.9), (60, 0.25)])
def test_half_spaces_of_a_cross_polytope(dimension: int, threshold: float) -> None:
    direction = np.zeros(dimension)
    direction[1] = -1
    ball = Ball(np.zeros(dimension), 2.0, "1")
    found = split(half_space(ball, direction, 2 * threshold), QUICK)
    assert agrees(found, (1 - threshold) ** dimension / 2)


def test_levels_are_counted_exactly() -> None:
    """The sum of 12 numbers of 5 values each: by convolution."""
    counts = np.ones(1, dtype=object)
    for _ in range(12):
        counts = np.convolve(counts, np.ones(5, dtype=object))
    threshold = 45
    truth = float(Fraction(int(sum(counts[threshold:])), 5**12))
    ball = Ball(np.full(12, 0.5), 0.5, "inf", (0, 1), 5)
    found = split(half_space(ball, np.ones(12), threshold / 4 - 1e-3), QUICK)
    assert 1e-6 < truth < 1e-5
    assert agrees(found, truth)


def test_a_range_cuts_the_ball() -> None:
    """A quarter of a disc in two corners: the share beyond a line is that of the whole disc."""
    threshold = 0.999
    truth = special.betainc(1.5, 0.5, 1 - threshold**2)
    ball = Ball(np.zeros(2), 0.5, "2", (0, 1))
    found = split(half_space(ball, np.array([1.0, 0.0]), 0.5 * threshold), QUICK)
    assert agrees(found, truth)


def planted(folder: Path, knobs: PlantedKnobs) -> tuple[Asked, float]:
    (instance,) = [i for i in make(knobs, 0) if i.truth.violation_probability]
    (folder / "net.onnx").write_bytes(instance.onnx)
    (folder / "query.vnnlib").write_bytes(instance.vnnlib)
    known = instance.truth.violation_probability
    assert known is not None
    truth = float(Fraction(known.get("exact", known.get("lower", ""))))
    return of_files(folder / "net.onnx", folder / "query.vnnlib"), truth


@pytest.mark.parametrize(
    ("knobs", "most"),
    [
        (PlantedKnobs(kind="soft_box", inputs=3, tip=True, height=0.01, width=0.3), 1e-9),
        (PlantedKnobs(kind="soft_box", inputs=5, plants=3, width=0.2), 2e-3),
        (PlantedKnobs(kind="rotated_box", inputs=5, width=0.3), 1e-4),
        (PlantedKnobs(kind="simplex", inputs=4, width=0.3), 1e-4),
        (PlantedKnobs(kind="tent", inputs=5), 4e-3),
        (PlantedKnobs(kind="xor_lock", inputs=10, parities=11), 2e-3),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_planted_failures_that_a_slope_leads_to(
    tmp_path: Path, knobs: PlantedKnobs, most: float
) -> None:
    asked, truth = planted(tmp_path, knobs)
    assert truth <= most
    found = split(asked, SplittingSettings(particles=1000, repeats=10, steps=10))
    assert agrees(found, truth)


def test_a_needle_on_a_plateau_is_not_found_and_that_is_said(tmp_path: Path) -> None:
    """Rounding makes the plateau uneven; particles do not take that for a slope."""
    asked, truth = planted(tmp_path, PlantedKnobs(inputs=20))
    found = split(asked, QUICK)
    assert not found.found
    assert found.estimate == 0
    assert found.relative_error is None
    assert found.endings == {"stuck": 10}
    assert truth < found.below == pytest.approx(1 / (300 * 16))
    assert found.lowest > 0


def test_a_robust_network_ends_at_the_limit() -> None:
    box = BoxRegion(np.zeros(30), np.ones(30))
    found = split(half_space(box, np.ones(30), 31.0), replace(QUICK, smallest=1e-6))
    assert not found.found
    assert found.endings == {"limit": 10}
    assert 1e-6 <= found.below < 2e-6
    assert found.lowest > 1


def test_a_needle_beside_a_decoy_is_missed_but_what_is_proved_holds() -> None:
    """Margins fall towards a corner where nothing fails; failures have a share of 2.56e-6."""

    def scores(points: np.ndarray) -> np.ndarray:
        needle = 50 * (abs(points - 0.8).max(1) - 0.1)
        return np.stack([np.minimum(needle, 0.1 + points.mean(1)), np.zeros(len(points))], 1)

    box = BoxRegion(np.zeros(8), np.ones(8))
    asked = Asked(callable_model(scores, (8,)), LabelSet((0,)), box)
    found = split(asked, replace(QUICK, smallest=1e-9))
    assert found.endings == {"limit": 10}
    assert found.below < 0.2**8
    assert found.drawn == 300 * 16 * 10
    assert found.counted[0] <= 0.2**8 <= found.counted[1]


def test_frequent_failures_are_counted() -> None:
    """No level is needed, so the shares are those of independent points."""
    box = BoxRegion(np.zeros(2), np.ones(2))
    found = split(half_space(box, np.array([1.0, 0.0]), 0.3), QUICK)
    assert found.queries == 10 * 300 * 16
    assert [repeat.levels for repeat in found.repeats] == [0] * 10
    assert agrees(found, 0.7)
    assert found.failures == round(found.estimate * found.drawn)
    assert found.counted[0] < 0.7 < found.counted[1]


def test_what_is_certain_has_no_error() -> None:
    box = BoxRegion(np.zeros(2), np.ones(2))
    found = split(half_space(box, np.ones(2), -1.0), QUICK)
    assert found.estimate == 1
    assert found.relative_error == 0


def test_a_seed_has_one_result() -> None:
    box = BoxRegion(np.zeros(5), np.ones(5))
    asked = half_space(box, np.ones(5), 4.5)
    first = split(asked, QUICK)
    assert split(asked, QUICK).repeats == first.repeats
    assert split(asked, replace(QUICK, seed=1)).repeats != first.repeats


def test_how_many_repeats_walk_at_once_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    box = BoxRegion(np.zeros(5), np.ones(5))
    asked = half_space(box, np.ones(5), 4.5)
    together = split(asked, QUICK)
    monkeypatch.setattr(splitting, "_MOST_NUMBERS", 1)
    apart = split(asked, QUICK)
    assert apart.repeats == together.repeats
    assert apart.queries == together.queries


def test_repeats_are_independent_of_each_other() -> None:
    box = BoxRegion(np.zeros(3), np.ones(3))
    found = split(half_space(box, np.ones(3), 2.9), QUICK)
    assert len({repeat.share for repeat in found.repeats}) == len(found.repeats)
    fewer = split(half_space(box, np.ones(3), 2.9), replace(QUICK, repeats=4))
    assert fewer.repeats == found.repeats[:4]


def test_queries_are_counted_and_stages_told() -> None:
    stages: list[Stage] = []
    asked = half_space(BoxRegion(np.zeros(3), np.ones(3)), np.ones(3), 2.9)
    asked.model.scores(torch.zeros(7, 3))
    found = split(asked, QUICK, stages.append)
    assert [stage.level for stage in stages] == list(range(1, len(stages) + 1))
    assert [stage.share for stage in stages] == sorted(
        (stage.share for stage in stages), reverse=True
    )
    steps = sum(repeat.levels for repeat in found.repeats)
    assert found.queries == 300 * (16 * 10 + 15 * steps)


def test_points_outside_of_the_range_are_not_asked_about() -> None:
    def scores(points: np.ndarray) -> np.ndarray:
        assert points.min() >= 0
        return np.stack([0.7 - points.mean(1), np.zeros(len(points))], 1)

    ball = Ball(np.full(4, 0.3), 0.6, "2", (0, 1))
    asked = Asked(callable_model(scores, (4,)), LabelSet((0,)), ball)
    found = split(asked, QUICK)
    steps = sum(repeat.levels for repeat in found.repeats)
    assert found.queries < 300 * (16 * 10 + 15 * steps)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"particles": 9}, "give at least 10"),
        ({"repeats": 1}, "give at least 2 repeats"),
        ({"steps": 0}, "give at least 1"),
        ({"smallest": 0.0}, "not one between 0 and 1"),
        ({"smallest": math.nan}, "not one between 0 and 1"),
    ],
)
def test_settings_that_say_nothing_are_refused(wrong: dict[str, float], reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        replace(QUICK, **wrong)  # type: ignore[arg-type]
