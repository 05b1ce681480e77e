"""The bound behind branch and bound: free multipliers on a chain whose units have intervals.

Let z_l = relu(s_l), s_l = W_l z_(l-1) + b_l, z_0 = x in a box, and every s_(l,j) in an interval
[l, u]. For ANY real multipliers y_l, adding the zero terms y_l · (W_l z_(l-1) + b_l - s_l) to an
objective c · z_L + c0 and minimising each unit on its own gives a lower bound of it:

  c0 + sum_l y_l · b_l + sum_i min(g_i lo_i, g_i hi_i)
     + sum_(l,j) min_s (nu_(l,j) relu(s) - y_(l,j) s)

with nu_L = c, nu_l = W_(l+1)^T y_(l+1), g = W_1^T y_1. The function under the last minimum is
piecewise linear in s with its only kink at 0, so its minimum is at l, u or 0. Optimal
multipliers reach the triangle relaxation; others are merely weaker, never wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import fmpz_mat

from assay.proof.arithmetic import Vector, entries
from assay.proof.chain import Affine
from assay.proof.interval import Interval
from assay.proof.work import charge, limbs, longest

Phases = dict[int, int]


@dataclass(frozen=True)
class Objective:
    """coefficients · z_L + constant."""

    coefficients: Vector
    constant: Fraction

    def at(self, values: Vector) -> Fraction:
        length = longest(values.numerators)
        charge(len(values.numerators) * (20 + limbs(length)))
        pairs = zip(self.coefficients.numerators, values.numerators, strict=True)
        scale = self.coefficients.denominator * values.denominator
        return Fraction(sum(c * v for c, v in pairs), scale) + self.constant


@dataclass(frozen=True)
class Multipliers:
    """One multiplier words[j] / 2^shift for each hidden unit, first layer first."""

    shift: int
    words: Sequence[int]


@dataclass(frozen=True)
class Relaxation:
    """The hidden layers up to the one the objective speaks of, and what bounds their units."""

    layers: tuple[Affine, ...]
    box: Interval
    bounds: tuple[Interval, ...]

    def lower_bound(
        self, objective: Objective, multipliers: Multipliers, phases: Phases
    ) -> Fraction | None:
        """A lower bound of the objective; None where the phases exclude all inputs.

        Phases map a flat unit index to +1 (its pre-activation is >= 0) or -1 (<= 0).
        """
        for layer in self.layers:
            charge(layer.units * (100 + layer.fan_in * limbs(layer.length)) + 20 * layer.fan_in)
        power = max(multipliers.shift, 0)
        words = [w << (power - multipliers.shift) for w in multipliers.words]
        # nu of the layer at hand is pulls / scale; as the words, times 2^power
        pulls = [c << power for c in objective.coefficients.numerators]
        scale = objective.coefficients.denominator
        total = objective.constant * (1 << power)
        for layer, bounds in zip(reversed(self.layers), reversed(self.bounds), strict=True):
            begin = len(words) - layer.units
            own = words[begin:]
            del words[begin:]
            part = _units_minimum(pulls, [w * scale for w in own], bounds, phases, begin)
            if part is None:
                return None
            total += Fraction(part, scale * bounds.denominator)
            total += Fraction(sum(map(int.__mul__, own, layer.bias)), layer.denominator)
            pulls, scale = entries(fmpz_mat(1, layer.units, own) * layer.weight), layer.denominator
        ends = zip(pulls, self.box.lower.numerators, self.box.upper.numerators, strict=True)
        least = sum(pull * (low if pull > 0 else high) for pull, low, high in ends)
        return (total + Fraction(least, scale * self.box.denominator)) / (1 << power)


def _units_minimum(
    pulls: list[int], slopes: list[int], bounds: Interval, phases: Phases, offset: int
) -> int | None:
    """sum over units of min over s of nu relu(s) - y s, or None if a phase contradicts a bound."""
    total = 0
    rows = zip(pulls, slopes, bounds.lower.numerators, bounds.upper.numerators, strict=True)
    for unit, (pull, slope, low, high) in enumerate(rows, offset):
        phase = phases.get(unit, 0)
        if phase > 0:
            low = max(low, 0)
        elif phase < 0:
            high = min(high, 0)
        if low > high:
            return None
        at_low = (pull - slope) * low if low > 0 else -slope * low
        at_high = (pull - slope) * high if high > 0 else -slope * high
        least = at_low if at_low < at_high else at_high
        if low < 0 < high and least > 0:
            least = 0
        total += least
    return total
