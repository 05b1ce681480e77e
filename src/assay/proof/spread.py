"""How the values of a sum of independent functions of single inputs are spread over the box.

x_i is uniform on its side. The values of a piecewise linear function of it have a mass at each flat
piece and a constant density along each slope, which is a density that sets in at the lower end
and one that is taken away at the upper end. So a spread is a sum of terms: coefficient c_k at
shift s stands for the measure c_k (t - s)^(k-1) / (k-1)! dt on t > s, and c_0 for a mass at s.
Independent values add: shifts add, and polynomials with these coefficients multiply.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import fmpq, fmpq_poly

from assay.proof.arithmetic import Unsupported, from_flint
from assay.proof.forms import Points
from assay.proof.work import charge, limbs

_MOST_SHIFTS = 1 << 10
_MOST_PRODUCTS = 1 << 14
_TOO_MANY = "the violating set has more corners than the checker counts"


@dataclass(frozen=True)
class Spread:
    """Terms by shift, as far as `level`: what lies above is left out."""

    level: fmpq
    terms: dict[fmpq, fmpq_poly]

    def times(self, other: Spread) -> Spread:
        if len(self.terms) * len(other.terms) > _MOST_PRODUCTS:
            raise Unsupported(_TOO_MANY)
        found: dict[fmpq, fmpq_poly] = {}
        charge(_weight(self) * len(other.terms) + _weight(other) * len(self.terms))
        for shift, terms in self.terms.items():
            for more, others in other.terms.items():
                if shift + more <= self.level:
                    found[shift + more] = found.get(shift + more, fmpq_poly()) + terms * others
        return Spread(self.level, _kept(found))

    def plus(self, other: Spread) -> Spread:
        found = dict(self.terms)
        for shift, terms in other.terms.items():
            found[shift] = found.get(shift, fmpq_poly()) + terms
        return Spread(self.level, _kept(found))

    def minus(self, other: Spread) -> Spread:
        return self.plus(Spread(self.level, {s: -terms for s, terms in other.terms.items()}))

    def below(self) -> Fraction:
        """The measure of all values up to the level, which is included."""
        total = fmpq(0)
        for shift, terms in self.terms.items():
            room, power = self.level - shift, fmpq(1)
            for count, coefficient in enumerate(terms.coeffs(), 1):
                total += coefficient * power
                power *= room * fmpq(1, count)
        return from_flint(total)


def _weight(factor: Spread) -> int:
    """About the work of multiplying all terms of a spread by something of its own length."""
    lengths = (limbs(int(p.denom()).bit_length()) * (p.degree() + 2) for p in factor.terms.values())
    return sum(100 + length * 4 for length in lengths)


def certain(level: fmpq) -> Spread:
    """The value zero."""
    return Spread(level, {fmpq(0): fmpq_poly([1])} if level >= 0 else {})


def spread(pieces: Iterable[Points], side: fmpq, level: fmpq) -> Spread:
    """Of a function that is not negative, on some pieces of an input's side."""
    found: dict[fmpq, fmpq_poly] = {}

    def add(shift: fmpq, *coefficients: fmpq) -> None:
        terms = fmpq_poly(list(coefficients))
        found[shift] = found.get(shift, fmpq_poly()) + terms

    for points in pieces:
        for (x, value), (following, other) in pairwise(points):
            share = (following - x) * side**-1
            if value == other:
                add(value, share)
            else:
                density = share * abs(other - value) ** -1
                add(min(value, other), fmpq(0), density)
                add(max(value, other), fmpq(0), -density)
    return Spread(level, _kept({s: terms for s, terms in found.items() if s <= level}))


def product(spreads: Iterable[Spread], level: fmpq) -> Spread:
    total = certain(level)
    for factor in spreads:
        total = total.times(factor)
    return total


def _kept(terms: dict[fmpq, fmpq_poly]) -> dict[fmpq, fmpq_poly]:
    kept = {shift: poly for shift, poly in terms.items() if poly != 0}
    if len(kept) > _MOST_SHIFTS:
        raise Unsupported(_TOO_MANY)
    return kept
