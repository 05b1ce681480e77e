"""Fix inputs at the point that the question turns on, and fold fixed ones into the biases."""

from __future__ import annotations

from assay.shrink.draft import Draft
from assay.shrink.reduction import Reduction
from assay.shrink.surgery import folded_inputs


def _free(draft: Draft) -> int:
    return len(draft.free())


def _fixed_at_point(draft: Draft, start: int, stop: int) -> Draft:
    chosen = draft.free()[start:stop]
    return draft.with_intervals({i: (draft.point[i], draft.point[i]) for i in chosen})


def _fixed(draft: Draft) -> int:
    return 0 if draft.steps is None else len(draft.fixed())


def _folded(draft: Draft, start: int, stop: int) -> Draft | None:
    gone = draft.fixed()[start:stop]
    if draft.steps is None:
        return None
    less = folded_inputs(draft.steps, {i: draft.point[i] for i in gone})
    kept = [i for i in range(len(draft.point)) if i not in set(gone)]
    return draft.with_inputs(less, kept)


FIX_INPUTS = Reduction("fix inputs", _free, _fixed_at_point)
FOLD_INPUTS = Reduction("fold fixed inputs", _fixed, _folded)
