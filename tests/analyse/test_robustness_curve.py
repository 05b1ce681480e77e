"""Bounds of a curve hold for the population, also where decisions err as often as they may."""

from __future__ import annotations

import numpy as np
import pytest

from assay.analyse.promise import Promise
from assay.analyse.weakened.curve import (
    NOT_ROBUST,
    ROBUST,
    UNDECIDED,
    CurvePoint,
    InputDecision,
    curve_points,
)

PROMISE = Promise(0.1, 0.05, 0.1, 0.2)


def decision(verdict: str, radius: float = 1.0) -> InputDecision:
    return InputDecision("x", 0, True, radius, PROMISE.eps, verdict, 10, 0)


def bounded(called: np.ndarray) -> CurvePoint:
    verdicts = [decision(ROBUST if robust else NOT_ROBUST) for robust in called]
    (point,) = curve_points(verdicts, [PROMISE], 0.95)
    return point


@pytest.mark.parametrize("below_eps", [0.05, 0.5, 0.95])
def test_the_bounds_cover_at_the_stated_confidence(below_eps: float) -> None:
    """2,000 data sets of 60 inputs; those robust at eps' are half of those below eps.

    The worst that the promise allows. For the first bound: all with a rate below eps are called
    robust, and the others with probability beta. For the second: those with a rate of eps' or less
    are not with probability alpha, and none of the others is. More than 2,000 * .025 + 5 sigma
    misses have a probability below 1e-6.
    """
    draw = np.random.default_rng(7)
    inner = below_eps / 2
    missed = np.zeros(2, int)
    for _ in range(2000):
        rate = draw.random(60)
        lucky = draw.random(60)
        often = (rate < below_eps) | (lucky < PROMISE.beta)
        seldom = (rate < inner) & (lucky >= PROMISE.alpha)
        missed[0] += bounded(often).least_below_eps > below_eps
        missed[1] += bounded(seldom).most_below_inner < inner
    assert (missed <= 85).all(), missed
    # Nor are the bounds so wide that nothing could miss them.
    assert missed.max() >= 5, missed


def test_undecided_inputs_widen_both_bounds() -> None:
    sure = [decision(ROBUST)] * 30 + [decision(NOT_ROBUST)] * 30
    open_ones = [decision(ROBUST)] * 30 + [decision(UNDECIDED)] * 30
    (narrow,) = curve_points(sure, [PROMISE], 0.95)
    (wide,) = curve_points(open_ones, [PROMISE], 0.95)
    assert wide.least_below_eps == narrow.least_below_eps
    assert wide.most_below_inner == 1.0 > narrow.most_below_inner
    assert (wide.share, wide.undecided) == (0.5, 30)


def test_a_rule_without_a_promise_bounds_nothing() -> None:
    (point,) = curve_points([decision(ROBUST)] * 9, [PROMISE], 0.95, holds=False)
    assert (point.least_below_eps, point.most_below_inner) == (0.0, 1.0)


def test_radii_come_in_order() -> None:
    mixed = [decision(ROBUST, r) for r in (3.0, 1.0, 2.0, 1.0)]
    points = curve_points(mixed, [PROMISE], 0.9)
    assert [(p.radius, p.inputs) for p in points] == [(1.0, 2), (2.0, 1), (3.0, 1)]
