"""One step of a backward bound: a linear functional of a node's outputs becomes one of its inputs.

A functional f [B, K, *shape] stands for K sums of f y over a tensor y, for each of B boxes. A link
replaces it by functionals g of the node's inputs, a number `value` and a bound `error` so that

    f y >= g x + value - error     for all real x in their intervals and y = node(x).

The coefficients g are float64 numbers, taken as exact from here on. Rounding shows up only in
`error`: where the real step would give g' x + v' as sums of products, |g' x - g x| + |v' - value|
is at most gamma(k) times |f| s, with s a bound of the sizes of everything that f multiplies:
|A| |x| + |b| for an affine node, |slope| |x| + |offset| for a line. k counts all the terms of a
sum, and the nodes of the network, whose values are added up last.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from assay.bounds.operators.affine import Affine, transposed, with_inputs
from assay.bounds.operators.relaxation import Relaxation
from assay.bounds.rounding import TINY, Interval, gamma
from assay.bounds.rows import as_rows
from assay.question.network import Node
from assay.question.operators.call import Call

_LEAST_SIZE = 2.0**-840
"""gamma times this exceeds TINY: it pays for the underflow of products with the functional."""
_FEW = 32


@dataclass(frozen=True, eq=False)
class Pulled:
    functionals: tuple[tuple[str, Tensor], ...]
    value: Tensor
    error: Tensor


class Link(Protocol):
    """A node with what its step needs for the boxes at hand."""

    @property
    def node(self) -> Node: ...

    def pull(self, functionals: Sequence[Tensor | None], blend: Tensor | None) -> Pulled: ...


def dot(functional: Tensor, weights: Tensor) -> Tensor:
    """[B, K] sums of functional [B, K, *shape] times weights [B or 1, *shape]."""
    return (as_rows(functional, 2) @ as_rows(weights).unsqueeze(2)).squeeze(2)


def roundings(*shapes: Sequence[int], nodes: int) -> int:
    """How often a product may be rounded in a step between tensors of these shapes."""
    return sum(math.prod(shape) for shape in shapes) + 2 * nodes + _FEW


def least(functional: Tensor, x: Interval, nodes: int) -> tuple[Tensor, Tensor]:
    """The least value of the functional over an interval, with its error."""
    centre, radius = x.ball()
    size = functional.abs()
    g = gamma(roundings(x.low.shape[1:], nodes=nodes))
    with torch.no_grad():
        error = g * dot(size, centre.abs() + radius + _LEAST_SIZE) + TINY
    return dot(functional, centre) - dot(size, radius), error


def merged(functional: Tensor, added: Tensor, x: Interval) -> tuple[Tensor, Tensor]:
    """The sum of two functionals of the same tensor, and what its rounding may cost."""
    total = functional + added
    with torch.no_grad():
        size = x.size
        error = gamma(roundings(size.shape[1:], nodes=0)) * dot(total.abs(), size + _LEAST_SIZE)
    return total, error + TINY


def pushed(up: Tensor, down: Tensor, x: Interval, nodes: int) -> tuple[Tensor, Tensor]:
    """The value up low - down high, for nonnegative multipliers, and the error of it.

    The error pays as well for the rounding of down - up, which goes into the functional.
    """
    g = gamma(roundings(x.low.shape[1:], nodes=nodes))
    with torch.no_grad():
        error = g * dot(up + down, x.size + _LEAST_SIZE) + TINY
    return dot(up, x.low) - dot(down, x.high), error


@dataclass(frozen=True, eq=False)
class AffineLink:
    """y = A x + b; `constants` is the call with None where an input is variable."""

    node: Node
    rule: Affine
    constants: Call[Tensor]
    variable: tuple[int, ...]
    offsets: tuple[Tensor | None, ...]
    sizes: tuple[Tensor, ...]
    floor: Tensor
    gamma: float

    @classmethod
    def of(
        cls,
        rule: Affine,
        constants: Call[Tensor],
        variable: tuple[int, ...],
        offsets: tuple[Tensor | None, ...],
        inputs: Mapping[str, Interval],
        nodes: int,
    ) -> AffineLink:
        node = constants.node
        limits = [inputs[node.inputs[i]].size for i in variable]
        sizes = as_tuple(rule.sizes(with_inputs(constants, variable, limits)))
        reach = sum((as_rows(limit).sum(1, keepdim=True) for limit in limits), start=TINY)
        shapes = [tuple(t.shape[1:]) for t in (*limits, *sizes)]
        count = rule.roundings(constants) + roundings(*shapes, nodes=nodes)
        padded = tuple(size + _LEAST_SIZE for size in sizes)
        floor = TINY * (1 + torch.as_tensor(reach))
        return cls(node, rule, constants, variable, offsets, padded, floor, gamma(count))

    def pull(self, functionals: Sequence[Tensor | None], blend: Tensor | None) -> Pulled:
        del blend
        given = [f for f in functionals if f is not None]
        boxes, rows = given[0].shape[:2]
        flat = [None if f is None else f.flatten(0, 1) for f in functionals]
        found = transposed(self.rule, self.constants, self.variable, flat)
        value = given[0].new_zeros(boxes, rows)
        error = self.floor.expand(boxes, rows)
        for f, offset, size in zip(functionals, self.offsets, self.sizes, strict=False):
            if f is None:
                continue
            if offset is not None:
                value = value + dot(f, offset)
            with torch.no_grad():
                error = error + self.gamma * dot(f.abs(), size)
        names = (self.node.inputs[i] for i in self.variable)
        shaped = (g.reshape(boxes, rows, *g.shape[1:]) for g in found)
        return Pulled(tuple(zip(names, shaped, strict=True)), value, error)


@dataclass(frozen=True, eq=False)
class RelaxedLink:
    """y between two lines in the node's first input x."""

    node: Node
    relaxation: Relaxation
    size: Tensor
    floor: Tensor
    gamma: float

    @classmethod
    def of(cls, node: Node, relaxation: Relaxation, x: Interval, nodes: int) -> RelaxedLink:
        shape = x.low.shape[1:]
        floor = TINY * (1 + as_rows(x.size).sum(1, keepdim=True))
        size = relaxation.size + _LEAST_SIZE
        return cls(node, relaxation, size, floor, gamma(roundings(shape, shape, nodes=nodes)))

    def pull(self, functionals: Sequence[Tensor | None], blend: Tensor | None) -> Pulled:
        f = functionals[0]
        assert f is not None
        lower, upper = self.relaxation.lower, self.relaxation.upper
        low_slope, high_slope = lower.slope.unsqueeze(1), upper.slope.unsqueeze(1)
        kink = self.relaxation.kink
        if blend is not None and kink is not None:
            bent, free, above = kink.slope(blend), kink.free.unsqueeze(1), kink.above.unsqueeze(1)
            low_slope = torch.where(free & ~above, bent, low_slope)
            high_slope = torch.where(free & above, bent, high_slope)
        positive, negative = f.clamp(min=0), f.clamp(max=0)
        value = dot(positive, lower.offset) + dot(negative, upper.offset)
        pulled = positive * low_slope + negative * high_slope
        with torch.no_grad():
            error = self.gamma * dot(f.abs(), self.size) + self.floor
        return Pulled(((self.node.inputs[0], pulled),), value, error)


@dataclass(frozen=True, eq=False)
class OpaqueLink:
    """A node of which only the range of its outputs is known."""

    node: Node
    ranges: tuple[Interval, ...]
    nodes: int

    def pull(self, functionals: Sequence[Tensor | None], blend: Tensor | None) -> Pulled:
        del blend
        found = [
            least(f, y, self.nodes)
            for f, y in zip(functionals, self.ranges, strict=False)
            if f is not None
        ]
        value = sum((v for v, _ in found[1:]), start=found[0][0])
        error = sum((e for _, e in found[1:]), start=found[0][1])
        return Pulled((), value, error)


def as_tuple(result: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return result if isinstance(result, tuple) else (result,)
