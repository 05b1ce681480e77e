"""Three searches for the same radius: branch and bound, HiGHS, SCIP; and brute force."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from small_networks import drawn, least_radius

from assay.bounds.nearest_violation import nearest_violation
from assay.bounds.phase_tree import tighten
from assay.bounds.radius_milp import minimal_radius
from assay.bounds.relu_milp import Solver
from assay.truth.certified_radius import Subject, certified_radius

NODES = 20_000


def milp(subject: Subject, solver: Solver, cutoff: float) -> float:
    """The smallest dual bound over all rivals; infinite if nothing lies within the cut-off."""
    network, centre = subject.network(), subject.floats()
    region = (centre - cutoff, centre + cutoff)
    bounds, _ = tighten(network, region, network.interval_bounds(*region))
    return min(
        minimal_radius(network, centre, subject.label, rival, bounds, cutoff, solver, NODES).lower
        for rival in subject.rivals
    )


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_brute_force_over_all_cells_agrees(seed: int) -> None:
    subject = drawn(seed, (4, 4, 3, 3))
    truth = min(least_radius(subject, rival) for rival in subject.rivals)
    for solver in ("highs", "scip"):
        assert milp(subject, solver, truth * 1.5) == pytest.approx(truth, rel=1e-6)
        assert milp(subject, solver, truth * 0.99) == np.inf
    found = certified_radius(
        subject,
        Fraction(999_999, 10**6),
        solver="branch",
        nodes=NODES,
        draw=np.random.default_rng(seed),
        largest=4.0,
    )
    assert float(found.lower) <= truth <= float(found.upper) * (1 + 1e-9)
    assert float(found.lower) >= truth * (1 - 1e-5)
    assert float(found.upper) <= truth * (1 + 1e-5)


@pytest.mark.parametrize(
    ("seed", "sizes"),
    [
        (0, (5, 5, 3)),
        (1, (6, 8, 8, 3)),
        (2, (8, 10, 4)),
        (3, (10, 8, 6, 5)),
        (4, (5, 15, 2)),
        (5, (7, 12, 12, 4)),
    ],
)
def test_the_enclosure_holds_the_radius_of_both_solvers(seed: int, sizes: tuple[int, ...]) -> None:
    subject = drawn(seed, sizes)
    found = certified_radius(
        subject,
        Fraction(999_999, 10**6),
        solver="branch",
        nodes=NODES,
        draw=np.random.default_rng(seed),
        largest=4.0,
    )
    assert 0 < found.lower < found.upper
    assert subject.margin(found.witness) < 0
    distance = max(abs(w - c) for w, c in zip(found.witness, subject.centre, strict=True))
    assert distance == found.upper
    radii = [milp(subject, solver, float(found.upper) * 1.001) for solver in ("highs", "scip")]
    assert radii[0] == pytest.approx(radii[1], rel=1e-6)
    for radius in radii:
        assert float(found.lower) <= radius * (1 + 1e-7)
        assert radius <= float(found.upper) * (1 + 1e-7)
        assert float(found.lower) == pytest.approx(radius, rel=3e-6)


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_a_solver_gives_the_same_enclosure_as_branching(solver: Solver) -> None:
    subject = drawn(6, (6, 7, 7, 3))
    lower, upper = {}, {}
    for name in ("branch", solver):
        found = certified_radius(
            subject,
            Fraction(99_999, 100_000),
            solver=name,
            nodes=NODES,
            draw=np.random.default_rng(0),
            largest=4.0,
        )
        lower[name], upper[name] = float(found.lower), float(found.upper)
    assert lower[solver] == pytest.approx(lower["branch"], rel=1e-6)
    assert max(lower.values()) < min(upper.values())


def test_a_near_violation_is_one_and_never_nearer_than_the_truth() -> None:
    for seed in range(6):
        subject = drawn(seed, (4, 5, 3))
        near = nearest_violation(
            subject.network(), subject.floats(), subject.label, np.random.default_rng(seed), 4.0
        )
        truth = min(least_radius(subject, rival) for rival in subject.rivals)
        if near is None:
            assert truth > 1
            continue
        assert near.radius >= truth * (1 - 1e-6)
        assert near.radius <= truth * 1.5
        assert subject.network().margins(near.point[None], subject.label)[0] <= 1e-7


def test_no_violation_within_reach_is_none() -> None:
    subject = drawn(0, (3, 4, 2))
    rivals = [least_radius(subject, rival) for rival in subject.rivals]
    near = nearest_violation(
        subject.network(),
        subject.floats(),
        subject.label,
        np.random.default_rng(0),
        min(rivals) * 0.9,
    )
    assert near is None
