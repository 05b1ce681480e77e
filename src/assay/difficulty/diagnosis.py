"""Why a verifier leaves instances unsolved, in a sentence to act on, or why it cannot be said.

A cause is named only where the best rule found beats the best rules found in shuffled outcomes
(`rules.py`). Shuffles keep families and networks together (`clusters.py`), so a rule must tell more
than which families are slow. Rules of one threshold are tested at 4 %, rules of two at 1 %: where
outcomes have nothing to do with the profile, at most one verifier in twenty gets a cause. A
component whose AUC may be one half (`separation.py`; the interval is about other families too) is
never named as a cause; where a rule about it beats chance here, the details have it as a lead.

Simulated false alarms (99 shuffles; tests/difficulty/test_diagnosis.py has a part of it): outcomes
that know the cluster and nothing else, in 2 to 60 clusters of equal or unequal size, families or
networks of one family, profiles alike in a cluster or not: 91 of 2,880 draws in 12 settings (3.2 %;
the worst setting 13 of 240). Planted causes, one outcome in twenty the wrong way round, with the
spread inside families 0.15, 0.5 or 1 times that between them: 10 families of 8 show one cause
always and two in 84 %, 100 % and 100 % of the draws; 3 of 20 one cause always and two in 36 %, 72 %
and 92 %; 6 of 6 one cause in 56 %, 92 % and 100 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import comb

import numpy as np

from assay.difficulty.clusters import Clusters
from assay.difficulty.components import NAMES
from assay.difficulty.explanation import Diagnosis, Point
from assay.difficulty.failing import TIMES_OUT, Failing
from assay.difficulty.inside_families import InsideFamilies
from assay.difficulty.ranks import Mask
from assay.difficulty.rule_words import likeness, meaning, where
from assay.difficulty.rules import Rule, RuleSearch

FEWEST = 3
LEVEL = 0.05
_LEVELS = (0.04, 0.01)
_NEVER = 0.01
_CLEARLY = 0.05
_NEARLY = 0.1
_MOST_RIVALS = 2
_MOST_BLIND = 0.1
"""A component that says nothing on more of the instances takes no part in rules."""


def diagnosis(
    points: Sequence[Point],
    outcomes: Mapping[str, str],
    *,
    permutations: int,
    rng: np.random.Generator,
    failing: Failing = TIMES_OUT,
    unclear: Collection[str] = (),
) -> Diagnosis:
    """`failing` says what became of the unsolved ones; `unclear` components are never a cause."""
    cases = compared(points, outcomes)
    late = [point for point in cases if outcomes[point.instance] == "unsolved"]
    solved = len(cases) - len(late)
    if not cases:
        return _said(
            "has no result to explain: none of these instances was solved or left unsolved"
        )
    if not late:
        return _said(f"solved everything it was asked ({len(cases)} instances)")
    if not solved:
        return _said(f"{failing.verb} on all {len(cases)}: the profile has nothing to compare")
    unanswered = never_solved(cases, outcomes)
    if unanswered:
        others = [case for case in cases if case.answer != unanswered]
        rest = diagnosis(
            others,
            outcomes,
            permutations=permutations,
            rng=rng,
            failing=failing,
            unclear=unclear,
        )
        return _about_the_others(rest, unanswered, len(cases) - len(others), len(others))
    if len(late) < FEWEST:
        return _said(f"too few {failing.noun} ({len(late)}) to say why")
    if solved < FEWEST:
        return _said(f"too few solved instances ({solved}, {len(late)} {failing.noun}) to say why")
    return _cause(cases, outcomes, permutations, rng, failing, unclear)


def compared(points: Sequence[Point], outcomes: Mapping[str, str]) -> list[Point]:
    """The points that were solved or left unsolved: all others have other reasons."""
    return [point for point in points if outcomes.get(point.instance) in ("solved", "unsolved")]


def _said(sentence: str, *details: str) -> Diagnosis:
    return Diagnosis(sentence, details, ())


def never_solved(cases: Sequence[Point], outcomes: Mapping[str, str]) -> str:
    """The answer that it never gives, where bad luck does not explain it: then that is the reason.

    Bad luck: none of its solved instances would have that answer if they were drawn by lot.
    """
    asked, given = Counter[str](), Counter[str]()
    for case in cases:
        if case.answer is not None:
            asked[case.answer] += 1
            given[case.answer] += outcomes[case.instance] == "solved"
    total, solved = asked.total(), given.total()
    for answer in sorted(asked):
        luck = comb(total - asked[answer], solved) / comb(total, solved)
        if not given[answer] and luck <= _NEVER:
            return answer
    return ""


def _about_the_others(rest: Diagnosis, unanswered: str, missed: int, others: int) -> Diagnosis:
    """A tool that only proves, or only falsifies, is explained on what it can do."""
    return replace(
        rest,
        sentence=f"solves none of the {missed} {unanswered} instances, whatever their profile; "
        f"on the other {others}: {rest.sentence}",
        details=(
            *rest.details,
            f"the AUCs leave out the {unanswered} instances: there they would show the answer, "
            "no cause",
        ),
    )


def _cause(
    cases: Sequence[Point],
    outcomes: Mapping[str, str],
    permutations: int,
    rng: np.random.Generator,
    failing: Failing,
    unclear: Collection[str],
) -> Diagnosis:
    seen = [name for name in NAMES if _blind(cases, name) <= _MOST_BLIND * len(cases)]
    values = {name: np.array([case.values[name] for case in cases]) for name in seen}
    late = np.array([outcomes[case.instance] == "unsolved" for case in cases])
    clusters = Clusters.of(cases)
    unseen = _left_out(cases, seen)
    search = RuleSearch(values, late, [name for name in seen if name not in unclear])
    ranked = search.ranked(1), search.ranked(2)
    everything = RuleSearch(values, late)
    if not everything.ranked(1):
        return _said("the profile is the same on all instances: it has nothing to compare")
    if not ranked[0]:
        lead = _lead(everything, late, clusters, permutations, rng, failing)
        return _all_unclear(late, failing, [*lead, *unseen])
    chances = search.chances(clusters.shuffles(late, permutations, rng))
    unseen += _not_named([name for name in seen if name in unclear])
    if not _beaten(chances):
        free = search.chances(clusters.free.shuffles(late, permutations, rng))
        found = _no_cause(late, clusters, chances, free, failing)
        lead = _lead(everything, late, clusters, permutations, rng, failing) if unclear else []
        return replace(found, details=(*found.details, *lead, *unseen))
    chosen = 0
    if chances[0] > _LEVELS[0] or (
        chances[1] <= LEVEL and _adds(search, ranked, clusters, late, permutations, rng)
    ):
        chosen = 1
    rule = ranked[chosen][0]
    inside = InsideFamilies.of(cases, late)
    kept = f" that keep {clusters.many} together" if clusters.matter else ""
    return Diagnosis(
        sentence=f"{failing.verb} {where(rule)} ({_covered(rule, late, failing)})"
        f"{meaning(rule, values)}{likeness(rule, values)}{inside.doubt(rule, clusters.many)}",
        details=(
            f"chance alone does as well with p = {chances[chosen]:.2g} ({permutations:,} shuffles"
            f"{kept}, each with its best of {search.rules(chosen + 1):,} rules)",
            *_rivals(ranked[chosen], late, failing),
            *inside.details(rule, clusters.many),
            *unseen,
        ),
        components=tuple(clause.component for clause in rule.clauses),
    )


def _blind(cases: Sequence[Point], name: str) -> int:
    return sum(name in case.blind for case in cases)


def _left_out(cases: Sequence[Point], seen: Sequence[str]) -> list[str]:
    return [
        f"{name} is left out of the rules: tau was too coarse for it on {_blind(cases, name)} of "
        f"{len(cases)} instances; profile with a smaller --tau"
        for name in NAMES
        if name not in seen
    ]


def _lead(
    search: RuleSearch,
    late: Mask,
    clusters: Clusters,
    permutations: int,
    rng: np.random.Generator,
    failing: Failing,
) -> list[str]:
    """The rule over all components that beats chance here, though its AUC may be one half."""
    chances = search.chances(clusters.shuffles(late, permutations, rng))
    if not _beaten(chances):
        return []
    chosen = 0 if chances[0] <= _LEVELS[0] else 1
    rule = search.ranked(chosen + 1)[0]
    return [
        f"a lead, not a cause: {where(rule)} ({_covered(rule, late, failing)}) beats chance on "
        f"these instances (p = {chances[chosen]:.2g}), but the interval of its AUC, which is about "
        "other families too, holds 0.5"
    ]


def _not_named(unclear: Sequence[str]) -> list[str]:
    if not unclear:
        return []
    return [f"not named as a cause, for the interval of the AUC holds 0.5: {', '.join(unclear)}"]


def _all_unclear(late: Mask, failing: Failing, unseen: Sequence[str]) -> Diagnosis:
    return _said(
        f"no cause can be told: none of the five numbers separates its {late.sum()} {failing.noun} "
        f"clearly from the {(~late).sum()} instances that it solved",
        "the interval of every AUC holds 0.5",
        *unseen,
    )


def _beaten(chances: Sequence[float]) -> bool:
    return any(found <= level for found, level in zip(chances, _LEVELS, strict=True))


def _no_cause(
    late: Mask,
    clusters: Clusters,
    chances: Sequence[float],
    free: Sequence[float],
    failing: Failing,
) -> Diagnosis:
    """No rule is good enough; say so, and whether the families are what stands in the way."""
    tested = (
        f"p = {chances[0]:.2g} for rules of one threshold ({_LEVELS[0]:g} is asked for), "
        f"{chances[1]:.2g} for two ({_LEVELS[1]:g})"
    )
    if clusters.matter and _beaten(free):
        return _said(
            f"no cause can be told: the instances come from {clusters.count} {clusters.many}, too "
            f"few to tell a cause of its {late.sum()} {failing.noun} from the {clusters.one}",
            f"shuffles that keep {clusters.many} together: {tested}",
            f"shuffles that do not: p = {free[0]:.2g} and {free[1]:.2g}",
        )
    return _said(
        f"no rule beats chance in telling its {late.sum()} {failing.noun} from the "
        f"{(~late).sum()} instances that it solved",
        tested,
    )


def _adds(
    search: RuleSearch,
    ranked: Sequence[Sequence[Rule]],
    clusters: Clusters,
    late: Mask,
    permutations: int,
    rng: np.random.Generator,
) -> bool:
    """Whether a second component says clearly more than the best one alone does."""
    single, pair = ranked[0][0], ranked[1][0]
    if pair.score < single.score + _CLEARLY:
        return False
    # Shuffled only where the single rule holds, and where not: this is what chance adds to it.
    shuffles = clusters.shuffles(late, permutations, rng, among=search.holds(single))
    return search.chances(shuffles, (2,))[0] <= LEVEL


def _covered(rule: Rule, late: Mask, failing: Failing) -> str:
    return (
        f"{rule.unsolved} of its {late.sum()} {failing.noun}, {rule.solved} of {(~late).sum()} "
        "solved"
    )


def _rivals(ranked: Sequence[Rule], late: Mask, failing: Failing) -> list[str]:
    """Rules on other components that tell nearly as much: the data may not decide between them."""
    close = [rule for rule in ranked[1:] if rule.score >= ranked[0].score - _NEARLY]
    return [
        f"nearly as good: {where(rule)} ({_covered(rule, late, failing)})"
        for rule in close[:_MOST_RIVALS]
    ]
