"""The share of a box where hinges of smooth curves of single inputs sum up to little, enclosed.

A hinge relu(c v + b), c > 0 or c < 0, of v = curve(p y + q) with y = x_i - lower_i charges one side
of a place y_0, where it is zero. It charges t where v has moved by t / |c|; there y moves on by
dt / (|c| |p| slope(v)), so the charge has the density of that. Per input there is one hinge that
charges what is below a plateau and one that charges what is above. The density is enclosed on
`_STEPS` equal parts of the level: their ends are all shifts that a sum of charges can have.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import fmpq, fmpq_poly

from assay.proof.arithmetic import Unsupported
from assay.proof.curves import Ends, curve_place, curve_slopes
from assay.proof.forms import RELU, Form, Hinge, Space, Unit
from assay.proof.spread import Spread, product

_STEPS = 16


@dataclass(frozen=True)
class Side:
    """What one hinge charges: on which side of which place (enclosed), and how far y gets.

    `reaches` encloses, for each part of the level, how far y gets for a charge of 1; `end` is the
    furthest place that is charged no more than the level.
    """

    input: int
    above: bool
    start: Ends
    end: fmpq
    reaches: list[Ends]


def share_above(space: Space, form: Form, bound: fmpq) -> tuple[Fraction, Fraction]:
    """Bounds of the share where constant - (a sum of such hinges) is at least `bound`."""
    level = form.constant - bound
    if level <= 0:
        raise Unsupported("the violating set has no rim")
    sides: dict[tuple[int, bool], Side] = {}
    for number, unit in space.units(form).items():
        if unit.curve != RELU or form.terms[number] > 0:
            raise Unsupported("the violating set is not that of a sum of hinges")
        side = _side(space, unit, -form.terms[number], level)
        if (side.input, side.above) in sides:
            raise Unsupported("an input is charged twice on one side")
        sides[side.input, side.above] = side
    inputs = {i for i, _ in sides}
    if len(sides) != 2 * len(inputs) or space.curves(form):
        raise Unsupported("the violating set is not a box behind curves")
    low, high = (
        product((_spread(space, sides, i, level, outer) for i in inputs), level).below()
        for outer in (False, True)
    )
    return low, high


def _side(space: Space, unit: Unit, weight: fmpq, level: fmpq) -> Side:
    inner = space.units(unit.inside)
    if len(inner) != 1 or len(unit.inside.terms) != 1:
        raise Unsupported("a hinge of the violating set is not that of one curve")
    ((number, bent),) = inner.items()
    slope, terms = unit.inside.terms[number], [space.terms[i] for i in bent.inside.terms]
    if bent.curve == RELU or len(terms) != 1 or not isinstance(terms[0], Hinge):
        raise Unsupported("a curve of the violating set is not that of one input")
    i, ends = terms[0].input, space.ends[terms[0].input]
    if terms[0].start != ends[0]:
        raise Unsupported("a curve of the violating set is not that of an affine function")
    steepness = bent.inside.terms[next(iter(bent.inside.terms))]
    rate, zero = abs(slope) * weight, -unit.inside.constant * slope**-1
    step = level * rate**-1 * (1 if slope > 0 else -1) * fmpq(1, _STEPS)
    reaches = []
    for k in range(_STEPS):
        least, most = curve_slopes(bent.curve, (zero + k * step, zero + (k + 1) * step))
        factor = (rate * abs(steepness)) ** -1
        if least <= 0:
            raise Unsupported("a curve of the violating set is flat")
        reaches.append((factor * most**-1, factor * least**-1))
    above = (slope > 0) == (steepness > 0)

    def located(reached: fmpq) -> Ends:
        found = [
            (z - bent.inside.constant) * steepness**-1 for z in curve_place(bent.curve, reached)
        ]
        return min(found), max(found)

    end = located(zero + _STEPS * step)[above]
    if not 0 <= end <= ends[1] - ends[0]:
        raise Unsupported("the violating set is cut by a face of the box")
    return Side(i, above, located(zero), end, reaches)


def _spread(
    space: Space, sides: dict[tuple[int, bool], Side], i: int, level: fmpq, outer: bool
) -> Spread:
    """What input i is charged: never less (`outer`), or never more, of its side than is true."""
    below, above, length = sides[i, False], sides[i, True], space.side(i) ** -1
    plateau = above.start[outer] - below.start[not outer]
    if plateau < 0:
        raise Unsupported("two hinges of the violating set overlap")
    found: dict[fmpq, fmpq_poly] = {fmpq(0): fmpq_poly([plateau * length])}
    step = level * fmpq(1, _STEPS)
    for side in (below, above):
        for k, reach in enumerate(side.reaches):
            density = reach[outer] * length
            for shift, sign in ((k * step, 1), ((k + 1) * step, -1)):
                terms = fmpq_poly([0, sign * density])
                found[shift] = found.get(shift, fmpq_poly()) + terms
    return Spread(level, found)
