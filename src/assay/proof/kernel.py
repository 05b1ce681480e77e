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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from flint import fmpz_mat

from assay.proof.arithmetic import Vector
from assay.proof.chain import Affine
from assay.proof.interval import Interval

Phases = dict[int, int]


@dataclass(frozen=True)
class Objective:
    """coefficients · z_L + constant."""

    coefficients: Vector
    constant: Fraction


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

    def lower_bounds(
        self,
        objective: Objective,
        batch: Sequence[tuple[Multipliers, Phases]],
    ) -> Iterator[Fraction | None]:
        """A lower bound of the objective for each entry; None where its phases exclude all inputs.

        Phases map a flat unit index to +1 (its pre-activation is >= 0) or -1 (<= 0).
        """
        powers = [max(m.shift, 0) for m, _ in batch]
        words = [
            [w << (power - m.shift) for w in m.words]
            for (m, _), power in zip(batch, powers, strict=True)
        ]
        pulls, starts, denominators = self._pulls(objective, powers, words)
        common = lcm(
            objective.constant.denominator,
            *(layer.denominator for layer in self.layers),
            *denominators,
        )
        factors = [common // d for d in denominators]
        for entry, (_, phases) in enumerate(batch):
            total = (objective.constant * common).numerator << powers[entry]
            offset = 0
            for index, layer in enumerate(self.layers):
                own = words[entry][offset : offset + layer.units]
                total += sum(map(int.__mul__, own, layer.bias)) * (common // layer.denominator)
                bounds = self.bounds[index]
                part = _units_minimum(
                    pulls[index + 1][entry], own, starts[index + 1], bounds, phases, offset
                )
                if part is None:
                    break
                total += part * factors[index + 1]
                offset += layer.units
            else:
                ends = zip(
                    pulls[0][entry],
                    self.box.lower.numerators,
                    self.box.upper.numerators,
                    strict=True,
                )
                total += sum(g * (low if g > 0 else high) for g, low, high in ends) * factors[0]
                yield Fraction(total, common << powers[entry])
                continue
            yield None

    def _pulls(
        self, objective: Objective, powers: list[int], words: list[list[int]]
    ) -> tuple[list[list[list[int]]], list[int], list[int]]:
        """For inputs and every layer: nu of each entry, its denominator, that of its minimum."""
        pulls = [[[c << power for c in objective.coefficients.numerators] for power in powers]]
        starts = [objective.coefficients.denominator]
        end = len(words[0]) if words else 0
        for layer in reversed(self.layers):
            begin = end - layer.units
            own = fmpz_mat(len(words), layer.units, [w for row in words for w in row[begin:end]])
            product = own * layer.weight
            pulls.insert(0, [[int(v) for v in row] for row in product.tolist()])
            starts.insert(0, layer.denominator)
            end = begin
        widths = [self.box.denominator, *(b.denominator for b in self.bounds)]
        return pulls, starts, [s * w for s, w in zip(starts, widths, strict=True)]


def _units_minimum(
    pulls: list[int],
    words: Sequence[int],
    scale: int,
    bounds: Interval,
    phases: Phases,
    offset: int,
) -> int | None:
    """sum over units of min over s of nu relu(s) - y s, or None if a phase contradicts a bound."""
    total = 0
    rows = zip(pulls, words, bounds.lower.numerators, bounds.upper.numerators, strict=True)
    for unit, (pull, word, low, high) in enumerate(rows, offset):
        phase = phases.get(unit, 0)
        if phase > 0:
            low = max(low, 0)
        elif phase < 0:
            high = min(high, 0)
        if low > high:
            return None
        slope = word * scale
        at_low = (pull - slope) * low if low > 0 else -slope * low
        at_high = (pull - slope) * high if high > 0 else -slope * high
        least = at_low if at_low < at_high else at_high
        if low < 0 < high and least > 0:
            least = 0
        total += least
    return total
