"""A rule in words: where it holds, what that says about the cause, and what may help."""

from __future__ import annotations

from collections.abc import Mapping

from assay.difficulty.components import COMPONENTS
from assay.difficulty.ranks import Values, spearman
from assay.difficulty.rules import Clause, Rule

_ALIKE = 0.9
_NEARLY_ALL = 0.9
_BY_NAME = {component.name: component for component in COMPONENTS}
_VIOLATED = "samples already violate the property", "a search for counterexamples before the proof"
_HELD = ": no sample violates the property there; what may help: proofs, not only a search"


def where(rule: Rule) -> str:
    """The hard ends come first: they are the cause, the others say what it is not."""
    ordered = sorted(rule.clauses, key=lambda clause: not _is_hard(clause))
    said = [
        f"{clause.component} is {'above' if clause.above else 'below'} {shown(clause.threshold)}"
        for clause in ordered
    ]
    return "where " + " while ".join(said)


def meaning(rule: Rule, values: Mapping[str, Values]) -> str:
    """The cause, what is not the cause, and the cure; `values` are those of all instances."""
    hard = [_cause_and_cure(clause) for clause in rule.clauses if _is_hard(clause)]
    easy = [clause for clause in rule.clauses if not _is_hard(clause)]
    if not hard:
        if any(clause.component == "M_min" and clause.threshold == 0 for clause in easy):
            return _HELD
        return ", the easy end: look for a cause that the profile does not measure"
    causes = " and ".join(cause for cause, _ in hard)
    cures = "; or ".join(cure for _, cure in hard)
    excluded = "".join(
        f", not {_cause_and_cure(clause)[0]}" for clause in easy if _excludes(clause, values)
    )
    return f": {causes}{excluded}; what may help: {cures}"


def likeness(rule: Rule, values: Mapping[str, Values]) -> str:
    """The components that go with one of the rule, so that either could be the cause."""
    found: dict[frozenset[str], str] = {}
    for clause in rule.clauses:
        for other in values:
            correlation = spearman(values[clause.component], values[other])
            if other != clause.component and abs(correlation) > _ALIKE:
                found.setdefault(
                    frozenset((clause.component, other)),
                    f"; {clause.component} cannot be told apart from {other} here (rank "
                    f"correlation {correlation:.2f})",
                )
    return "".join(found.values())


def shown(number: float) -> str:
    """A number with few digits, and all of those it has."""
    text = f"{number:g}"
    return text if float(text) == number else repr(number)


def _cause_and_cure(clause: Clause) -> tuple[str, str]:
    # A margin clearly below zero is no near tie: some sample is a counterexample.
    if clause.component == "M_min" and clause.threshold <= 0:
        return _VIOLATED
    cause, _, cure = _BY_NAME[clause.component].remedy.partition(": ")
    return cause, cure


def _is_hard(clause: Clause) -> bool:
    return clause.above == (_BY_NAME[clause.component].harder_when == "large")


def _excludes(clause: Clause, values: Mapping[str, Values]) -> bool:
    """Whether the easy side of a threshold says anything: not at zero, nor where nearly all are."""
    passing = float(clause.holds(values[clause.component]).mean())
    return clause.threshold > 0 and passing < _NEARLY_ALL
