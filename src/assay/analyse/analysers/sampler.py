"""The samplers: do random inputs follow the law that every other analyser relies on?

Points of the question's own box, and of balls in as many dimensions, are held against laws that are
known in closed form; the failures that they lead to, against the proven rate. Streams of different
seeds, purposes and regions must have no points in common. All of it are tests: see
`assay.analyse.calibration.laws` for their p-values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.stats import binom

from assay.analyse.calibration.analyser import Analyser
from assay.analyse.calibration.known import Effort, KnownQuestion
from assay.analyse.calibration.laws import Floats, least_of, repeat_chance
from assay.analyse.calibration.measured import Measured
from assay.analyse.calibration.sampled_laws import Kind, SampledLaw, in_unit_cube, sampled_laws
from assay.analyse.regions import BoxRegion, Region
from assay.analyse.sampling import Sampler

NAME = "sampler"
TRIALS = 10_000
"""Of each repeat: those that the intervals are made from, too."""
_STREAM = 4_096


def measure(question: KnownQuestion, effort: Effort) -> tuple[Measured, ...]:
    box = BoxRegion.enclosing(question.case.box)
    laws = list(sampled_laws(box))
    rows = [
        _row(question, "points follow another law", _law_result(question, effort, kind, laws))
        for kind in dict.fromkeys(law.kind for law in laws)
    ]
    rows.append(_row(question, "streams share points", _streams_result(effort, box)))
    rows.append(_row(question, "fails at another rate than p", _rate_result(question, effort)))
    return tuple(rows)


@dataclass(frozen=True)
class _Result:
    setting: str
    count: int
    chance: float
    figures: dict[str, float | None]


def _law_result(
    question: KnownQuestion, effort: Effort, kind: Kind, laws: list[SampledLaw]
) -> _Result:
    """All regions of one kind together."""
    chances: dict[str, list[float]] = {}
    points = 0
    for law in laws:
        if law.kind == kind:
            purpose = f"law of {kind}, {law.name}, {question.name}"
            drawn = _points(law.region, effort.seed, purpose, law.points, law.dtype)
            points += law.points
            for test, chance in law.chances(drawn):
                chances.setdefault(f"{law.name}: {test}", []).append(chance)
    figures: dict[str, float | None] = {test: least_of(some) for test, some in chances.items()}
    every = [chance for some in chances.values() for chance in some]
    return _Result(kind, points, least_of(every), figures)


def _streams_result(effort: Effort, box: BoxRegion) -> _Result:
    """The same box under other seeds and purposes, and another box."""
    wider = BoxRegion(box.lower, box.upper + (box.upper - box.lower))
    seed, purpose = effort.seed, "calibration {}".format
    streams = [
        (box, seed, purpose(0)),
        (box, seed, purpose(1)),
        (box, seed + 1, purpose(0)),
        (wider, seed, purpose(0)),
    ]
    units = [
        in_unit_cube(_points(region, s, p, _STREAM, torch.float64), region)
        for region, s, p in streams
    ]
    repeats, chance = repeat_chance(np.concatenate(units))
    setting = "other seed, purpose or box"
    return _Result(setting, len(streams) * _STREAM, chance, {"repeats": float(repeats)})


def _rate_result(question: KnownQuestion, effort: Effort) -> _Result:
    """Twice the smaller of both binomial tails, for whatever rate is possible."""
    runs = max(1, effort.repeats_of(TRIALS))
    failures = sum(int(question.record(run).first(TRIALS).sum()) for run in range(runs))
    trials = runs * TRIALS
    few = float(binom.cdf(failures, trials, question.at_most))
    many = float(binom.sf(failures - 1, trials, question.at_least))
    ratio = failures / (trials * question.rate)
    return _Result("its own box", trials, min(1.0, 2 * min(few, many)), {"failures / p n": ratio})


def _points(region: Region, seed: int, purpose: str, count: int, dtype: torch.dtype) -> Floats:
    sampler = Sampler(region, seed, purpose=purpose, dtype=dtype)
    return np.asarray(sampler.take(count).double().numpy())


def _row(question: KnownQuestion, event: str, found: _Result) -> Measured:
    return Measured(
        NAME,
        question.name,
        event,
        found.setting,
        promised=0.0,
        holds=True,
        runs=found.count,
        samples=float(found.count),
        most_samples=found.count,
        figures=found.figures,
        chance=found.chance,
    )


ANALYSERS = (
    Analyser(
        NAME,
        "samples",
        "inputs are independent and uniform on their region, whatever the seed",
        True,
        measure,
    ),
)
