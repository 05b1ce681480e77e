"""Why a verifier times out, in one sentence that its author can act on, or why it cannot be said.

A cause is named only where the best rule found beats, at the 5 % level, the best rules found in
shuffled outcomes (`rules.py`): where outcomes have nothing to do with the profile, at most one
verifier in twenty gets a cause (simulated in tests/difficulty/test_diagnosis.py).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from assay.difficulty.components import COMPONENTS, NAMES, Component
from assay.difficulty.explanation import Diagnosis, Point
from assay.difficulty.ranks import Mask, Values, pairs_won, spearman
from assay.difficulty.rules import Clause, Rule, RuleSearch, chance

FEWEST = 3
LEVEL = 0.05
_CLEARLY = 0.05
_ALIKE = 0.9
_NEARLY = 0.1
_MOST_RIVALS = 2
_BY_NAME = {component.name: component for component in COMPONENTS}


def diagnosis(
    points: Sequence[Point],
    outcomes: Mapping[str, str],
    *,
    permutations: int,
    rng: np.random.Generator,
    fails: str = "times out",
) -> Diagnosis:
    """`fails` is the verb for what happened to its timeouts, as `gives up`."""
    cases = [point for point in points if outcomes.get(point.instance) in ("solved", "timeout")]
    late = [point for point in cases if outcomes[point.instance] == "timeout"]
    solved = len(cases) - len(late)
    if not cases:
        return _said("has no result to explain: none of these instances was solved or timed out")
    if not late:
        return _said(f"solved everything it was asked ({len(cases)} instances)")
    if not solved:
        return _said(f"{fails} on all {len(cases)}: the profile has nothing to compare")
    unanswered = _never_solved(cases, outcomes)
    if unanswered:
        return _about_the_others(cases, outcomes, unanswered, permutations, rng, fails)
    if len(late) < FEWEST:
        return _said(f"too few timeouts ({len(late)}) to say why")
    if solved < FEWEST:
        return _said(f"too few solved instances ({solved}, {len(late)} timeouts) to say why")
    return _cause(cases, outcomes, permutations, rng, fails)


def _said(sentence: str, *details: str) -> Diagnosis:
    return Diagnosis(sentence, details, ())


def _never_solved(cases: Sequence[Point], outcomes: Mapping[str, str]) -> str:
    """The answer that it never gives, though asked often enough: then that is the reason."""
    asked, given = Counter[str](), Counter[str]()
    for case in cases:
        if case.answer is not None:
            asked[case.answer] += 1
            given[case.answer] += outcomes[case.instance] == "solved"
    if not given.total():
        return ""
    return next((a for a in sorted(asked) if not given[a] and asked[a] >= FEWEST), "")


def _about_the_others(
    cases: Sequence[Point],
    outcomes: Mapping[str, str],
    unanswered: str,
    permutations: int,
    rng: np.random.Generator,
    fails: str,
) -> Diagnosis:
    """A tool that only proves, or only falsifies, is explained on what it can do."""
    others = [case for case in cases if case.answer != unanswered]
    rest = diagnosis(others, outcomes, permutations=permutations, rng=rng, fails=fails)
    missed = len(cases) - len(others)
    return replace(
        rest,
        sentence=f"solves none of the {missed} {unanswered} instances, whatever their profile; "
        f"on the other {len(others)}: {rest.sentence}",
        details=(
            *rest.details,
            f"the AUCs count the {unanswered} instances too: there they show the answer, no cause",
        ),
    )


def _cause(
    cases: Sequence[Point],
    outcomes: Mapping[str, str],
    permutations: int,
    rng: np.random.Generator,
    fails: str,
) -> Diagnosis:
    values = {name: np.array([case.values[name] for case in cases]) for name in NAMES}
    late = np.array([outcomes[case.instance] == "timeout" for case in cases])
    search = RuleSearch(values, late)
    singles, pairs = search.ranked(1), search.ranked(2)
    if not singles:
        return _said("the profile is the same on all instances: it has nothing to compare")
    shuffled = search.shuffled(permutations, rng)
    p_single, p_pair = (chance(search.grid_score(number), shuffled) for number in (1, 2))
    tried = f"a permutation test of all {search.rules:,} rules tried, {permutations:,} shuffles"
    if min(p_single, p_pair) > LEVEL:
        return _said(
            f"no component separates its {late.sum()} timeouts from what it solved beyond chance "
            f"(p = {min(p_single, p_pair):.2g})",
            f"p is from {tried}",
        )
    ranked, p = singles, p_single
    if p_single > LEVEL or (
        p_pair <= LEVEL and _adds(search, singles[0], pairs[0], permutations, rng)
    ):
        ranked, p = pairs, p_pair
    rule = ranked[0]
    return Diagnosis(
        sentence=f"{fails} {_where(rule)}{_meaning(rule)}{_doubt(_alike(rule, values))}",
        details=(
            f"this covers {_covered(rule, late)}",
            f"chance alone does as well with p = {p:.2g} ({tried})",
            *_rivals(ranked, late),
            *_families(cases, outcomes, rule),
        ),
        components=tuple(clause.component for clause in rule.clauses),
    )


def _adds(
    search: RuleSearch, single: Rule, pair: Rule, permutations: int, rng: np.random.Generator
) -> bool:
    """Whether a second component says clearly more than the best one alone does."""
    if pair.score < single.score + _CLEARLY:
        return False
    return chance(search.grid_score(2), search.shuffled(permutations, rng, within=single)) <= LEVEL


def _covered(rule: Rule, late: Mask) -> str:
    return (
        f"{rule.timeouts} of its {late.sum()} timeouts and {rule.solved} of the {(~late).sum()} "
        "instances that it solved"
    )


def _rivals(ranked: Sequence[Rule], late: Mask) -> list[str]:
    """Rules on other components that tell nearly as much: the data may not decide between them."""
    close = [rule for rule in ranked[1:] if rule.score >= ranked[0].score - _NEARLY]
    return [
        f"nearly as good: {_where(rule)} ({_covered(rule, late)})" for rule in close[:_MOST_RIVALS]
    ]


def _where(rule: Rule) -> str:
    """The hard ends come first: they are the cause, the others say what it is not."""
    ordered = sorted(rule.clauses, key=lambda clause: not _is_hard(clause))
    said = [
        f"{clause.component} is {'above' if clause.above else 'below'} {shown(clause.threshold)}"
        for clause in ordered
    ]
    return "where " + " while ".join(said)


def _meaning(rule: Rule) -> str:
    hard = [_BY_NAME[clause.component] for clause in rule.clauses if _is_hard(clause)]
    easy = [_BY_NAME[clause.component] for clause in rule.clauses if not _is_hard(clause)]
    if not hard:
        return ", the easy end: look for a cause that the profile does not measure"
    causes = " and ".join(_cause_and_cure(component)[0] for component in hard)
    cures = "; or ".join(_cause_and_cure(component)[1] for component in hard)
    excluded = "".join(f", not {_cause_and_cure(component)[0]}" for component in easy)
    return f": {causes}{excluded}; what may help: {cures}"


def _cause_and_cure(component: Component) -> tuple[str, str]:
    cause, _, cure = component.remedy.partition(": ")
    return cause, cure


def _is_hard(clause: Clause) -> bool:
    return clause.above == (_BY_NAME[clause.component].harder_when == "large")


def _alike(rule: Rule, values: Mapping[str, Values]) -> list[tuple[str, str, float]]:
    """The components that go with one of the rule, so that either could be the cause."""
    found: list[tuple[str, str, float]] = []
    for clause in rule.clauses:
        for other in NAMES:
            twice = any(other == a and clause.component == b for a, b, _ in found)
            correlation = spearman(values[clause.component], values[other])
            if other != clause.component and not twice and abs(correlation) > _ALIKE:
                found.append((clause.component, other, correlation))
    return found


def _doubt(alike: Sequence[tuple[str, str, float]]) -> str:
    return "".join(
        f"; {name} cannot be told apart from {other} here (rank correlation {correlation:.2f})"
        for name, other, correlation in alike
    )


def _families(cases: Sequence[Point], outcomes: Mapping[str, str], rule: Rule) -> list[str]:
    """Whether the component still separates inside families, or only tells families apart."""
    families: dict[str, tuple[list[Point], list[Point]]] = defaultdict(lambda: ([], []))
    for case in cases:
        families[case.family][outcomes[case.instance] == "timeout"].append(case)
    if len(families) < 2:
        return []
    mixed = {name: sides for name, sides in families.items() if all(sides)}
    if not mixed:
        names = ", ".join(sorted(name for name, (_, late) in families.items() if late))
        return [
            "no family has both timeouts and solved instances (timeouts: "
            f"{names}), so the profile cannot be told apart from the family"
        ]
    said = []
    for clause in rule.clauses:
        won = pairs = 0.0
        for solved, late in mixed.values():
            up, down = (np.array([c.values[clause.component] for c in s]) for s in (late, solved))
            won, pairs = won + pairs_won(up, down), pairs + up.size * down.size
        said.append(
            f"inside families the AUC of {clause.component} is {won / pairs:.2f} "
            f"({pairs:.0f} pairs of a timeout and a solved instance, in {len(mixed)} of "
            f"{len(families)} families)"
        )
    return said


def shown(number: float) -> str:
    """A number with few digits, and all of those it has."""
    text = f"{number:g}"
    return text if float(text) == number else repr(number)
