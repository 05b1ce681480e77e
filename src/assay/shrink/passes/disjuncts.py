"""Leave out disjuncts of the violation, and inequalities of a disjunct."""

from __future__ import annotations

from dataclasses import replace

from assay.question.property import Inequality
from assay.shrink.draft import Draft
from assay.shrink.reduction import Reduction


def _count(draft: Draft) -> int:
    return len(draft.case.violation.disjuncts)


def _without(draft: Draft, start: int, stop: int) -> Draft | None:
    violation = draft.case.violation
    kept = violation.disjuncts[:start] + violation.disjuncts[stop:]
    return draft.with_violation(replace(violation, disjuncts=kept)) if kept else None


def _inequalities(draft: Draft) -> int:
    return sum(len(disjunct) for disjunct in draft.case.violation.disjuncts)


def _fewer(draft: Draft, start: int, stop: int) -> Draft | None:
    violation, number = draft.case.violation, 0
    kept: list[tuple[Inequality, ...]] = []
    for disjunct in violation.disjuncts:
        first = number
        number += len(disjunct)
        kept.append(
            tuple(i for at, i in enumerate(disjunct, first) if not start <= at < stop) or disjunct
        )
    if tuple(kept) == violation.disjuncts:
        return None
    return draft.with_violation(replace(violation, disjuncts=tuple(kept)))


DISJUNCTS = Reduction("drop disjuncts", _count, _without)
INEQUALITIES = Reduction("drop inequalities", _inequalities, _fewer)
