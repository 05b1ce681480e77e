"""Whether random points agree with the probability that a planted truth claims.

Points are drawn uniformly from boxes around the plants, so that a small probability can be seen,
and their hits are compared with the claim by binomial error. The boxes come from the witnesses and
the documented reach of a plant, not from what proves the claim; points all over the question's box
make sure that nothing violates outside of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
import torch
from numpy.typing import NDArray

from assay.question.network import Network
from assay.question.property import Case
from assay.question.torch_view import torch_view
from assay.truth.planted import OTHER_WITNESSES
from assay.truth.record import Truth

Points = NDArray[np.float64]
POINTS = 100_000
_REACH = 1.6
"""No convex plant gets further from its witness, in half-widths, its rim included."""
_FEWEST = 20
"""With fewer expected hits the normal approximation says little."""
_SIGMAS = 5.0
_AT_ONCE = 20_000


@dataclass(frozen=True)
class Agreement:
    """`hits` of `points` drawn from boxes of this share of the question's, and what was expected.

    `outside` counts violating points that lie in none of these boxes.
    """

    points: int
    weight: float
    hits: int
    expected: tuple[float, float]
    outside: int

    @property
    def telling(self) -> bool:
        """Whether enough hits were expected to tell."""
        return self.expected[0] >= _FEWEST

    @property
    def sigmas(self) -> float:
        """How many standard deviations the hits are from what was expected; 0 in between."""
        low, high = self.expected
        end = min(max(float(self.hits), low), high)
        return (self.hits - end) / sqrt(max(end * (1 - end / self.points), 1.0))

    @property
    def agrees(self) -> bool:
        return abs(self.sigmas) <= _SIGMAS and self.outside == 0


def sampled(
    network: Network, case: Case, truth: Truth, *, points: int = POINTS, seed: int = 0
) -> Agreement:
    """Compare a claimed probability with random points; the truth must claim one."""
    stated = truth.violation_probability
    if stated is None:
        raise ValueError("the truth claims no probability")
    ends = [Fraction(stated[key]) for key in ("exact", "lower", "upper") if key in stated]
    low, high = (np.array([float(v) for v in side]) for side in (case.box.lower, case.box.upper))
    boxes = [
        (np.maximum(low, centre - reach), np.minimum(high, centre + reach))
        for centre, reach in _around(truth.parameters, _witnesses(truth), high - low)
    ]
    volumes = np.array([np.prod((b - a) / (high - low)) for a, b in boxes])
    draw = np.random.default_rng(seed)
    # a point in several boxes counts once for each: what it stands for is shared among them
    chosen = draw.choice(len(boxes), points, p=volumes / volumes.sum())
    starts, sides = (
        np.array([a for a, _ in boxes])[chosen],
        np.array([b - a for a, b in boxes])[chosen],
    )
    inside = starts + draw.random((points, len(low))) * sides
    covered = sum(_within(inside, box).astype(float) for box in boxes)
    hits = (_violating(network, case, inside) / covered).sum()
    everywhere = low + draw.random((points // 4, len(low))) * (high - low)
    alone = ~np.logical_or.reduce([_within(everywhere, box) for box in boxes])
    weight = float(volumes.sum())
    return Agreement(
        points,
        weight,
        round(float(hits)),
        (float(ends[0]) / weight * points, float(ends[-1]) / weight * points),
        int(_violating(network, case, everywhere[alone]).sum()),
    )


def _witnesses(truth: Truth) -> list[Points]:
    further = [line.split() for line in truth.facts.get(OTHER_WITNESSES, "").split(";") if line]
    return [np.array([float(text) for text in line]) for line in (truth.witness or (), *further)]


def _around(
    knobs: Mapping[str, object], witnesses: Sequence[Points], sides: Points
) -> list[tuple[Points, Points]]:
    """Centres and reaches; tents and locks are all over the box."""
    if knobs["kind"] in ("tent", "xor_lock"):
        return [(witnesses[0], sides)]
    widths = _REACH * float(str(knobs["width"]))
    if knobs["depth"] and knobs["placement"] == "corner":
        widths = min(widths, float(str(knobs["depth"])))
    reach = widths * sides / 2
    return [(witness, reach) for witness in witnesses]


def _within(points: Points, box: tuple[Points, Points]) -> NDArray[np.bool_]:
    return np.asarray(((points >= box[0]) & (points <= box[1])).all(axis=1), bool)


def _violating(network: Network, case: Case, points: Points) -> NDArray[np.bool_]:
    view = torch_view(network, torch.float64)
    found = np.zeros(len(points), bool)
    for start in range(0, len(points), _AT_ONCE):
        with torch.no_grad():
            outputs = view(torch.tensor(points[start : start + _AT_ONCE]))
        part = np.zeros(len(outputs), bool)
        for disjunct in case.violation.disjuncts:
            excesses = [
                sum(float(c) * outputs[:, i] for i, c in inequality.terms) - float(inequality.bound)
                for inequality in disjunct
            ]
            part |= (torch.stack(excesses).amax(dim=0) <= 0).numpy()
        found[start : start + _AT_ONCE] = part
    return found
