"""The share of a box where a sum of k-dimensional hinges stays small: rotated boxes and simplices.

With y = x - lower, the set is all y with sum_j relu(a_j · y + b_j) <= T, on k of the inputs. It
must lie inside the box, so that no face cuts it.

2k hinges in k pairs with opposite rows: with t_j = a_j · y, a pair charges t_j outside of an
interval [l_j, u_j]. In the coordinates t, which enlarge volumes by |det a|, that is a box with a
rim on which charges add: the volume is the sum over m of e_m T^m / m!, where e_m is the coefficient
of v^m in the product of (u_j - l_j + r_j v), and r_j is how far t_j gets for a charge of 1, both
sides together. The set is that box plus the hull of the points T / slope on each half axis.

k + 1 hinges whose rows sum to zero: z_j = a_j · y + b_j sum to -s. z = p - n with p, n >= 0,
sum p = q <= T and sum n = s + q. With m positive entries, q has the density of the volumes
q^(m-1) / (m-1)! and (s + q)^(k-m) / (k-m)!, so the volume in z_1 ... z_k is

  s^k / k! + sum over m = 1 ... k of C(k+1, m) * integral from 0 to T of these two.

A hinge h may be capped: h - relu(h - cap), which reads its row with the opposite weight, is the
smaller one of h and cap. If all caps are above T, no cap is reached where the sum is at most T, so
the set is that of the hinges without caps.

A linear function with coefficients c_j of z is at most T max c - (s + T) min c on the set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from operator import itemgetter

from flint import fmpq, fmpq_mat, fmpq_poly

from assay.proof.arithmetic import Unsupported, from_flint, to_flint
from assay.proof.forms import Form, Hinge, Space, size
from assay.proof.spread import Spread
from assay.proof.work import charge

Row = tuple[fmpq, ...]


@dataclass(frozen=True)
class Hinges:
    """relu(row · y + bias), a row for each, on the sides of the inputs that some row reads."""

    inputs: tuple[int, ...]
    sides: tuple[fmpq, ...]
    rows: list[Row]
    biases: list[fmpq]


def share_above(space: Space, form: Form, bound: fmpq) -> Fraction:
    """The share of the box where constant - (a sum of hinges) is at least `bound`."""
    level = form.constant - bound
    hinges = _read(space, form, level)
    if level < 0:
        return Fraction(0)
    volume, found = _measured(hinges, level)
    for (low, high), side in zip(found, hinges.sides, strict=True):
        if low < 0 or high > side:
            raise Unsupported("the violating set is cut by a face of the box")
    return from_flint(volume * prod(hinges.sides, start=fmpq(1)) ** -1)


def ends(space: Space, form: Form) -> dict[int, tuple[fmpq, fmpq]]:
    """For every input that is read, an interval outside of which the form is not positive."""
    level = max(form.constant, fmpq(0))
    hinges = _read(space, form, level)
    _, found = _measured(hinges, level)
    lower = [space.ends[i][0] for i in hinges.inputs]
    return {
        i: (a + low, a + high)
        for i, a, (low, high) in zip(hinges.inputs, lower, found, strict=True)
    }


def _measured(hinges: Hinges, level: fmpq) -> tuple[fmpq, list[tuple[fmpq, fmpq]]]:
    measure = _simplex if len(hinges.rows) == len(hinges.sides) + 1 else _rotated
    return measure(hinges, level)


def _read(space: Space, form: Form, level: fmpq) -> Hinges:
    """The hinges that a form takes from its constant, as far as they take the level."""
    rows: dict[int, list[tuple[fmpq, fmpq, Form]]] = {}
    units = space.units(form)
    for number, unit in units.items():
        if unit.row is None or len(units) < len(form.terms):
            raise Unsupported("the violating set is not that of a sum of hinges")
        found = -unit.inside.constant, -form.terms[number], unit.inside
        rows.setdefault(unit.row, []).append(found)
    inside = []
    for (start, weight, own), *caps in (sorted(row, key=itemgetter(0)) for row in rows.values()):
        if weight < 0 or len(caps) > 1:
            raise Unsupported("the violating set is not that of a sum of hinges")
        for stop, lost, _ in caps:
            if lost != -weight or weight * (stop - start) <= level:
                raise Unsupported("a hinge of the violating set ends before it charges enough")
        inside.append((weight, own))
    used = sorted({i for _, own in inside for i in own.terms})
    if any(
        not isinstance(term, Hinge) or term.start != space.ends[term.input][0]
        for term in (space.terms[i] for i in used)
    ):
        raise Unsupported("a hinge of the violating set is not that of an affine function")
    return Hinges(
        tuple(used),
        tuple(space.side(i) for i in used),
        [tuple(f * own.terms.get(i, fmpq(0)) for i in used) for f, own in inside],
        [f * own.constant for f, own in inside],
    )


def _rotated(hinges: Hinges, level: fmpq) -> tuple[fmpq, list[tuple[fmpq, fmpq]]]:
    """The volume and, for every input, the least and the largest y."""
    pairs: dict[Row, list[tuple[fmpq, fmpq, fmpq]]] = {}
    for row, bias in zip(hinges.rows, hinges.biases, strict=True):
        size = abs(next(filter(None, row)))
        sign = 1 if next(filter(None, row)) > 0 else -1
        unit = tuple(w * (sign * size) ** -1 for w in row)
        # sign * t + bias / size > 0 costs `size` a step: beyond an end of the interval
        pairs.setdefault(unit, []).append((fmpq(sign), -sign * bias * size**-1, size))
    count = len(hinges.sides)
    if len(pairs) != count or any([s for s, _, _ in sorted(p)] != [-1, 1] for p in pairs.values()):
        raise Unsupported("the violating set is not a box, rotated or not, and not a simplex")
    inverse, stretch = _inverse(list(pairs))
    polynomial, boxes, reaches = fmpq_poly([1]), [], []
    for (_, low, left), (_, high, right) in map(sorted, pairs.values()):
        if high < low:
            raise Unsupported("two hinges of the violating set overlap")
        reach = left**-1, right**-1
        polynomial *= fmpq_poly([high - low, reach[0] + reach[1]])
        boxes.append((low, high))
        reaches.append((-level * reach[0], level * reach[1]))
    volume = to_flint(Spread(level, {fmpq(0): polynomial}).below()) * stretch**-1
    ends = []
    for weights in inverse:
        plateau = [sorted((w * a, w * b)) for w, (a, b) in zip(weights, boxes, strict=True)]
        rim = [sorted((w * a, w * b)) for w, (a, b) in zip(weights, reaches, strict=True)]
        low = sum((a for a, _ in plateau), min(a for a, _ in rim))
        ends.append((low, sum((b for _, b in plateau), max(b for _, b in rim))))
    return volume, ends


def _simplex(hinges: Hinges, level: fmpq) -> tuple[fmpq, list[tuple[fmpq, fmpq]]]:
    count, size = len(hinges.sides), -sum(hinges.biases, fmpq(0))
    if any(sum(column) for column in zip(*hinges.rows, strict=True)) or size <= 0:
        raise Unsupported("the hinges of the violating set do not close a simplex")
    inverse, stretch = _inverse(hinges.rows[:-1])
    # volumes[m] is (s + q)^m / m! as a polynomial in q
    volumes, step = [fmpq_poly([1])], fmpq_poly([size, 1])
    for m in range(1, count + 1):
        volumes.append(volumes[-1] * step * fmpq(1, m))
    total, choices, positive = volumes[count](0), fmpq(1), fmpq_poly([1])
    for m in range(1, count + 1):
        choices *= fmpq(count + 2 - m, m)
        total += choices * (positive * volumes[count - m]).integral()(level)
        positive *= fmpq_poly([0, fmpq(1, m)])
    volume = total * stretch**-1
    ends = []
    for row in inverse:
        base = -sum((w * b for w, b in zip(row, hinges.biases, strict=False)), fmpq(0))
        least, most = min(*row, fmpq(0)), max(*row, fmpq(0))
        reach = size + level
        ends.append((base + level * least - reach * most, base + level * most - reach * least))
    return volume, ends


def _inverse(rows: Sequence[Row]) -> tuple[list[list[fmpq]], fmpq]:
    """The inverse of a square matrix, by rows, and the absolute value of its determinant."""
    # a determinant is about as long as all numbers of a column together
    length = max((size(w) for row in rows for w in row), default=1)
    charge(len(rows) ** 2 * (2000 + length * len(rows) * (100 + len(rows))))
    matrix = fmpq_mat(len(rows), len(rows), [w for row in rows for w in row])
    determinant = matrix.det()
    if determinant == 0:
        raise Unsupported("the hinges of the violating set do not enclose it")
    return matrix.inv().tolist(), abs(determinant)
