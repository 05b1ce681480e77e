"""Shorter numbers for the box."""

from __future__ import annotations

from fractions import Fraction

from assay.shrink.draft import Draft
from assay.shrink.reduction import Reduction
from assay.shrink.size import cost
from assay.truth.dyadic import short

Interval = tuple[Fraction, Fraction]


def shorter_bounds(name: str, bits: int) -> Reduction:
    """Bounds with so many significant bits, where that makes them shorter to write."""

    def changed(draft: Draft) -> list[tuple[int, Interval]]:
        box = draft.case.box
        found = []
        for i, (low, high) in enumerate(zip(box.lower, box.upper, strict=True)):
            rounded = short(low, bits), short(high, bits)
            cheaper = cost(rounded[0]) + cost(rounded[1]) < cost(low) + cost(high)
            if cheaper and (low == high or rounded[0] < rounded[1]):
                found.append((i, rounded))
        return found

    def apply(draft: Draft, start: int, stop: int) -> Draft:
        return draft.with_intervals(dict(changed(draft)[start:stop]))

    return Reduction(name, lambda draft: len(changed(draft)), apply)


ONE_BIT_BOUNDS = shorter_bounds("bounds of one bit", 1)
SHORT_BOUNDS = shorter_bounds("bounds of four bits", 4)
