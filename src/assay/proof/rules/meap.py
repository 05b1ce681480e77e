"""Robust because no pair of units can be inactive at once (mutually exclusive activations).

The first hidden layer makes terms relu(z_j). Later layers only take maxima and minima of
nonnegative terms, written with ReLUs:

  max(a, b) = b + relu(a - b)        min(a, b) = a - relu(a - b)        a = relu(a)

The rule reads every unit as such a term, from the weights. Then, from the inside out:
max(relu(z_1), relu(z_2)) >= (z_1 + z_2) / 2, whose exact minimum over the box is an affine
form's; a maximum is at least either side, a minimum at least the smaller one.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from assay.proof.arithmetic import Rejected, Unsupported
from assay.proof.chain import Affine
from assay.proof.claim import Claim, Proof
from assay.proof.interval import Interval
from assay.proof.work import charge, limbs, longest

Signed = list[tuple[int, int]]
"""Terms with a sign, as (sign, number of the term)."""


class _Terms:
    """Terms over the first hidden layer, each known by one number; all are nonnegative."""

    def __init__(self, units: int) -> None:
        self.kinds: list[tuple[str, int, int]] = [("unit", j, j) for j in range(units)]
        self._numbers = {kind: number for number, kind in enumerate(self.kinds)}

    def number(self, kind: str, left: int, right: int) -> int:
        key = (kind, left, right)
        if key not in self._numbers:
            self._numbers[key] = len(self.kinds)
            self.kinds.append(key)
        return self._numbers[key]

    def combine(self, row: Sequence[int], units: list[int], scale: int, place: str) -> Signed:
        """sum of row[j] / scale * units[j] as signed maxima, minima and plain terms."""
        charge(30 * len(row))
        weights: dict[int, int] = {}
        for weight, term in zip(row, units, strict=True):
            weights[term] = weights.get(term, 0) + weight
        left = {term: weight // scale for term, weight in weights.items() if weight}
        if any(abs(weight) not in (0, scale) for weight in weights.values()):
            raise Rejected(f"{place} weighs a term by something else than 1 or -1")
        result: Signed = []
        for term in sorted(left, reverse=True):
            sign = left.get(term, 0)
            kind, a, b = self.kinds[term]
            if kind != "rise" or not sign:
                continue
            # sign * relu(a - b) joins with +-b into a maximum or with +-a into a minimum
            if left.get(b) == sign:
                result.append((sign, self.number("max", a, b)))
                del left[term], left[b]
            elif left.get(a) == -sign:
                result.append((-sign, self.number("min", a, b)))
                del left[term], left[a]
        return sorted(result + [(sign, term) for term, sign in left.items()], reverse=True)


def prove(claim: Claim) -> Proof:
    hidden = claim.chain.hidden
    if len(hidden) < 2:
        raise Unsupported("a meap certificate is for networks with at least two hidden layers")
    terms = _Terms(hidden[0].units)
    units = list(range(hidden[0].units))
    for depth, layer in enumerate(hidden[1:], 2):
        units = [_unit(terms, units, layer, unit, depth) for unit in range(layer.units)]
    outputs = []
    for number, objective in enumerate(claim.objectives()):
        row = objective.coefficients.numerators
        # the row is scale times a row of signs; the term it reads may be missing
        scale = max(map(abs, row)) or 1
        signed = terms.combine(row, units, scale, f"disjunct {number}")
        if [sign for sign, _ in signed] not in ([], [1]):
            raise Rejected(f"disjunct {number} is not one positive term")
        weight = Fraction(scale, objective.coefficients.denominator)
        outputs.append((weight, [term for _, term in signed], objective.constant))
    least = _least(terms, hidden[0], claim.box)
    return Proof(
        min(
            constant + weight * sum((least[term] for term in chosen), start=Fraction(0))
            for weight, chosen, constant in outputs
        )
    )


def _unit(terms: _Terms, units: list[int], layer: Affine, unit: int, depth: int) -> int:
    """The term that a later unit computes."""
    place = f"unit {unit} of hidden layer {depth}"
    if layer.bias[unit]:
        raise Rejected(f"{place} has a bias")
    signed = terms.combine(layer.rows[unit], units, layer.denominator, place)
    if [sign for sign, _ in signed] == [1]:
        return signed[0][1]
    if [sign for sign, _ in signed] == [1, -1]:
        return terms.number("rise", signed[0][1], signed[1][1])
    raise Rejected(f"{place} is neither a term nor the difference of two")


def _least(terms: _Terms, first: Affine, box: Interval) -> list[Fraction]:
    """A proven lower bound of every term over the box; terms come after what they are made of."""
    least: list[Fraction] = []
    for kind, a, b in terms.kinds:
        if kind == "unit":
            least.append(max(_minimum(first, [a], box), Fraction(0)))
        elif kind == "rise":
            least.append(Fraction(0))
        elif kind == "min":
            least.append(min(least[a], least[b]))
        elif terms.kinds[a][0] == terms.kinds[b][0] == "unit":
            least.append(max(least[a], least[b], _minimum(first, [a, b], box) / 2))
        else:
            least.append(max(least[a], least[b]))
    return least


def _minimum(first: Affine, units: list[int], box: Interval) -> Fraction:
    """The exact minimum over the box of the sum of some first-layer pre-activations."""
    charge(50 * first.fan_in * limbs(longest(box.lower.numerators)))
    row = [sum(weights) for weights in zip(*(first.rows[u] for u in units), strict=True)]
    ends = zip(row, box.lower.numerators, box.upper.numerators, strict=True)
    total = sum(w * (low if w > 0 else high) for w, low, high in ends)
    bias = sum(first.bias[u] for u in units) * box.denominator
    return Fraction(total + bias, first.denominator * box.denominator)
