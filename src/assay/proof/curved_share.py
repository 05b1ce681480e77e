"""The share of a box where hinges of smooth curves of single inputs sum up to little, enclosed.

A hinge relu(c v + b), c > 0 or c < 0, of v = curve(p y + q) with y = x_i - lower_i charges one side
of a place y_0, where it is zero. It charges t where v has moved by t / |c|; there y moves on by
dt / (|c| |p| slope(v)), so the charge has the density of that. Per input there is one hinge that
charges what is below a plateau and one that charges what is above. The density is enclosed on
`_STEPS` equal parts of the level: their ends are all shifts that a sum of charges can have. Shares
of parts are rounded outward to `_BITS` bits, so that sums over many inputs stay short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import fmpq, fmpq_poly

from assay.proof.arithmetic import Unsupported
from assay.proof.curves import Ends, curve_place, curve_slopes
from assay.proof.forms import RELU, Form, Hinge, Space, Unit
from assay.proof.spread import Spread

_STEPS = 16
_BITS = 48
_MOST_INPUTS = 128


@dataclass(frozen=True)
class Side:
    """What one hinge charges: on which side of which place (enclosed), and how far y gets.

    `reaches` encloses, for each part of the level, how far y gets; `end` is the furthest
    place that is charged no more than the level.
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
    if len(inputs) > _MOST_INPUTS or len(sides) != 2 * len(inputs) or space.curves(form):
        raise Unsupported("the violating set is not a box of few inputs behind curves")
    low, high = (
        _product([_spread(space, sides, i, outer) for i in inputs]).below()
        for outer in (False, True)
    )
    return low, high


def _product(spreads: Sequence[Spread]) -> Spread:
    """By halves, which is far less work for many inputs."""
    if len(spreads) == 1:
        return spreads[0]
    middle = len(spreads) // 2
    return _product(spreads[:middle]).times(_product(spreads[middle:]))


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
        factor = abs(step * steepness**-1)
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


def _spread(space: Space, sides: dict[tuple[int, bool], Side], i: int, outer: bool) -> Spread:
    """What input i is charged, in parts: never less (`outer`), or never more, than is true."""
    below, above = sides[i, False], sides[i, True]
    plateau = above.start[outer] - below.start[not outer]
    if plateau < 0:
        raise Unsupported("two hinges of the violating set overlap")
    found = [fmpq_poly([_rounded(plateau * space.side(i) ** -1, outer)])]
    found += [fmpq_poly()] * _STEPS
    for k, reached in enumerate(zip(below.reaches, above.reaches, strict=True)):
        together = sum((reach[outer] for reach in reached), fmpq(0))
        density = fmpq_poly([0, _rounded(together * space.side(i) ** -1, outer)])
        found[k], found[k + 1] = found[k] + density, found[k + 1] - density
    return Spread(fmpq(_STEPS), {fmpq(k): terms for k, terms in enumerate(found)})


def _rounded(share: fmpq, up: bool) -> fmpq:
    scaled = share * (1 << _BITS)
    return fmpq(scaled.ceil() if up else scaled.floor(), 1 << _BITS)
