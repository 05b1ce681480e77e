"""A lock of parities: a sum of ReLUs that is high only where bits of the inputs solve a system.

A bit is a function z of one input with values in [0, 1]. A parity asks the sum S of three bits to
be even, or odd; its defect, the distance of S from the integers of that kind, is a zigzag:

  even: S - 2 relu(S - 1) + 2 relu(S - 2)        odd: one minus that.

The form read here is  top - sum_c w_c defect_c - sum_i h_i(x_i)  with h_i >= 0, w_c > 0. Round
every bit: r_i is 0 or 1, and d_i = |z_i - r_i| <= 1/2. Defects change no faster than S, so if
h_i >= d_i * (sum of w_c over the parities of bit i), the form is at most

  top - sum_c w_c defect_c(r),

which is top if r solves the system, and at most top - min w_c if not. A system without solution is
found by elimination over GF(2).

Share of the box where the form is at least a bound above top - min w_c: all r there are solutions.
Near a solution every defect is at most the sum of its d_i, and at least 0; if only one bit is
strictly between 0 and 1, the defects of its parities are exactly d_i. So the share of at most one
such bit is exact, and that of two and more lies between two sums of functions of single inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product

from flint import fmpq

from assay.proof.arithmetic import Unsupported
from assay.proof.forms import Form, Points, Space, combined
from assay.proof.spread import Spread, certain, spread
from assay.proof.work import charge

_ARITY = 3
_MOST_FREE = 6
_HALF = fmpq(1, 2)


@dataclass(frozen=True)
class Bit:
    """The sum of the weights of its parities, and pieces of its side: points of z and of h.

    On a piece both are linear, and z is on one side of 1/2.
    """

    weight: fmpq
    pieces: list[tuple[Points, Points]]


@dataclass(frozen=True)
class Lock:
    """`parities` are sets of bits, by input, that are to sum up to the given parity."""

    space: Space
    top: fmpq
    least_weight: fmpq
    parities: list[tuple[frozenset[int], int]]
    bits: dict[int, Bit]
    charges: dict[int, Points]
    """h of the inputs that are no bits."""

    @cached_property
    def basis(self) -> dict[int, tuple[set[int], int]] | None:
        """Each pivot with the other bits and the parity that give it; None if unsolvable."""
        found: dict[int, tuple[set[int], int]] = {}
        for parity, odd in self.parities:
            charge(100 * (1 + len(found)))
            row = set(parity)
            for pivot in sorted(row & found.keys()):
                row ^= {pivot, *found[pivot][0]}
                odd ^= found[pivot][1]
            if not row:
                if odd:
                    return None
                continue
            new = row.pop()
            for pivot, (others, own) in found.items():
                if new in others:
                    found[pivot] = (others ^ {new} ^ row, own ^ odd)
            found[new] = (row, odd)
        return found

    @property
    def highest(self) -> fmpq:
        return self.top if self.basis is not None else self.top - self.least_weight

    def solutions(self) -> Iterator[dict[int, int]]:
        free = sorted(self.bits.keys() - (self.basis or {}).keys())
        if len(free) > _MOST_FREE:
            raise Unsupported("the parities have more solutions than the checker counts")
        for values in product((0, 1), repeat=len(free)):
            chosen = dict(zip(free, values, strict=True))
            for pivot, (others, odd) in (self.basis or {}).items():
                chosen[pivot] = (sum(chosen[i] for i in others) + odd) % 2
            yield chosen

    def share_above(self, bound: fmpq) -> tuple[Fraction, Fraction]:
        """Bounds of the share of the box where the form is at least `bound`."""
        level = self.top - bound
        if level >= self.least_weight:
            raise Unsupported("the lock opens for bits that solve not all of its parities")
        low = high = Fraction(0)
        for solution in self.solutions() if self.basis is not None else ():
            below, above = self._share_near(solution, level)
            low, high = low + below, high + above
        return low, high

    def _share_near(self, solution: dict[int, int], level: fmpq) -> tuple[Fraction, Fraction]:
        settled = least = most = certain(level)
        surplus = Spread(level, {})
        for i, points in self.charges.items():
            factor = spread([points], self.space.side(i), level)
            settled, least, most = (s.times(factor) for s in (settled, least, most))
        for i, value in solution.items():
            flat, exact, loose = self._spreads(i, value, level)
            surplus = surplus.times(flat).plus(settled.times(loose.minus(exact)))
            settled = settled.times(flat)
            least, most = least.times(flat.plus(exact)), most.times(flat.plus(loose))
        return least.below(), most.below() - surplus.below()

    def _spreads(self, i: int, value: int, level: fmpq) -> list[Spread]:
        """Of bit i on its side of 1/2: where it is settled; elsewhere, most and least charged."""
        flat: list[Points] = []
        exact: list[Points] = []
        loose: list[Points] = []
        for z, h in self.bits[i].pieces:
            if sum(v for _, v in z) < 1 if value else sum(v for _, v in z) > 1:
                continue
            if all(v == value for _, v in z):
                flat.append(h)
                continue
            loose.append(h)
            distances = [abs(v - value) * self.bits[i].weight for _, v in z]
            exact.append([(x, c + d) for (x, c), d in zip(h, distances, strict=True)])
        return [spread(part, self.space.side(i), level) for part in (flat, exact, loose)]


def read_lock(space: Space, form: Form) -> Lock | None:
    """The lock that a form is, or None."""
    groups: dict[int, list[tuple[fmpq, fmpq, int]]] = {}
    sums: dict[int, Form] = {}
    for number, unit in space.units(form).items():
        charge(100 * len(unit.inside.terms))
        if unit.row is None or len(space.inputs(unit.inside)) != _ARITY:
            return None
        sums[unit.row] = Form(fmpq(0), unit.inside.terms)
        groups.setdefault(unit.row, []).append((unit.inside.constant, form.terms[number], number))
    if not groups or any(len(zigzag) != _ARITY - 1 for zigzag in groups.values()):
        return None
    bits: dict[int, Points] = {}
    loads: dict[int, fmpq] = {}
    rest, parities, weights = form, [], []
    for shared, zigzag in groups.items():
        curves = space.curves(sums[shared])
        least = {i: min(v for _, v in points) for i, points in curves.items()}
        sizes = {max(v for _, v in points) - least[i] for i, points in curves.items()}
        (second, other, _), (first, factor, _) = sorted(zigzag)
        (size, *more), bottom = sizes, sum(least.values(), fmpq(0))
        placed = first + bottom == -size and second + bottom == -2 * size
        if more or len(curves) != _ARITY or not placed or factor != -other:
            return None
        flipped = [_met(bits, i, points, least[i], size) for i, points in curves.items()]
        if None in flipped:
            return None
        odd, weight = int(factor < 0), abs(factor) * size * _HALF
        for i in curves:
            loads[i] = loads.get(i, fmpq(0)) + weight
        parities.append((frozenset(curves), (odd + flipped.count(True)) % 2))
        weights.append(weight)
        share = (-weight if odd else weight) * size**-1
        bits_sum = Form(-bottom, sums[shared].terms)
        units = [(-coefficient, Form(fmpq(0), {n: fmpq(1)})) for _, coefficient, n in zigzag]
        rest = combined(weight * odd, [(fmpq(1), rest), (share, bits_sum), *units])
    charged = _charged(space, rest, bits, loads)
    if charged is None:
        return None
    return Lock(space, charged.top, min(weights), parities, charged.bits, charged.rest)


def _met(bits: dict[int, Points], i: int, points: Points, least: fmpq, size: fmpq) -> bool | None:
    """Whether a bit is met upside down; None if the input had another one before."""
    z = [(x, (v - least) * size**-1) for x, v in points]
    first = bits.setdefault(i, z)
    if first == z:
        return False
    return True if first == [(x, 1 - v) for x, v in z] else None


@dataclass(frozen=True)
class Charged:
    """The top of a form, its bits with what they are charged, and the charges of other inputs."""

    top: fmpq
    bits: dict[int, Bit]
    rest: dict[int, Points]


def _charged(
    space: Space, form: Form, bits: dict[int, Points], loads: dict[int, fmpq]
) -> Charged | None:
    """What a form without parities charges, if that is enough for every unsettled bit."""
    top, charges = form.constant, {}
    curves = space.curves(form)
    for i in {*curves, *bits}:
        points = curves.get(i, [(end, fmpq(0)) for end in space.ends[i]])
        highest = max(v for _, v in points)
        top += highest
        charges[i] = [(x, highest - v) for x, v in points]
    found = {}
    for i, z in bits.items():
        h = charges.pop(i)
        places = sorted({x for x, _ in (*h, *z, *_crossings(z))})
        both = [(x, _at(z, x), _at(h, x)) for x in places]
        if any(charge < loads[i] * min(value, 1 - value) for _, value, charge in both):
            return None
        if any(value == other == _HALF for (_, value, _), (_, other, _) in pairwise(both)):
            return None
        pieces = [
            ([(a, value), (b, other)], [(a, charge), (b, following)])
            for (a, value, charge), (b, other, following) in pairwise(both)
        ]
        found[i] = Bit(loads[i], pieces)
    return Charged(top, found, charges)


def _crossings(z: Points) -> Iterator[tuple[fmpq, fmpq]]:
    """Where a function passes 1/2 between its points."""
    for (x, value), (following, other) in pairwise(z):
        if (value - _HALF) * (other - _HALF) < 0:
            yield x + (_HALF - value) * (other - value) ** -1 * (following - x), _HALF


def _at(points: Sequence[tuple[fmpq, fmpq]], place: fmpq) -> fmpq:
    """A piecewise linear function at a place between its ends."""
    for (x, value), (following, other) in pairwise(points):
        if x <= place <= following:
            return value + (other - value) * (place - x) * (following - x) ** -1
    raise Unsupported("an input of a bit has no freedom")
