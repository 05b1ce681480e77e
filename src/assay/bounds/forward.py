"""Lines carried forward: ranges behind one layer of nonlinear nodes, for boxes of few inputs.

With t in [-1, 1]^n the place in a box, a tensor y is kept as |y - M(t)| <= D(t), where M and D are
affine in t. An affine node takes M to A M + b and D to |A| D; between lines of slopes p and q the
two mix. Behind one layer of relaxed nodes this is the very bound of backward substitution, at the
price of n + 1 columns where that takes two rows for every unit. Rounding is added to D's constant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from assay.bounds.backward import AffineLink, Link, RelaxedLink, as_tuple
from assay.bounds.operators.affine import with_inputs
from assay.bounds.rounding import TINY, Interval, gamma
from assay.bounds.rows import as_rows
from assay.question.operators.call import Operator

_FEW = 32


@dataclass(frozen=True, eq=False)
class Carried:
    """M [B, 1 + n, *shape], constants first, and D alike or as its constant alone, [B, 1, *shape].

    `layers` counts the relaxed nodes on the way from the input.
    """

    middle: Tensor
    half: Tensor
    layers: int

    @classmethod
    def inputs(cls, box: Interval, moving: Tensor) -> Carried:
        """The input itself; only those of the flat indices `moving` differ within a box."""
        centre, radius = (as_rows(t) for t in box.ball())
        boxes, columns = len(centre), len(moving)
        middle = radius.new_zeros(boxes, 1 + columns, radius.shape[1])
        middle[:, 0] = centre
        middle[:, torch.arange(1, 1 + columns), moving] = radius[:, moving]
        half = radius.unsqueeze(1).clone()
        half[:, 0, moving] = 0
        shape = box.low.shape[1:]
        return cls(middle.reshape(boxes, -1, *shape), half.reshape(boxes, 1, *shape), 0)

    @classmethod
    def constant(cls, x: Interval, boxes: int, columns: int) -> Carried:
        centre, radius = (t.expand(boxes, *t.shape[1:]) for t in x.ball())
        middle = centre.new_zeros(boxes, columns, *centre.shape[1:])
        middle[:, 0] = centre
        return cls(middle, radius.unsqueeze(1), 0)

    @property
    def size(self) -> Tensor:
        """What no coefficient exceeds, and the rounding of a step is proportional to."""
        return self.middle.abs().sum(1) + self.half.abs().sum(1)

    def range(self) -> Interval:
        lower, upper = (plus(self.middle, end) for end in (-self.half, self.half))
        error = gamma(self.middle.shape[1] + _FEW) * self.size + TINY
        low = lower[:, 0] - lower[:, 1:].abs().sum(1) - error
        high = upper[:, 0] + upper[:, 1:].abs().sum(1) + error
        return Interval.sound(low, high)


def plus(columns: Tensor, more: Tensor) -> Tensor:
    """The sum of two sets of columns, of which the second may be a constant alone."""
    if more.shape[1] == columns.shape[1]:
        return columns + more
    total = columns.clone()
    total[:, :1] += more
    return total


def carried_through(
    link: Link, known: Mapping[str, Carried], constants: Mapping[str, Interval]
) -> dict[str, Carried]:
    """The outputs of a node, where its inputs are known and no second relaxation is needed."""
    if isinstance(link, AffineLink):
        names = [link.node.inputs[i] for i in link.variable]
        first = next((known[name] for name in names if name in known), None)
        if first is not None and all(name in known or name in constants for name in names):
            boxes, columns = first.middle.shape[:2]
            given = [
                known[name] if name in known else Carried.constant(constants[name], boxes, columns)
                for name in names
            ]
            return dict(zip(link.node.outputs, _through_affine(link, given), strict=False))
    if isinstance(link, RelaxedLink):
        x = known.get(link.node.inputs[0])
        if x is not None and x.layers == 0:
            return {link.node.outputs[0]: _between_lines(link, x)}
    return {}


def _through_affine(link: AffineLink, given: Sequence[Carried]) -> list[Carried]:
    boxes, columns = given[0].middle.shape[:2]
    width = max(x.half.shape[1] for x in given)

    def run(operator: Operator[Tensor], tensors: Sequence[Tensor]) -> list[Tensor]:
        stacked = [t.flatten(0, 1) for t in tensors]
        found = as_tuple(operator(with_inputs(link.constants, link.variable, stacked)))
        return [t.reshape(boxes, -1, *t.shape[1:]) for t in found]

    sizes = [x.size.unsqueeze(1) for x in given]
    middles = run(link.rule.apply, [x.middle for x in given])
    reaches = run(link.rule.sizes, sizes)
    # |A| (D + s) + |b| less |A| s + |b|, because sizes are known for nonnegative numbers only.
    raised = [
        plus(s.expand(boxes, width, *s.shape[2:]), x.half)
        for s, x in zip(sizes, given, strict=True)
    ]
    halves = [more - s for more, s in zip(run(link.rule.sizes, raised), reaches, strict=True)]
    count = link.rule.roundings(link.constants) + columns + _FEW
    error = 4 * (columns + 1) * gamma(count)
    results = []
    for middle, half, reach, offset in zip(middles, halves, reaches, link.offsets, strict=False):
        half[:, :1] += error * reach + TINY
        if offset is not None:
            middle[:, 1:] -= offset.unsqueeze(1)
        results.append(Carried(middle, half, max(x.layers for x in given)))
    return results


def _between_lines(link: RelaxedLink, x: Carried) -> Carried:
    """From p x + a <= y <= q x + c: M' = (p + q)/2 M + (|q| - |p|)/2 D + ..., D' alike."""
    lower, upper = link.relaxation.lower, link.relaxation.upper
    p, q = (line.slope.unsqueeze(1) * 0.5 for line in (lower, upper))
    middle = plus((q + p) * x.middle, (q.abs() - p.abs()) * x.half)
    half = plus((q - p) * x.middle, (q.abs() + p.abs()) * x.half)
    steepest = lower.slope.abs() + upper.slope.abs()
    reach = steepest * x.size + lower.offset.abs() + upper.offset.abs()
    middle[:, 0] += 0.5 * (upper.offset + lower.offset)
    half[:, 0] += 0.5 * (upper.offset - lower.offset)
    half[:, 0] += gamma(x.middle.shape[1] + _FEW) * reach + TINY
    return Carried(middle, half, 1)
