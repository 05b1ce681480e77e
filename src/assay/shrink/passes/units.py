"""Leave out hidden units and filters.

A unit that is frozen leaves its value at the point behind, so that the outputs there stay; one
that is dropped leaves nothing.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import numpy as np

from assay.shrink.draft import Draft
from assay.shrink.reduction import Reduction
from assay.shrink.steps import Steps
from assay.shrink.surgery import Values, cut_units
from assay.shrink.values import entering


def _units(steps: Steps | None) -> list[tuple[int, int]]:
    """The place and number of every hidden unit."""
    if steps is None:
        return []
    hidden = steps.weighted()[:-1]
    return [(place, i) for place in hidden for i in range(steps.shapes[place + 1][1])]


def _without(draft: Draft, start: int, stop: int, *, frozen: bool) -> Draft | None:
    steps: Steps | None = draft.steps
    chosen: dict[int, list[int]] = defaultdict(list)
    for place, unit in _units(steps)[start:stop]:
        chosen[place].append(unit)
    # From the last layer back, so that values are those of what is still there.
    for place in sorted(chosen, reverse=True):
        if steps is None:
            return None
        values = _next_values(steps, place, draft.point) if frozen else None
        steps = cut_units(steps, place, chosen[place], values)
    return draft.with_steps(steps)


def _next_values(steps: Steps, place: int, point: tuple[Fraction, ...]) -> Values:
    after = next(i for i in steps.weighted() if i > place)
    return np.asarray(entering(steps, after, point))


def _frozen(draft: Draft, start: int, stop: int) -> Draft | None:
    return _without(draft, start, stop, frozen=True)


def _dropped(draft: Draft, start: int, stop: int) -> Draft | None:
    return _without(draft, start, stop, frozen=False)


FREEZE_UNITS = Reduction("freeze units", lambda draft: len(_units(draft.steps)), _frozen)
DROP_UNITS = Reduction("drop units", lambda draft: len(_units(draft.steps)), _dropped)
