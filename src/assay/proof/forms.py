"""A network as exact functions of its box: what depends on one input alone is followed exactly.

A form is constant + sum of coefficient * term. There are two kinds of terms: hinges
relu(x_i - start) with start in [lower_i, upper_i), which make up every continuous piecewise linear
function of one input in one way only (start = lower_i is the linear one); and units, ReLUs and
smooth curves, which are kept as they are, each with a range and with the form inside.

The ReLU of a form is exact where the form depends on one input or has one sign on the box;
otherwise it is a unit. Forms that are positive multiples of each other make one unit, so that what
two outputs share cancels in their difference, to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import fmpq

from assay.proof.arithmetic import Unsupported, from_flint, to_flint
from assay.proof.curves import curve_value
from assay.proof.work import charge, limbs

RELU = "Relu"
_MOST_TERMS = 1 << 20
_MOST_POINTS = 1 << 12

Points = list[tuple[fmpq, fmpq]]
"""A piecewise linear function of one input: places from one end of it to the other, and values."""


@dataclass(frozen=True)
class Form:
    """`terms` has no zero coefficients."""

    constant: fmpq
    terms: Mapping[int, fmpq]


@dataclass(frozen=True)
class Hinge:
    input: int
    start: fmpq


@dataclass(frozen=True)
class Unit:
    """Its value lies from `low` to `high`; it is the ReLU, or another curve, of a form.

    The forms inside of ReLUs with the same `row` differ by a constant.
    """

    low: fmpq
    high: fmpq
    inside: Form
    curve: str = RELU
    row: int | None = None


class Space:
    """The box and the terms that were met on it, by number; the first ones are x_i - lower_i."""

    def __init__(self, lower: Sequence[Fraction], upper: Sequence[Fraction]) -> None:
        self.ends = list(zip(map(to_flint, lower), map(to_flint, upper), strict=True))
        self.terms: list[Hinge | Unit] = []
        self._numbers: dict[object, int] = {}
        self._rows: dict[object, int] = {}
        for i, (low, _) in enumerate(self.ends):
            self._hinge(i, low)

    def input(self, i: int) -> Form:
        """An input; one that the box fixes is a constant."""
        return Form(self.ends[i][0], {i: fmpq(1)} if self.side(i) else {})

    def bent(self, curve: str, form: Form) -> Form:
        """A smooth curve of a form, as a new unit: its range is followed."""
        low, high = self.range(form)
        ends = curve_value(curve, low)[0], curve_value(curve, high)[1]
        return Form(fmpq(0), {self._add(Unit(*ends, form, curve)): fmpq(1)})

    def curves(self, form: Form) -> dict[int, Points]:
        """What a form makes of each input alone; every function begins at zero."""
        kinks: dict[int, list[tuple[fmpq, fmpq]]] = {}
        for number, coefficient in form.terms.items():
            term = self.terms[number]
            if isinstance(term, Hinge):
                kinks.setdefault(term.input, []).append((term.start, coefficient))
        return {i: _points(sorted(rows), self.ends[i]) for i, rows in kinks.items()}

    def units(self, form: Form) -> dict[int, Unit]:
        found = ((number, self.terms[number]) for number in form.terms)
        return {number: term for number, term in found if isinstance(term, Unit)}

    def inputs(self, form: Form) -> set[int]:
        """The inputs that a form depends on; -1 stands for its units."""
        terms = (self.terms[number] for number in form.terms)
        return {term.input if isinstance(term, Hinge) else -1 for term in terms}

    def range(self, form: Form) -> tuple[fmpq, fmpq]:
        """Bounds of a form on the box: exact for a sum of functions of single inputs."""
        charge(100 * sum(map(size, form.terms.values())))
        low = high = form.constant
        for points in self.curves(form).values():
            values = [value for _, value in points]
            low, high = low + min(values), high + max(values)
        for ends in self._unit_ranges(form):
            low, high = low + min(ends), high + max(ends)
        return low, high

    def _unit_ranges(self, form: Form) -> Iterator[list[fmpq]]:
        """Values that enclose what units of one row add to a form, and each other unit.

        With z the largest of the forms inside of the units of a row, what they add is a function of
        z alone. It is zero as far as z = 0, and linear between the places where units set in.
        """
        rows: dict[int, list[tuple[Unit, fmpq]]] = {}
        for number, unit in self.units(form).items():
            factor = form.terms[number]
            if unit.row is None:
                yield [factor * unit.low, factor * unit.high]
            else:
                rows.setdefault(unit.row, []).append((unit, factor))
        for met in rows.values():
            first = max(unit.inside.constant for unit, _ in met)
            kinks = [(first - unit.inside.constant, factor) for unit, factor in met]
            end = min(start + unit.high for (start, _), (unit, _) in zip(kinks, met, strict=True))
            yield [value for _, value in _points(sorted(kinks), (fmpq(0), end))]

    def least(self, form: Form) -> Fraction:
        """A lower bound of a form on the box."""
        return from_flint(self.range(form)[0])

    def side(self, i: int) -> fmpq:
        return self.ends[i][1] - self.ends[i][0]

    def relu(self, form: Form, bounds: tuple[fmpq, fmpq]) -> Form:
        """relu(form) of a form within these bounds."""
        low, high = bounds
        if low >= 0:
            return form
        if high <= 0:
            return Form(fmpq(0), {})
        inputs = self.inputs(form)
        if len(inputs) == 1 and -1 not in inputs:
            ((i, points),) = self.curves(form).items()
            return self._of_points(i, _clipped([(x, v + form.constant) for x, v in points]))
        scale = abs(form.terms[min(form.terms)])
        inside = scaled(scale**-1, form)
        row = _terms_key(inside)
        key = _exact_key(inside.constant), row
        if key not in self._numbers:
            shared = self._rows.setdefault(row, len(self._rows))
            unit = Unit(fmpq(0), high * scale**-1, inside, row=shared)
            self._numbers[key] = self._add(unit)
        return Form(fmpq(0), {self._numbers[key]: scale})

    def _add(self, term: Hinge | Unit) -> int:
        if len(self.terms) >= _MOST_TERMS:
            raise Unsupported("the network has more units than the checker follows as functions")
        self.terms.append(term)
        return len(self.terms) - 1

    def _hinge(self, i: int, start: fmpq) -> int:
        key = i, _exact_key(start)
        if key not in self._numbers:
            self._numbers[key] = self._add(Hinge(i, start))
        return self._numbers[key]

    def _of_points(self, i: int, points: Points) -> Form:
        charge(200 * len(points))
        terms: dict[int, fmpq] = {}
        before = fmpq(0)
        for (x, value), (following, other) in pairwise(points):
            slope = (other - value) * (following - x) ** -1
            if slope != before:
                terms[self._hinge(i, x)] = slope - before
            before = slope
        return Form(points[0][1], terms)


def combined(constant: fmpq, parts: Iterable[tuple[fmpq, Form]]) -> Form:
    """constant + sum of factor * form."""
    terms: dict[int, fmpq] = {}
    for factor, form in parts:
        charge(50 * len(form.terms) * size(factor))
        constant += factor * form.constant
        for number, coefficient in form.terms.items():
            terms[number] = terms.get(number, 0) + factor * coefficient
    return Form(constant, {number: c for number, c in terms.items() if c})


def size(value: fmpq) -> int:
    """The words of a number."""
    return limbs(int(value.p).bit_length() + int(value.q).bit_length())


def _exact_key(value: fmpq) -> tuple[int, int]:
    """What stands for a number in a dictionary; flint's own hash is slow."""
    return int(value.p), int(value.q)


def _terms_key(form: Form) -> tuple[tuple[int, tuple[int, int]], ...]:
    """The same for all forms that differ by a constant."""
    return tuple((number, _exact_key(c)) for number, c in sorted(form.terms.items()))


def scaled(factor: fmpq, form: Form) -> Form:
    return combined(fmpq(0), [(factor, form)])


def _points(kinks: list[tuple[fmpq, fmpq]], ends: tuple[fmpq, fmpq]) -> Points:
    """The function that begins at zero and changes its slope at each kink by so much."""
    points = [(ends[0], fmpq(0))]
    slope = fmpq(0)
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
    clipped = [(points[0][0], max(points[0][1], fmpq(0)))]
    for (x, value), (following, other) in pairwise(points):
        if value * other < 0:
            clipped.append((x + value * (value - other) ** -1 * (following - x), fmpq(0)))
        clipped.append((following, max(other, fmpq(0))))
    return clipped
