"""Leave out output classes, with the disjuncts that speak of them."""

from __future__ import annotations

from dataclasses import replace

from assay.question.property import Inequality, Violation
from assay.shrink.draft import Draft
from assay.shrink.reduction import Reduction
from assay.shrink.surgery import kept_outputs


def _outputs(draft: Draft) -> int:
    return 0 if draft.steps is None else draft.network.outputs


def _without(draft: Draft, start: int, stop: int) -> Draft | None:
    violation = draft.case.violation
    kept = [i for i in range(violation.outputs) if not start <= i < stop]
    speaking = tuple(
        disjunct
        for disjunct in violation.disjuncts
        if all(index in kept for inequality in disjunct for index, _ in inequality.terms)
    )
    if not kept or not speaking or draft.steps is None:
        return None
    numbers = {old: new for new, old in enumerate(kept)}
    renamed = tuple(tuple(_renamed(i, numbers) for i in disjunct) for disjunct in speaking)
    less = draft.with_steps(kept_outputs(draft.steps, kept))
    if less is None:
        return None
    written = draft.with_violation(Violation(len(kept), renamed))
    return replace(less, vnnlib=written.vnnlib)


def _renamed(inequality: Inequality, numbers: dict[int, int]) -> Inequality:
    return replace(inequality, terms=tuple((numbers[i], c) for i, c in inequality.terms))


OUTPUTS = Reduction("drop outputs", _outputs, _without)
