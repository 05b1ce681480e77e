"""Leave out rows, columns and colours of an image that convolutions look at."""

from __future__ import annotations

import numpy as np

from assay.question.convolution import ConvLayer
from assay.shrink.draft import Draft
from assay.shrink.reduction import Reduction
from assay.shrink.steps import Pool
from assay.shrink.surgery import cropped


def _lines(draft: Draft) -> list[tuple[int, int]]:
    """Axis and number of every line that may go."""
    steps = draft.steps
    if steps is None or not isinstance(steps.items[0], ConvLayer | Pool):
        return []
    return [(axis, i) for axis in (1, 2, 3) for i in range(steps.input_shape[axis])]


def _cropped(draft: Draft, start: int, stop: int) -> Draft | None:
    chosen, steps = _lines(draft)[start:stop], draft.steps
    axes = {axis for axis, _ in chosen}
    if steps is None or len(axes) != 1:
        return None
    axis, gone = axes.pop(), {i for _, i in chosen}
    kept = [i for i in range(steps.input_shape[axis]) if i not in gone]
    if not kept:
        return None
    numbers = np.arange(len(draft.point)).reshape(steps.input_shape).take(kept, axis)
    return draft.with_inputs(cropped(steps, axis, kept), numbers.ravel().tolist())


IMAGE = Reduction("crop the image", lambda draft: len(_lines(draft)), _cropped)
