from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from small_networks import box, drawn, least_margin, least_radius

from assay.bounds.phase_tree import (
    LEAF,
    BudgetSpent,
    CounterexampleFound,
    PhaseProof,
    TreeSearch,
    replayed_bounds,
    shrunk,
    tighten,
)
from assay.proof.arithmetic import Rejected
from assay.proof.checker import proven_margin
from assay.question import vnnlib
from assay.question.graph import mlp
from assay.question.region import Box
from assay.truth.certified_radius import Subject

CASES = [
    (0, (2, 3, 2)),
    (1, (3, 4, 4, 3)),
    (2, (4, 5, 3)),
    (3, (3, 3, 3, 2, 2)),
    (4, (5, 4, 4, 4)),
    (5, (3, 4, 3, 3)),
    (6, (4, 7, 2)),
    (7, (6, 4, 3, 5)),
]


@cache
def boundary(seed: int, sizes: tuple[int, ...]) -> tuple[Subject, float]:
    """A network and its exact radius, by brute force."""
    subject = drawn(seed, sizes)
    return subject, min(least_radius(subject, rival) for rival in subject.rivals)


def dyadic(radius: float) -> float:
    """A nearby radius for which the box is exact in floats and short in decimals."""
    return round(radius * 2**20) / 2**20


def proof(subject: Subject, radius: float, budget: int = 5000) -> PhaseProof:
    network, region = subject.network(), box(subject, radius)
    bounds, steps = tighten(network, region, network.interval_bounds(*region))
    search = TreeSearch(network, region, bounds, subject.label)
    trees = tuple(search.prove(rival, 0.0, budget) for rival in subject.rivals)
    return PhaseProof(tuple(steps), trees)


def proved(subject: Subject, radius: float, arrays: bytes) -> Fraction:
    """What the checker's own rule proves from the arrays."""
    region = Box.around(subject.centre, Fraction(radius))
    text = vnnlib.write(region, subject.violation).encode()
    return proven_margin(mlp(subject.layers), text, "relu_tree", arrays)


@pytest.mark.parametrize(("seed", "sizes"), CASES)
def test_the_checker_accepts_the_tree_and_proves_no_more_than_is_true(
    seed: int, sizes: tuple[int, ...]
) -> None:
    subject, radius = boundary(seed, sizes)
    for part in (0.5, 0.999):
        inner = dyadic(radius * part)
        found = proof(subject, inner)
        margin = proved(subject, inner, found.packed())
        region = box(subject, inner)
        true = min(least_margin(subject, rival, region) for rival in subject.rivals)
        assert 0 < margin <= Fraction(true + 1e-7)
        leaves = [node.split == LEAF for tree in found.trees for node in tree]
        assert found.leaves == sum(leaves) == (len(leaves) + len(found.trees)) // 2


@pytest.mark.parametrize(("seed", "sizes"), CASES)
def test_a_violation_in_the_box_stops_the_search(seed: int, sizes: tuple[int, ...]) -> None:
    subject, radius = boundary(seed, sizes)
    outer = dyadic(radius * 1.001)
    with pytest.raises(CounterexampleFound) as caught:
        proof(subject, outer)
    point = caught.value.point
    low, high = box(subject, outer)
    assert ((low <= point) & (point <= high)).all()
    assert subject.network().margins(point[None], subject.label)[0] <= 0
    assert subject.margin([Fraction(float(v)) for v in point]) <= Fraction(1, 10**12)


def test_a_budget_is_kept() -> None:
    subject = drawn(0, (6, 8, 8, 3))
    network = subject.network()
    low, high = 0.0, 4.0
    for _ in range(8):
        middle = (low + high) / 2
        try:
            whole = proof(subject, middle)
            low = middle
        except CounterexampleFound:
            high = middle
    whole = proof(subject, low)
    largest = max(len(tree) for tree in whole.trees)
    assert largest > 3
    with pytest.raises(BudgetSpent):
        proof(subject, low, budget=largest - 1)
    assert proof(subject, low, budget=largest).packed() == whole.packed()
    assert network.hidden == (8, 8)


@pytest.mark.parametrize(("seed", "sizes"), CASES)
@pytest.mark.parametrize("part", [0.25, 0.5, 0.9375])
def test_a_shrunk_proof_is_no_larger_and_still_verifies(
    seed: int, sizes: tuple[int, ...], part: float
) -> None:
    subject, whole_radius = boundary(seed, sizes)
    radius = dyadic(whole_radius * 0.999)
    whole = proof(subject, radius)
    network, smaller = subject.network(), box(subject, radius * part)
    bounds = replayed_bounds(network, smaller, network.interval_bounds(*smaller), whole.tightenings)
    search = TreeSearch(network, smaller, bounds, subject.label)
    cut = shrunk(search, whole, subject.rivals, 0.0)
    assert cut.leaves <= whole.leaves
    assert proved(subject, radius * part, cut.packed()) > 0
    assert proved(subject, radius * part, whole.packed()) > 0


def test_a_proof_is_about_its_box_only() -> None:
    subject, whole_radius = boundary(*CASES[1])
    radius = dyadic(whole_radius * 0.999)
    arrays = proof(subject, radius).packed()
    for larger in (1.002, 1.25):
        with pytest.raises(Rejected):
            proved(subject, dyadic(whole_radius * larger), arrays)


def test_replayed_bounds_contain_samples() -> None:
    subject = drawn(3, (3, 5, 5, 2))
    network = subject.network()
    wide, narrow = box(subject, 0.5), box(subject, 0.25)
    _, steps = tighten(network, wide, network.interval_bounds(*wide))
    assert steps
    bounds = replayed_bounds(network, narrow, network.interval_bounds(*narrow), steps)
    values = network.preactivations(np.random.default_rng(0).uniform(*narrow, size=(2000, 3)))
    for (low, high), value in zip(bounds, values, strict=False):
        assert (low <= value + 1e-9).all()
        assert (value <= high + 1e-9).all()
