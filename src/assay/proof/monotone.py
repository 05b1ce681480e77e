"""Lower bounds of mu(x) = constant + sum_j c_j z_j^d, z = W x + b, over a box of inputs.

Monotone reduction. Where a partial derivative of mu has one sign on the whole box, mu is least on
one of the two faces of that coordinate: the box shrinks to it, all such coordinates at once, and
the shrunk box may fix more signs. A box that shrinks to a point gives the exact minimum.

Signs. For any a_j the derivative c_j d z^(d-1) lies in a_j z + [lo_j, hi_j] on the unit's range;
`univariate` bounds that remainder. Hence the derivative of mu in direction i is within
sum_k |M_ik| w_k of sum_j W_ji (a_j z_j(m) + [lo_j, hi_j]), where m is the middle of the box, w its
half-widths and M = W^T diag(a) W. Terms of different units cancel inside M. We take a_j = 0, and
where that decides nothing the chord's slope.

Value. Integrated from m with e = W (x - m), |e_j| <= r_j and mid_j +- half_j = [lo_j, hi_j]:

  mu(x) >= mu(m) + (x - m) · W^T (a z(m) + mid) + (x - m)^T M (x - m) / 2 - sum_j half_j r_j

All numbers are integers; slopes and remainders are multiples of 2^-128, rounded outwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from flint import fmpz_mat

from assay.proof.arithmetic import Unsupported, Vector, column, entries
from assay.proof.chain import Affine
from assay.proof.interval import Interval, through
from assay.proof.kernel import Objective
from assay.proof.power import refuse_long_powers
from assay.proof.univariate import greatest, least
from assay.proof.work import charge, charge_product, limbs, longest

RANGE_BITS = 64
"""Ranges of hidden units are integers times 2^-64, rounded outwards."""
_SLOPE_BITS = 128
_MOST_PRODUCTS = 1 << 26
_MOST_ROUNDS = 100

Ends = tuple[int, int]


@dataclass(frozen=True)
class _Enclosure:
    """c d z^(d-1) is in slope z + [low, high], in units of 2^-128 over c's denominator."""

    slope: int
    low: int
    high: int


