"""Robust because a dominant key leaves the rows of linear attention little room on the box.

Row i of the attention is sum_j a_ij v_j with shares a_ij = w_ij / sum_l w_il. All in rationals:

1. Queries and keys are affine in a token, phi is nonnegative and rising: exact ends of every
   phi(q_i), phi(k_j) over the box give ends of every weight w_ij = phi(q_i) · phi(k_j).
2. Weights with ends give ends of the shares; and the least average of fixed numbers under such
   weights: start with all weights low and raise those of the smallest numbers, smallest first,
   as long as the number is below the average. (At the end the raised ones are below the average
   A and the others are not, so sum_j w_j (g_j - A) is never negative.)
3. With v_j = v_j0 + (x_j - x_j0) W at the centre x_0, an excess sum_i c_i · sum_j a_ij v_j is
   sum_i sum_j a_ij (c_i · v_j0), at least a sum of least averages, plus sum_j (x_j - x_j0) ·
   sum_i a_ij (W c_i), at least minus the radii times the largest |sum_i a_ij (W c_i)|.

The shares in 3 are rounded outwards to multiples of 2^-96.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from flint import fmpz_mat

from assay.proof.arithmetic import Rejected, Unsupported, entries
from assay.proof.claim import Claim, Proof, objectives
from assay.proof.interval import Interval, through
from assay.proof.kernel import Objective
from assay.proof.linear_attention import Feature, LinearAttention, read_linear_attention
from assay.proof.work import charge, limbs

_SHARE_BITS = 96
_MOST_WORK = 1 << 30
_MOST_SHARES = 1 << 20
Rows = list[list[int]]


@dataclass(frozen=True)
class Ends:
    """Lower and upper ends of a matrix, over a denominator that its use does not depend on."""

    low: Rows
    high: Rows


def prove(claim: Claim) -> Proof:
    return Proof(min(least_excesses(claim)))


def least_excesses(claim: Claim) -> list[Fraction]:
    """For each disjunct a lower bound of its excess over the box."""
    network = read_linear_attention(claim.graph)
    size = network.tokens * (network.tokens + network.value.units) * network.width
    size += network.tokens * (network.tokens + network.width) * network.query.map.units
    work = (size + network.readout.fan_in) * len(claim.question.disjuncts)
    if work > _MOST_WORK or network.tokens**2 > _MOST_SHARES:
        raise Unsupported("the network has more tokens or classes than the checker follows")
    length = network.query.map.length + network.key.map.length + network.value.length
    charge(work * limbs(2 * length + claim.box.denominator.bit_length()))
    made = network.tokens * (network.tokens + network.width)
    charge(100 * made * len(claim.question.disjuncts))
    bound = _Bound(network, claim.box)
    return [bound.least(objective) for objective in objectives(claim.question, network.readout)]


def weight_ends(network: LinearAttention, box: Interval) -> Ends:
    """The ends of all weights w_ij; both are over the same denominator."""
    query, key = (_feature_ends(feature, network, box) for feature in (network.query, network.key))
    if min(map(min, (*query.low, *key.low))) < 0:
        raise Rejected("a feature of a query or key can be negative on the box")
    ends = Ends(_products(query.low, key.low), _products(query.high, key.high))
    for row, weights in enumerate(ends.low):
        if sum(weights) <= 0:
            raise Rejected(f"the weights of row {row} can be zero on the box")
    return ends


def _products(left: Rows, right: Rows) -> Rows:
    product = _matrix(left) * _matrix(right).transpose()
    return [[int(entry) for entry in row] for row in product.tolist()]


def _matrix(rows: Rows) -> fmpz_mat:
    return fmpz_mat(len(rows), len(rows[0]), [entry for row in rows for entry in row])


def _feature_ends(feature: Feature, network: LinearAttention, box: Interval) -> Ends:
    """The exact ends of phi for each token, all over one denominator."""
    low: Rows = []
    high: Rows = []
    denominator = (feature.map.denominator * box.denominator) ** feature.power
    common = lcm(denominator, feature.offset.denominator)
    offset = feature.offset.numerator * (common // feature.offset.denominator)
    for i in range(network.tokens):
        token = slice(i * network.width, (i + 1) * network.width)
        ends = box.lower.numerators[token], box.upper.numerators[token]
        reached = through(feature.map, Interval.over(box.denominator, *ends))
        for rows, side in ((low, reached.lower), (high, reached.upper)):
            values = (max(v, 0) ** feature.power for v in side.numerators)
            rows.append([v * (common // denominator) + offset for v in values])
    return Ends(low, high)


def _share_ends(weights: Ends) -> Ends:
    """Ends of the shares in units of 2^-96."""
    low, high = [], []
    for least, most in zip(weights.low, weights.high, strict=True):
        all_least, all_most = sum(least), sum(most)
        ends = list(zip(least, most, strict=True))
        low.append([(a << _SHARE_BITS) // (a + all_most - b) for a, b in ends])
        high.append([-((-b << _SHARE_BITS) // (b + all_least - a)) for a, b in ends])
    return Ends(low, high)


def _least_average(numbers: list[int], least: list[int], most: list[int]) -> Fraction:
    total, weight = sum(map(int.__mul__, numbers, least)), sum(least)
    for number, low, high in sorted(zip(numbers, least, most, strict=True)):
        if number * weight >= total:
            break
        total += (high - low) * number
        weight += high - low
    return Fraction(total, weight)


class _Bound:
    """What all excesses of one network share."""

    def __init__(self, network: LinearAttention, box: Interval) -> None:
        self.network = network
        self.weights = weight_ends(network, box)
        shares = _share_ends(self.weights)
        self.least_shares = _matrix(shares.low).transpose()
        self.most_shares = _matrix(shares.high).transpose()
        ends = list(zip(box.lower.numerators, box.upper.numerators, strict=True))
        self.unit = 2 * box.denominator
        self.radii = [b - a for a, b in ends]
        centre = fmpz_mat(network.tokens, network.width, [a + b for a, b in ends])
        bias = fmpz_mat(1, network.value.units, [b * self.unit for b in network.value.bias])
        ones = fmpz_mat(network.tokens, 1, [1] * network.tokens)
        self.values = centre * network.value.weight.transpose() + ones * bias

    def least(self, objective: Objective) -> Fraction:
        network = self.network
        given = objective.coefficients
        gains = fmpz_mat(network.tokens, network.value.units, list(given.numerators))
        scale = given.denominator * network.value.denominator * self.unit
        fixed = (gains * self.values.transpose()).tolist()
        averages = sum(
            _least_average([int(g) for g in row], low, high)
            for row, low, high in zip(fixed, self.weights.low, self.weights.high, strict=True)
        )
        moved = Fraction(self._reach(gains * network.value.weight), scale << _SHARE_BITS)
        taken = sum(map(int.__mul__, given.numerators, network.shift.numerators))
        lowered = Fraction(taken, given.denominator * network.shift.denominator)
        return objective.constant - lowered + averages * Fraction(1, scale) - moved

    def _reach(self, slopes: fmpz_mat) -> int:
        """sum over inputs of radius times the largest |sum_i a_ij slope_i|."""
        flat = entries(slopes)
        shape = (int(slopes.nrows()), int(slopes.ncols()))
        rising = fmpz_mat(*shape, [max(v, 0) for v in flat])
        falling = slopes - rising
        high = entries(self.most_shares * rising + self.least_shares * falling)
        low = entries(self.least_shares * rising + self.most_shares * falling)
        largest = (max(above, -below) for above, below in zip(high, low, strict=True))
        return sum(map(int.__mul__, self.radii, largest))
