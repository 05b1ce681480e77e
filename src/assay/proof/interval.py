"""Exact interval bounds on the pre-activations of a chain over an input box."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from assay.proof.arithmetic import Vector, column, entries
from assay.proof.chain import Affine, Chain, relu


@dataclass(frozen=True)
class Interval:
    """Bounds of a vector: lower.denominator == upper.denominator."""

    lower: Vector
    upper: Vector

    @classmethod
    def of(cls, lower: tuple[Fraction, ...], upper: tuple[Fraction, ...]) -> Interval:
        both = Vector.of((*lower, *upper))
        size = len(lower)
        return cls(
            Vector(both.numerators[:size], both.denominator),
            Vector(both.numerators[size:], both.denominator),
        )

    @property
    def denominator(self) -> int:
        return self.lower.denominator


def through(layer: Affine, box: Interval) -> Interval:
    """The exact range of each unit's pre-activation when its inputs range over `box`."""
    positive, negative = layer.signed_parts
    low, high = column(box.lower.numerators), column(box.upper.numerators)
    bias = [b * box.denominator for b in layer.bias]
    denominator = layer.denominator * box.denominator
    lower = entries(positive * low + negative * high)
    upper = entries(positive * high + negative * low)
    return Interval(
        Vector(tuple(n + b for n, b in zip(lower, bias, strict=True)), denominator),
        Vector(tuple(n + b for n, b in zip(upper, bias, strict=True)), denominator),
    )


def preactivations(
    chain: Chain, box: Interval, known: dict[int, Interval] | None = None
) -> list[Interval]:
    """Bounds of every affine layer's result, the outputs last; `known` ones replace intervals."""
    bounds = []
    for index, layer in enumerate(chain.layers):
        proved = (known or {}).get(index)
        bounds.append(through(layer, box) if proved is None else proved)
        box = Interval(relu(bounds[-1].lower), relu(bounds[-1].upper))
    return bounds
