"""Leave out layers.

A ReLU between two matrices becomes what it is at the point, so that the matrices are one; matrices
with nothing between them are one in any case; steps that keep the shape of a tensor go.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from assay.shrink.draft import Draft
from assay.shrink.reduction import Reduction
from assay.shrink.steps import Elementwise, Matrix, Steps
from assay.shrink.surgery import merged
from assay.shrink.values import entering


def _bent(steps: Steps | None) -> list[int]:
    """Places of matrices that only a ReLU parts from the next one."""
    items = () if steps is None else steps.items
    return [
        i
        for i in range(len(items) - 2)
        if isinstance(items[i], Matrix)
        and items[i + 1] == Elementwise("Relu")
        and isinstance(items[i + 2], Matrix)
    ]


def _straightened(draft: Draft, start: int, stop: int) -> Draft | None:
    steps = draft.steps
    for place in reversed(_bent(steps)[start:stop]):
        assert steps is not None
        active = entering(steps, place + 2, draft.point) > 0
        steps = merged(steps, place, active.astype(float))
    return draft.with_steps(steps)


def _adjacent(steps: Steps | None) -> list[int]:
    items = () if steps is None else steps.items
    return [
        i
        for i, (a, b) in enumerate(pairwise(items))
        if isinstance(a, Matrix) and isinstance(b, Matrix)
    ]


def _joined(draft: Draft, start: int, stop: int) -> Draft | None:
    steps = draft.steps
    for place in reversed(_adjacent(steps)[start:stop]):
        assert steps is not None
        steps = merged(steps, place)
    return draft.with_steps(steps)


def _level(steps: Steps | None) -> list[tuple[int, int]]:
    """The shortest rows of steps, begin and end, that keep the shape of the tensor."""
    found: list[tuple[int, int]] = []
    shapes = () if steps is None else steps.shapes
    for begin in range(len(shapes) - 2):
        # The last step makes the outputs and stays.
        ends = range(begin + 1, len(shapes) - 1)
        end = next((i for i in ends if shapes[i] == shapes[begin]), None)
        if end is not None:
            found.append((begin, end))
    return found


def _skipped(draft: Draft, start: int, stop: int) -> Draft | None:
    steps = draft.steps
    if steps is None:
        return None
    gone = {i for begin, end in _level(steps)[start:stop] for i in range(begin, end)}
    kept = tuple(step for i, step in enumerate(steps.items) if i not in gone)
    return draft.with_steps(replace(steps, items=kept))


STRAIGHTEN = Reduction("straighten layers", lambda draft: len(_bent(draft.steps)), _straightened)
JOIN = Reduction("merge linear layers", lambda draft: len(_adjacent(draft.steps)), _joined)
SKIP = Reduction("drop layers", lambda draft: len(_level(draft.steps)), _skipped)
