"""Why verifiers time out: their outcomes held against the profiles of the instances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.difficulty.components import NAMES
from assay.difficulty.diagnosis import diagnosis
from assay.difficulty.explanation import (
    Diagnosis,
    Explanation,
    Point,
    Separation,
    VerifierExplanation,
)
from assay.difficulty.interactions import interaction_maps
from assay.difficulty.separation import separation
from assay.difficulty.trajectories import trajectories

CONFIDENCE = 0.95
_VERBS = {"unknown": "gives up", "out-of-memory": "runs out of memory"}


@dataclass(frozen=True)
class Outcomes:
    """What became of the instances under one verifier, by name.

    `outcomes` are `solved`, `timeout` and `left out`; an instance that is not named was not run.
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
    late = Counter(run.words[name] for name, found in outcomes.items() if found == "timeout")
    verb = _VERBS.get(late.most_common(1)[0][0], "times out") if late else "times out"
    found = diagnosis(points, outcomes, permutations=resamples, rng=for_cause, fails=verb)
    return VerifierExplanation(
        verifier=run.verifier,
        outcomes=outcomes,
        seconds={name: run.seconds[name] for name in outcomes if name in run.seconds},
        separations=_separations(points, outcomes, resamples, for_auc),
        maps=interaction_maps(points, outcomes),
        diagnosis=_with_counts(found, points, outcomes, run.words),
    )


def _separations(
    points: Sequence[Point],
    outcomes: Mapping[str, str],
    resamples: int,
    rng: np.random.Generator,
) -> tuple[Separation, ...]:
    late = [point for point in points if outcomes[point.instance] == "timeout"]
    solved = [point for point in points if outcomes[point.instance] == "solved"]
    if not late or not solved:
        return ()
    return tuple(
        separation(
            name,
            [point.values[name] for point in late],
            [point.values[name] for point in solved],
            confidence=CONFIDENCE,
            resamples=resamples,
            rng=rng,
        )
        for name in NAMES
    )


def _with_counts(
    found: Diagnosis,
    points: Sequence[Point],
    outcomes: Mapping[str, str],
    words: Mapping[str, str],
) -> Diagnosis:
    """The diagnosis with what is meant by a timeout, and by left out, where that is not plain."""
    names: dict[str, list[str]] = {"solved": [], "timeout": [], "left out": []}
    for name, outcome in outcomes.items():
        names[outcome].append(words.get(name, "not run"))
    said = _solved_by_answer(points, outcomes)
    if set(names["timeout"]) - {"timeout"}:
        said.append(f"timeouts here are: {_listed(names['timeout'])}")
    if names["left out"]:
        said.append(f"left out: {_listed(names['left out'])}")
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


def _listed(words: Sequence[str]) -> str:
    return ", ".join(f"{count} {word}" for word, count in Counter(words).most_common())
