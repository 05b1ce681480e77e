"""Halve the box towards the point that the question turns on."""

from __future__ import annotations

from assay.shrink.draft import Draft
from assay.shrink.reduction import Reduction
from assay.shrink.size import can_be_narrowed


def _wide(draft: Draft) -> list[int]:
    box = draft.case.box
    return [i for i in draft.free() if can_be_narrowed(box.upper[i] - box.lower[i])]


def _halved(draft: Draft, start: int, stop: int) -> Draft:
    box = draft.case.box
    return draft.with_intervals(
        {
            i: ((box.lower[i] + draft.point[i]) / 2, (box.upper[i] + draft.point[i]) / 2)
            for i in _wide(draft)[start:stop]
        }
    )


NARROW = Reduction("halve the box", lambda draft: len(_wide(draft)), _halved)