@dataclass(frozen=True)
class Separation:
    """The polynomial objective(first(x)^degree) on a box."""

    first: Affine
    degree: int
    objective: Objective
    box: Interval

    @cached_property
    def free(self) -> list[int]:
        """Coordinates in which the box has an inside."""
        ends = zip(self.box.lower.numerators, self.box.upper.numerators, strict=True)
        return [i for i, (low, high) in enumerate(ends) if low < high]

    @cached_property
    def ranges(self) -> list[Ends]:
        """The interval of each hidden unit, in units of 2^-64."""
        exact = through(self.first, self.box)
        below, above = exact.lower.numerators, exact.upper.numerators
        floors = [(low << RANGE_BITS) // exact.denominator for low in below]
        ceilings = [-((-high << RANGE_BITS) // exact.denominator) for high in above]
        return list(zip(floors, ceilings, strict=True))

    def at(self, point: Vector) -> Fraction:
        """The exact value of the polynomial."""
        values, coefficients = self.first.at(point), self.objective.coefficients
        size = limbs(self.degree * longest((*values.numerators, values.denominator)))
        charge(len(values.numerators) * (50 + size**2))
        pairs = zip(coefficients.numerators, values.numerators, strict=True)
        total = sum(c * n**self.degree for c, n in pairs)
        scale = coefficients.denominator * values.denominator**self.degree
        return self.objective.constant + Fraction(total, scale)

    def reduced(self) -> Separation:
        """The same minimum on a smaller box."""
        if len(self.free) ** 2 * self.first.units > _MOST_PRODUCTS:
            raise Unsupported("the network has more inputs and hidden units than the proof follows")
        exact = through(self.first, self.box)
        for ends in (exact.lower, exact.upper):
            refuse_long_powers(ends, self.degree)
        current = self
        for _ in range(_MOST_ROUNDS):
            if not current.free:
                break
            signs = current._signs(current._constants)
            if not any(signs):
                signs = current._signs(current._chords)
            if not any(signs):
                break
            current = current._on_faces(dict(zip(current.free, signs, strict=True)))
        return current

    def lower_bound(self) -> Fraction:
        """The exact minimum on a box that is one point, otherwise the second-order bound."""
        value = self.at(self._middle)
        if not self.free:
            return value
        chords, widths = self._chords, column(self._widths)
        slopes = [low + high for low, high in self._at_middle(chords)]
        pulls = entries(fmpz_mat(1, len(slopes), slopes) * self._columns)
        form = self._form(chords)
        # twice each term, in units over the square of the scale
        first = sum(abs(pull) * w for pull, w in zip(pulls, self._widths, strict=True))
        second = int((widths.transpose() * _absolute(form) * widths)[0, 0])
        # a square is never negative: positive entries of the diagonal do not count against us
        second -= sum(max(int(form[i, i]), 0) * w * w for i, w in enumerate(self._widths))
        reach = entries(_absolute(self._columns) * widths)
        remainder = sum((c.high - c.low) * r for c, r in zip(chords, reach, strict=True))
        lost = first + second + remainder * self._scale
        unit = 2 * self._scale**2 * self.objective.coefficients.denominator << _SLOPE_BITS
        return value - Fraction(lost, unit)

    @property
    def _scale(self) -> int:
        """Pre-activations at the middle are over this denominator."""
        return self.first.denominator * 2 * self.box.denominator

    @cached_property
    def _middle(self) -> Vector:
        pairs = zip(self.box.lower.numerators, self.box.upper.numerators, strict=True)
        return Vector(tuple(low + high for low, high in pairs), 2 * self.box.denominator)

    @cached_property
    def _widths(self) -> list[int]:
        """Half the width of each free coordinate, over the middle's denominator."""
        low, high = self.box.lower.numerators, self.box.upper.numerators
        return [high[i] - low[i] for i in self.free]

    @cached_property
    def _columns(self) -> fmpz_mat:
        """The weights of the free coordinates, one column each."""
        charge(50 * self.first.units * len(self.free))
        chosen = [row[i] for row in self.first.rows for i in self.free]
        return fmpz_mat(self.first.units, len(self.free), chosen)

    @cached_property
    def _constants(self) -> list[_Enclosure]:
        """The derivatives of the units, enclosed by intervals."""
        pairs = zip(self.objective.coefficients.numerators, self.ranges, strict=True)
        return [_enclosure(c * self.degree, self.degree - 1, ends, 0) for c, ends in pairs]

    @cached_property
    def _chords(self) -> list[_Enclosure]:
        """The derivatives of the units, enclosed around their chords."""
        exponent, result = self.degree - 1, []
        pairs = zip(self.objective.coefficients.numerators, self.ranges, strict=True)
        for c, (low, high) in pairs:
            rise = c * self.degree * (high**exponent - low**exponent) << _SLOPE_BITS
            slope = rise // max(high - low, 1) >> (RANGE_BITS * (exponent - 1))
            result.append(_enclosure(c * self.degree, exponent, (low, high), slope))
        return result

    def _at_middle(self, enclosures: list[_Enclosure]) -> list[Ends]:
        """Bounds of slope z + remainder at the middle, over the scale."""
        values, scale = self.first.at(self._middle).numerators, self._scale
        return [
            (e.slope * z + e.low * scale, e.slope * z + e.high * scale)
            for e, z in zip(enclosures, values, strict=True)
        ]

    def _form(self, enclosures: list[_Enclosure]) -> fmpz_mat:
        """columns^T diag(slopes) columns."""
        units, free = self.first.units, len(self.free)
        slopes = longest(e.slope for e in enclosures) + self.first.length
        charge(50 * units * free)
        charge_product(free, units, free, self.first.length, slopes)
        rows = zip(enclosures, self._columns.tolist(), strict=True)
        weighted = [e.slope * entry for e, row in rows for entry in row]
        shape = self.first.units, len(self.free)
        return self._columns.transpose() * fmpz_mat(*shape, weighted)

    def _signs(self, enclosures: list[_Enclosure]) -> list[int]:
        """The sign of each free partial derivative over the box, 0 where it is not known."""
        charge(100 * self.first.units * len(self.free))
        ends = self._at_middle(enclosures)
        sums = fmpz_mat(1, len(ends), [low + high for low, high in ends]) * self._columns
        spreads = fmpz_mat(1, len(ends), [high - low for low, high in ends])
        doubts = entries(spreads * _absolute(self._columns))
        if any(e.slope for e in enclosures):
            strays = entries(_absolute(self._form(enclosures)) * column(self._widths))
            doubts = [doubt + 2 * stray for doubt, stray in zip(doubts, strays, strict=True)]
        pairs = zip(entries(sums), doubts, strict=True)
        return [1 if s >= doubt else -1 if s <= -doubt else 0 for s, doubt in pairs]

    def _on_faces(self, signs: dict[int, int]) -> Separation:
        """The box with every signed coordinate on the face where the polynomial is least."""
        low, high = list(self.box.lower.numerators), list(self.box.upper.numerators)
        for i, sign in signs.items():
            if sign > 0:
                high[i] = low[i]
            elif sign < 0:
                low[i] = high[i]
        return replace(self, box=Interval.over(self.box.denominator, low, high))


def _enclosure(factor: int, exponent: int, ends: Ends, slope: int) -> _Enclosure:
    """factor z^exponent - slope z over a range, rounded outwards to multiples of 2^-128."""
    scaled = factor << _SLOPE_BITS, slope << (RANGE_BITS * (exponent - 1))
    low, high = least(*scaled, exponent, *ends), greatest(*scaled, exponent, *ends)
    shift = RANGE_BITS * exponent
    return _Enclosure(slope, low >> shift, -(-high >> shift))


def _absolute(matrix: fmpz_mat) -> fmpz_mat:
    return fmpz_mat(int(matrix.nrows()), int(matrix.ncols()), [abs(e) for e in entries(matrix)])
