"""Cuts into a row of steps. What is cut out may leave its value behind in the next bias.

Folding and merging keep the exact function as far as float32 holds the new numbers; nothing rests
on that, for whatever comes out is proved anew.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from assay.question.convolution import ConvLayer
from assay.shrink.steps import Elementwise, Flatten, Floats, Matrix, Steps, without

Values = NDArray[np.float64]


def folded_inputs(steps: Steps, values: dict[int, Fraction]) -> Steps | None:
    """Without the inputs that have these values; None where the first step is no matrix."""
    start = 1 if isinstance(steps.items[0], Flatten) else 0
    first = steps.items[start] if start < len(steps.items) else None
    if not isinstance(first, Matrix) or len(values) >= first.weight.shape[1]:
        return None
    places = sorted(values)
    bias = [
        Fraction(float(offset)) + sum(Fraction(float(row[i])) * values[i] for i in places)
        for row, offset in zip(first.weight, first.offsets, strict=True)
    ]
    weight = without(first.weight, places, 1)
    kept = replace(first, weight=weight, bias=np.array([float(b) for b in bias], np.float32))
    return Steps((1, weight.shape[1]), (kept, *steps.items[start + 1 :]))


def cut_units(
    steps: Steps, place: int, units: Sequence[int], values: Values | None = None
) -> Steps | None:
    """Without some units (filters) of the step at `place`, which is not the last with weights.

    `values` is what enters the next step with weights: what the cut ones had there goes into its
    bias. None where nothing would be left.
    """
    own = steps.items[place]
    after = next(i for i in steps.weighted() if i > place)
    following = steps.items[after]
    width = steps.shapes[place + 1][1]
    if len(units) >= width:
        return None
    rest: Matrix | ConvLayer
    if isinstance(following, Matrix):
        group = following.weight.shape[1] // width
        columns = [unit * group + i for unit in units for i in range(group)]
        bias = following.bias
        if values is not None:
            bias = _rounded(following.offsets + following.weight[:, columns] @ values[columns])
        rest = replace(following, weight=without(following.weight, columns, 1), bias=bias)
    elif isinstance(following, ConvLayer):
        bias = following.bias
        if values is not None:
            middles = values.reshape(width, -1).mean(1)[list(units)]
            bias = _rounded(bias + following.kernel[:, list(units)].sum((2, 3)) @ middles)
        rest = replace(following, kernel=without(following.kernel, units, 1), bias=bias)
    else:
        return None
    less: Matrix | ConvLayer
    if isinstance(own, Matrix):
        left = None if own.bias is None else without(own.bias, units, 0)
        less = replace(own, weight=without(own.weight, units, 0), bias=left)
    elif isinstance(own, ConvLayer):
        less = replace(own, kernel=without(own.kernel, units, 0), bias=without(own.bias, units, 0))
    else:
        return None
    return _imaged(steps.with_step(place, less).with_step(after, rest))


def merged(steps: Steps, place: int, mask: Values | None = None) -> Steps:
    """The matrices at `place` and after it as one; `mask` scales what is between them.

    An activation between them goes.
    """
    first, after = steps.items[place], place + 1
    if isinstance(steps.items[after], Elementwise):
        steps = steps.with_step(after)
    second = steps.items[after]
    assert isinstance(first, Matrix)
    assert isinstance(second, Matrix)
    outer = second.weight.astype(np.float64)
    outer = outer if mask is None else outer * mask
    product = Matrix(
        _rounded(outer @ first.weight),
        _rounded(outer @ first.offsets.astype(np.float64) + second.offsets),
        second.added,
    )
    return steps.with_step(after).with_step(place, product)


def kept_outputs(steps: Steps, kept: Sequence[int]) -> Steps | None:
    """Only some of the outputs; None where the last step is no matrix."""
    last = steps.items[-1]
    if not isinstance(last, Matrix):
        return None
    bias = None if last.bias is None else last.bias[list(kept)]
    rest = replace(last, weight=np.ascontiguousarray(last.weight[list(kept)]), bias=bias)
    return steps.with_step(len(steps.items) - 1, rest)


def cropped(steps: Steps, axis: int, kept: Sequence[int]) -> Steps | None:
    """Only some lines of the input image along an axis (1 colours, 2 rows, 3 columns).

    Where an image becomes a row, the columns of the next matrix follow: the kept lines if the
    image still had its size there, otherwise the first ones.
    """
    shape = list(steps.input_shape)
    shape[axis] = len(kept)
    items = list(steps.items)
    if axis == 1:
        first = items[0]
        if not isinstance(first, ConvLayer):
            return None
        items[0] = replace(first, kernel=np.ascontiguousarray(first.kernel[:, list(kept)]))
    less = Steps(tuple(shape), tuple(items))
    if any(size < 1 for entering in less.shapes for size in entering):
        return None
    for place, step in enumerate(items):
        if not isinstance(step, Flatten) or place + 1 == len(items):
            continue
        old, new = steps.shapes[place], less.shapes[place]
        following = items[place + 1]
        if old != new:
            if not isinstance(following, Matrix) or axis == 1:
                return None
            same = old[axis] == steps.input_shape[axis] and new[axis] == len(kept)
            lines = list(kept) if same else list(range(new[axis]))
            numbers = np.arange(math.prod(old)).reshape(old).take(lines, axis).ravel()
            weight = np.ascontiguousarray(following.weight[:, numbers])
            less = less.with_step(place + 1, replace(following, weight=weight))
        break
    return _imaged(less)


def _imaged(steps: Steps) -> Steps:
    """Convolutions know the image that they get."""
    items = tuple(
        replace(step, image=(shape[1], shape[2], shape[3])) if isinstance(step, ConvLayer) else step
        for step, shape in zip(steps.items, steps.shapes, strict=False)
    )
    return replace(steps, items=items)


def _rounded(values: NDArray[np.floating]) -> Floats:
    return np.asarray(values).astype(np.float32)
