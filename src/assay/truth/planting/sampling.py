"""Whether random points agree with the probability that a planted truth claims.

Points are drawn uniformly from hulls of the plants, so that a small probability can be seen, and
their hits are compared with the claim by binomial error. The hulls come from what the parameters
and the seed plant, not from what proves the claim; points all over the question's box, and all
around the witnesses, make sure that nothing violates outside of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
import torch
from numpy.typing import NDArray

from assay.errors import BadInput
from assay.question.network import Network
from assay.question.property import Case
from assay.question.torch_view import torch_view
from assay.question.vnnlib import decimal
from assay.truth.planted import FAMILY, PlantedKnobs, sow
from assay.truth.planting.plant import Plant
from assay.truth.record import Truth

Points = NDArray[np.float64]
POINTS = 100_000
_FEWEST = 20
"""With fewer expected hits the normal approximation says little."""
_SIGMAS = 5.0
_AT_ONCE = 20_000


@dataclass(frozen=True)
class Agreement:
    """`hits` of `points` drawn from hulls of this share of the box, and what was expected.

    `outside` counts violating points that lie in none of these hulls.
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
    plants = _plants(truth, case)
    hulls = [plant.hull for plant in plants]
    shares = np.array([hull.log_volume() - np.log(high - low).sum() for hull in hulls])
    shares = np.exp(shares)
    draw = np.random.default_rng(seed)
    counts = draw.multinomial(points, shares / shares.sum())
    inside = np.concatenate([h.drawn(draw, int(n)) for h, n in zip(hulls, counts, strict=True)])
    inside = inside[_within(inside, (low, high))]
    # a point in several hulls counts once for each: what it stands for is shared among them
    covered = np.maximum(sum(hull.holds(inside).astype(float) for hull in hulls), 1)
    hits = (_violating(network, case, inside) / covered).sum()
    spread = float(str(truth.parameters["width"])) * (high - low)
    centres = [np.array([float(v) for v in plant.witness]) for plant in plants]
    away = [
        low + draw.random((points // 4, len(low))) * (high - low),
        *(c + (draw.random((points // 8, len(low))) - 0.5) * 2 * spread for c in centres),
    ]
    tried = np.clip(np.concatenate(away), low, high)
    alone = ~np.logical_or.reduce([hull.holds(tried) for hull in hulls])
    weight = float(shares.sum())
    return Agreement(
        points,
        weight,
        round(float(hits)),
        (float(ends[0]) / weight * points, float(ends[-1]) / weight * points),
        int(_violating(network, case, tried[alone]).sum()),
    )


def _plants(truth: Truth, case: Case) -> list[Plant]:
    sown = sow(PlantedKnobs.model_validate(truth.parameters), truth.seed)
    if sown.box != case.box or tuple(map(decimal, sown.plants[0].witness)) != truth.witness:
        raise BadInput(
            f"{FAMILY}: parameters and seed of a truth plant something else; rebuild the benchmark"
        )
    return sown.plants


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
