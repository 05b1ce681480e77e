"""The minimal l_inf radius of a ReLU network, enclosed exactly from both sides.

The search is numerical: near violations from gradients and cells, a lower target from branch and
bound (or from a mixed-integer solver's dual bound), a tree of ReLU phases with multipliers from
linear programmes. What comes out is exact: the lower radius is proved by the tree in rational
arithmetic, the upper radius by a rational witness.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.random import Generator

from assay.bounds.nearest_violation import (
    NearViolation,
    nearest_in_cell,
    nearest_violation,
    polished,
)
from assay.bounds.phase_tree import (
    BudgetSpent,
    CounterexampleFound,
    LeafUndecided,
    PhaseProof,
    Tree,
    TreeSearch,
    replayed_bounds,
    shrunk,
    tighten,
)
from assay.bounds.radius_milp import minimal_radius
from assay.bounds.relu_network import Bounds, Floats, ReluNetwork
from assay.errors import CannotCertify
from assay.question.floaterror import Layer
from assay.question.property import Violation
from assay.question.region import Box
from assay.truth.assemble import mlp_outputs
from assay.truth.dyadic import leading_exponent, power

Solver = Literal["branch", "highs", "scip"]
_RESTARTS = 30
_CLOSENESS = 0.1
"""The part of the margin expected near the boundary that every leaf should prove."""
_SOLVER_GAP = 1e-4
"""A solver whose bound stays further below the nearest violation has not found the radius."""


@dataclass(frozen=True)
class Subject:
    """A network, a centre on a dyadic grid and the label that must not change."""

    layers: tuple[Layer, ...]
    centre: tuple[Fraction, ...]
    label: int

    @property
    def violation(self) -> Violation:
        return Violation.misclassification(self.label, len(self.layers[-1][1]))

    @property
    def rivals(self) -> list[int]:
        """The competitor classes in the order of the property's disjuncts."""
        return [k for k in range(len(self.layers[-1][1])) if k != self.label]

    def network(self) -> ReluNetwork:
        return ReluNetwork.of(self.layers)

    def floats(self) -> Floats:
        return np.array([float(c) for c in self.centre])

    def box(self, radius: Fraction) -> Bounds:
        """The box as floats, which its bounds are exactly."""
        box = Box.around(self.centre, radius)
        return np.array([float(v) for v in box.lower]), np.array([float(v) for v in box.upper])

    def distance(self, point: Sequence[Fraction]) -> Fraction:
        return max(abs(p - c) for p, c in zip(point, self.centre, strict=True))

    def margin(self, point: Sequence[Fraction]) -> Fraction:
        return self.violation.margin(mlp_outputs(self.layers, point))


@dataclass(frozen=True)
class CertifiedRadius:
    """Robust at `lower` by `proof`, violated at `upper` by `witness`, both multiples of `grid`."""

    lower: Fraction
    upper: Fraction
    witness: tuple[Fraction, ...]
    proof: PhaseProof
    grid: Fraction


def certified_radius(
    subject: Subject,
    fraction: Fraction,
    *,
    solver: Solver,
    nodes: int,
    draw: Generator,
    largest: float,
) -> CertifiedRadius:
    """Enclose the radius: lower is about `fraction` times the minimal one, upper just above it."""
    network, centre = subject.network(), subject.floats()
    if subject.margin(subject.centre) <= 0:
        raise CannotCertify("exact_radius: two scores tie at the centre; take another one")
    near = nearest_violation(network, centre, subject.label, draw, largest)
    if near is None:
        raise CannotCertify(
            f"exact_radius: no violation was found within radius {largest}; "
            "take another seed or centre"
        )
    grid = _grid(subject.centre, near.radius)
    target = near.radius
    if solver != "branch":
        target, near = _milp_target(subject, near, solver, nodes)
    for _ in range(_RESTARTS):
        lower = (fraction * Fraction(target) / grid).__floor__() * grid
        if lower <= 0:
            raise CannotCertify("exact_radius: the radius is below the grid of float32 inputs")
        try:
            proof = proved(subject, lower, 1 - float(fraction), nodes)
        except CounterexampleFound as found:
            near = polished(network, centre, subject.label, found.point)
            target = near.radius
            continue
        except BudgetSpent:
            raise CannotCertify(
                f"exact_radius: the tree at radius {float(lower):.6g} needs more than "
                f"{nodes} nodes; raise nodes or take a smaller network"
            ) from None
        except LeafUndecided:
            raise CannotCertify(
                f"exact_radius: radius {float(lower):.6g} is so close to the boundary that float64 "
                "cannot tell; ask for a smaller fraction"
            ) from None
        witness = _exact_witness(subject, near, grid)
        return CertifiedRadius(lower, subject.distance(witness), witness, proof, grid)
    raise CannotCertify("exact_radius: the search for the nearest violation did not settle")


