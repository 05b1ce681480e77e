"""Why verifiers leave instances unsolved: outcomes held against the profiles of instances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.difficulty.clusters import Clusters
from assay.difficulty.components import NAMES
from assay.difficulty.diagnosis import compared, diagnosis, never_solved
from assay.difficulty.explanation import (
    Diagnosis,
    Explanation,
    Point,
    Separation,
    VerifierExplanation,
)
from assay.difficulty.failing import failing, listed
from assay.difficulty.interactions import interaction_maps
from assay.difficulty.separation import Side, separation
from assay.difficulty.trajectories import trajectories

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Outcomes:
    """What became of the instances under one verifier, by name.

    `outcomes` are `solved`, `unsolved` and `left out`; an instance that is not named was not run.
    `words` say the same more precisely, as the judge does.
    """

    verifier: str
    outcomes: Mapping[str, str]
    seconds: Mapping[str, float]
    words: Mapping[str, str]


def explained(
    benchmark: str,
    points: Sequence[Point],
    runs: Sequence[Outcomes],
    without_profile: Sequence[str] = (),
    *,
    seed: int,
    resamples: int,
) -> Explanation:
    """Everything that can be said; `resamples` counts bootstrap samples, and shuffles too."""
    return Explanation(
        benchmark=benchmark,
        points=tuple(points),
        verifiers=tuple(_verifier(points, run, seed, resamples) for run in runs),
        trajectories=trajectories(points, benchmark),
        without_profile=tuple(without_profile),
        confidence=CONFIDENCE,
        resamples=resamples,
        seed=seed,
    )


def _verifier(
    points: Sequence[Point], run: Outcomes, seed: int, resamples: int
) -> VerifierExplanation:
    outcomes = {point.instance: run.outcomes.get(point.instance, "left out") for point in points}
    # Each verifier draws for itself, so that its numbers do not depend on who else was run.
    for_auc, for_cause = (
        np.random.default_rng([seed, number, *run.verifier.encode()]) for number in range(2)
    )
    late = [run.words[name] for name, found in outcomes.items() if found == "unsolved"]
    separations = _separations(points, outcomes, resamples, for_auc)
    found = diagnosis(
        points,
        outcomes,
        permutations=resamples,
        rng=for_cause,
        failing=failing(late),
        unclear=[separation.component for separation in separations if not separation.clear],
    )
    return VerifierExplanation(
        verifier=run.verifier,
        outcomes=outcomes,
        words={name: run.words[name] for name in outcomes if name in run.words},
        seconds={name: run.seconds[name] for name in outcomes if name in run.seconds},
        separations=separations,
        maps=interaction_maps(points, outcomes),
        diagnosis=_with_counts(found, points, outcomes, run.words),
    )


def _separations(
    points: Sequence[Point],
    outcomes: Mapping[str, str],
    resamples: int,
    rng: np.random.Generator,
) -> tuple[Separation, ...]:
    """About the instances of the diagnosis: without an answer that the verifier never gives."""
    every = compared(points, outcomes)
    never = never_solved(every, outcomes)
    cases = [case for case in every if not never or case.answer != never]
    late = np.array([outcomes[case.instance] == "unsolved" for case in cases])
    if late.all() or not late.any():
        return ()
    clusters = Clusters.of(cases).independent
    found = []
    for name in NAMES:
        values = np.array([case.values[name] for case in cases])
        sides = (Side.of(values[side], clusters[side]) for side in (late, ~late))
        found.append(separation(name, *sides, confidence=CONFIDENCE, resamples=resamples, rng=rng))
    return tuple(found)


def _with_counts(
    found: Diagnosis,
    points: Sequence[Point],
    outcomes: Mapping[str, str],
    words: Mapping[str, str],
) -> Diagnosis:
    """The diagnosis with what is meant by unsolved, and by left out, where that is not plain."""
    names: dict[str, list[str]] = {"solved": [], "unsolved": [], "left out": []}
    for name, outcome in outcomes.items():
        names[outcome].append(words.get(name, "not run"))
    said = _solved_by_answer(points, outcomes)
    if set(names["unsolved"]) - {"timeout"}:
        said.append(f"unsolved: {listed(names['unsolved'])}")
    if names["left out"]:
        said.append(f"left out: {listed(names['left out'])}")
    return replace(found, details=(*found.details, *said))


def _solved_by_answer(points: Sequence[Point], outcomes: Mapping[str, str]) -> list[str]:
    """A profile also tells the answers apart (M_min does), so both are counted."""
    asked, solved = Counter[str](), Counter[str]()
    for point in points:
        if point.answer and outcomes[point.instance] != "left out":
            asked[point.answer] += 1
            solved[point.answer] += outcomes[point.instance] == "solved"
    if len(asked) < 2:
        return []
    parts = [f"{solved[answer]} of {asked[answer]} {answer}" for answer in sorted(asked)]
    return [f"it solved {' and '.join(parts)} instances"]
