"""Exact interval bounds on the pre-activations of a chain over an input box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from assay.proof.arithmetic import Vector
from assay.proof.chain import Chain, Layer, relu
from assay.proof.work import keep, longest


@dataclass(frozen=True)
class Interval:
    """Bounds of a vector: lower.denominator == upper.denominator."""

    lower: Vector
    upper: Vector

    @classmethod
    def of(cls, lower: Sequence[Fraction], upper: Sequence[Fraction]) -> Interval:
        both = Vector.of((*lower, *upper))
        return cls.over(
            both.denominator, both.numerators[: len(lower)], both.numerators[len(lower) :]
        )

    @classmethod
    def over(cls, denominator: int, lower: Sequence[int], upper: Sequence[int]) -> Interval:
        return cls(Vector(tuple(lower), denominator), Vector(tuple(upper), denominator))

    def meet(self, other: Interval) -> Interval:
        """What both allow."""
        common = lcm(self.denominator, other.denominator)
        lower = map(max, self.lower.over(common), other.lower.over(common))
        upper = map(min, self.upper.over(common), other.upper.over(common))
        return Interval.over(common, list(lower), list(upper))

    @property
    def denominator(self) -> int:
        return self.lower.denominator

    @property
    def middle(self) -> Vector:
        ends = zip(self.lower.numerators, self.upper.numerators, strict=True)
        return Vector(tuple(low + high for low, high in ends), 2 * self.denominator)

    @property
    def radii(self) -> Vector:
        ends = zip(self.lower.numerators, self.upper.numerators, strict=True)
        return Vector(tuple(high - low for low, high in ends), 2 * self.denominator)


def through(layer: Layer, box: Interval) -> Interval:
    """The exact range of each unit's pre-activation when its inputs range over `box`."""
    positive, negative = layer.signed_parts
    low, high = list(box.lower.numerators), list(box.upper.numerators)
    bias = [b * box.denominator for b in layer.bias]
    lower = _sums(layer.times(positive, low), layer.times(negative, high), bias)
    upper = _sums(layer.times(positive, high), layer.times(negative, low), bias)
    return Interval.over(layer.denominator * box.denominator, lower, upper)


def _sums(*vectors: list[int]) -> list[int]:
    return [sum(terms) for terms in zip(*vectors, strict=True)]


def preactivations(
    chain: Chain, box: Interval, known: Mapping[int, Interval] | None = None
) -> list[Interval]:
    """Bounds of every affine layer's result, the outputs last; `known` ones improve intervals."""
    bounds = []
    for index, layer in enumerate(chain.layers):
        proved, plain = (known or {}).get(index), through(layer, box)
        bounds.append(plain if proved is None else plain.meet(proved))
        keep(2 * layer.units, longest(bounds[-1].upper.numerators))
        box = Interval(relu(bounds[-1].lower), relu(bounds[-1].upper))
    return bounds