def proof_within(subject: Subject, whole: CertifiedRadius, radius: Fraction) -> PhaseProof:
    """The proof for a radius at most `whole.lower`, cut down to what that radius needs."""
    if radius == whole.lower:
        return whole.proof
    network, box = subject.network(), subject.box(radius)
    bounds = replayed_bounds(network, box, network.interval_bounds(*box), whole.proof.tightenings)
    search = TreeSearch(network, box, bounds, subject.label)
    nominal = float(subject.margin(subject.centre))
    least = 0.4 * nominal * float(1 - radius / whole.upper)
    return shrunk(search, whole.proof, subject.rivals, least)


def proved(subject: Subject, radius: Fraction, slack: float, nodes: int) -> PhaseProof:
    """A tree for a radius, or BudgetSpent, CounterexampleFound or LeafUndecided.

    Every leaf proves a tenth of `slack` times the margin at the centre.
    """
    network, box = subject.network(), subject.box(radius)
    bounds, steps = tighten(network, box, network.interval_bounds(*box))
    search = TreeSearch(network, box, bounds, subject.label)
    threshold = _CLOSENESS * slack * float(subject.margin(subject.centre))
    trees: list[Tree] = []
    for rival in subject.rivals:
        trees.append(search.prove(rival, threshold, nodes - sum(len(tree) for tree in trees)))
    return PhaseProof(tuple(steps), tuple(trees))


def _milp_target(
    subject: Subject, near: NearViolation, solver: Literal["highs", "scip"], nodes: int
) -> tuple[float, NearViolation]:
    """The smallest dual bound over all rivals, and the nearest violation the solver saw."""
    network, centre = subject.network(), subject.floats()
    target = near.radius
    for rival in subject.rivals:
        cutoff = target * (1 + 1e-9)
        box = (centre - cutoff, centre + cutoff)
        bounds, _ = tighten(network, box, network.interval_bounds(*box))
        found = minimal_radius(network, centre, subject.label, rival, bounds, cutoff, solver, nodes)
        target = min(target, found.lower)
        if found.point is not None:
            outside = found.point + 1e-7 * (found.point - centre)
            closer = polished(network, centre, subject.label, outside)
            near = closer if closer.radius < near.radius else near
    if target < near.radius * (1 - _SOLVER_GAP):
        raise CannotCertify(
            f"exact_radius: {solver} leaves the radius between {target:.6g} and "
            f"{near.radius:.6g} after {nodes} nodes; raise nodes or take solver branch"
        )
    return target, near


def _exact_witness(subject: Subject, near: NearViolation, grid: Fraction) -> tuple[Fraction, ...]:
    """A violating input on the grid, as little beyond the near violation as the search manages.

    Either the near violation is stretched away from the centre, or, where the violating region
    is a thin wedge, its ReLU cell is asked for a slightly deeper violation.
    """
    centre = subject.floats()
    found: list[tuple[Fraction, ...]] = []
    for candidates in (_stretched(centre, near), _deeper(subject, centre, near)):
        for candidate in candidates:
            point = tuple(round(Fraction(float(v)) / grid) * grid for v in candidate)
            if subject.margin(point) < 0:
                found.append(point)
                break
    if not found:
        raise CannotCertify("exact_radius: no exact witness was found just above the radius")
    return min(found, key=subject.distance)


def _stretched(centre: Floats, near: NearViolation) -> Iterator[Floats]:
    for exponent in range(-26, -3):
        yield centre + (near.point - centre) * (1 + 2.0**exponent)


def _deeper(subject: Subject, centre: Floats, near: NearViolation) -> Iterator[Floats]:
    network = subject.network()
    for exponent in range(-24, -6):
        moved = nearest_in_cell(network, centre, subject.label, near.cell, 2.0**exponent)
        if moved is None:
            return
        yield moved.point


def _grid(centre: Sequence[Fraction], radius: float) -> Fraction:
    """The finest grid on which every point within twice the radius is a float32 number."""
    reach = max(abs(c) for c in centre) + 2 * Fraction(radius)
    return power(leading_exponent(reach) + 1 - 24)
