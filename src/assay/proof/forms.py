"""A network as exact functions of its box: what depends on one input alone is followed exactly.

A form is constant + sum of coefficient * term. There are two kinds of terms: hinges
relu(x_i - start) with start in [lower_i, upper_i), which make up every continuous piecewise linear
function of one input in one way only (start = lower_i is the linear one); and units, which are
kept as they are, each with a range and, for a ReLU, with the form inside.

The ReLU of a form is exact where the form depends on one input or has one sign on the box;
otherwise it is a unit. Forms that are positive multiples of each other make one unit, so that what
two outputs share cancels in their difference, to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from assay.proof.arithmetic import Unsupported

_MOST_TERMS = 1 << 20
_MOST_POINTS = 1 << 12

Points = list[tuple[Fraction, Fraction]]
"""A piecewise linear function of one input: places from one end of it to the other, and values."""


@dataclass(frozen=True)
class Form:
    """`terms` has no zero coefficients."""

    constant: Fraction
    terms: Mapping[int, Fraction]


@dataclass(frozen=True)
class Hinge:
    input: int
    start: Fraction


@dataclass(frozen=True)
class Unit:
    """Its value lies from `low` to `high`; it is relu(inside) where that is known."""

    low: Fraction
    high: Fraction
    inside: Form | None


class Space:
    """The box and the terms that were met on it, by number; the first ones are x_i - lower_i."""

    def __init__(self, lower: Sequence[Fraction], upper: Sequence[Fraction]) -> None:
        self.ends = list(zip(lower, upper, strict=True))
        self.terms: list[Hinge | Unit] = []
        self._numbers: dict[object, int] = {}
        for i, low in enumerate(lower):
            self._hinge(i, low)

    def input(self, i: int) -> Form:
        return Form(self.ends[i][0], {i: Fraction(1)})

    def opaque(self, low: int, high: int) -> Form:
        """A new unit of which the range is all that is known."""
        self._add(Unit(Fraction(low), Fraction(high), None))
        return Form(Fraction(0), {len(self.terms) - 1: Fraction(1)})

    def curves(self, form: Form) -> dict[int, Points]:
        """What a form makes of each input alone; every function begins at zero."""
        kinks: dict[int, list[tuple[Fraction, Fraction]]] = {}
        for number, coefficient in form.terms.items():
            term = self.terms[number]
            if isinstance(term, Hinge):
                kinks.setdefault(term.input, []).append((term.start, coefficient))
        return {i: _points(sorted(rows), self.ends[i]) for i, rows in kinks.items()}

    def units(self, form: Form) -> dict[int, Unit]:
        found = ((number, self.terms[number]) for number in form.terms)
        return {number: term for number, term in found if isinstance(term, Unit)}

    def range(self, form: Form) -> tuple[Fraction, Fraction]:
        """Bounds of a form on the box: exact for a sum of functions of single inputs."""
        low = high = form.constant
        for points in self.curves(form).values():
            values = [value for _, value in points]
            low, high = low + min(values), high + max(values)
        for number, unit in self.units(form).items():
            ends = [form.terms[number] * end for end in (unit.low, unit.high)]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def relu(self, form: Form, bounds: tuple[Fraction, Fraction]) -> Form:
        """relu(form) of a form within these bounds."""
        low, high = bounds
        if low >= 0:
            return form
        if high <= 0:
            return Form(Fraction(0), {})
        curves = self.curves(form)
        if len(curves) == 1 and not self.units(form):
            ((i, points),) = curves.items()
            return self._of_points(i, _clipped([(x, v + form.constant) for x, v in points]))
        scale = abs(form.terms[min(form.terms)])
        inside = scaled(Fraction(1, scale), form)
        key = inside.constant, tuple(sorted(inside.terms.items()))
        if key not in self._numbers:
            self._numbers[key] = self._add(Unit(Fraction(0), Fraction(high, scale), inside))
        return Form(Fraction(0), {self._numbers[key]: scale})

    def _add(self, term: Hinge | Unit) -> int:
        if len(self.terms) >= _MOST_TERMS:
            raise Unsupported("the network has more units than the checker follows as functions")
        self.terms.append(term)
        return len(self.terms) - 1

    def _hinge(self, i: int, start: Fraction) -> int:
        key = i, start
        if key not in self._numbers:
            self._numbers[key] = self._add(Hinge(i, start))
        return self._numbers[key]

    def _of_points(self, i: int, points: Points) -> Form:
        terms: dict[int, Fraction] = {}
        before = Fraction(0)
        for (x, value), (following, other) in pairwise(points):
            slope = Fraction(other - value, following - x)
            if slope != before:
                terms[self._hinge(i, x)] = slope - before
            before = slope
        return Form(points[0][1], terms)


def combined(constant: Fraction, parts: Iterable[tuple[Fraction, Form]]) -> Form:
    """constant + sum of factor * form."""
    terms: dict[int, Fraction] = {}
    for factor, form in parts:
        constant += factor * form.constant
        for number, coefficient in form.terms.items():
            terms[number] = terms.get(number, 0) + factor * coefficient
    return Form(constant, {number: c for number, c in terms.items() if c})


def scaled(factor: Fraction, form: Form) -> Form:
    return combined(Fraction(0), [(factor, form)])


def _points(kinks: list[tuple[Fraction, Fraction]], ends: tuple[Fraction, Fraction]) -> Points:
    """The function that begins at zero and changes its slope at each kink by so much."""
    points = [(ends[0], Fraction(0))]
    slope = Fraction(0)
    for start, change in kinks:
        x, value = points[-1]
        if start > x:
            points.append((start, value + slope * (start - x)))
        slope += change
    x, value = points[-1]
    if ends[1] > x:
        points.append((ends[1], value + slope * (ends[1] - x)))
    return points


def _clipped(points: Points) -> Points:
    """The positive part of a function."""
    if len(points) > _MOST_POINTS:
        raise Unsupported("a function of one input has more kinks than the checker follows")
    clipped = [(points[0][0], max(points[0][1], Fraction(0)))]
    for (x, value), (following, other) in pairwise(points):
        if value * other < 0:
            clipped.append((x + Fraction(value, value - other) * (following - x), Fraction(0)))
        clipped.append((following, max(other, Fraction(0))))
    return clipped
