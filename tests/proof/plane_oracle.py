"""Networks on two inputs, completely: the box is cut into polygons on which all units are linear.

Everything is a rational. The least margin is at a corner of a polygon, and the violating area is
what the half-planes of no disjunct leave. It shares nothing with the checker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from exact_minimum import Layer
from mutation_campaign import Oracle
from mutation_oracle import Asked, asked, float32_agrees
from mutation_oracle import holds as margin_holds
from small_claims import Claimed

from assay.question.property import Inequality

Line = tuple[Fraction, Fraction, Fraction]
"""a x + b y + c."""
Corner = tuple[Fraction, Fraction]
Polygon = list[Corner]


def at(line: Line, corner: Corner) -> Fraction:
    return line[0] * corner[0] + line[1] * corner[1] + line[2]


def above(polygon: Polygon, line: Line) -> Polygon:
    """The part of a convex polygon where the line is not negative."""
    kept: Polygon = []
    for corner, following in zip(polygon, [*polygon[1:], *polygon[:1]], strict=True):
        here, there = at(line, corner), at(line, following)
        if here >= 0:
            kept.append(corner)
        if here * there < 0:
            share = here / (here - there)
            kept.append(
                (
                    corner[0] + share * (following[0] - corner[0]),
                    corner[1] + share * (following[1] - corner[1]),
                )
            )
    return kept


def area(polygon: Polygon) -> Fraction:
    pairs = zip(polygon, [*polygon[1:], *polygon[:1]], strict=True)
    return abs(sum((a[0] * b[1] - b[0] * a[1] for a, b in pairs), Fraction(0))) / 2


def negative(line: Line) -> Line:
    return (-line[0], -line[1], -line[2])


def combined(weights: Sequence[Fraction], lines: Sequence[Line], bias: Fraction) -> Line:
    used = [(w, line) for w, line in zip(weights, lines, strict=True) if w]
    a, b, c = (sum((w * line[i] for w, line in used), Fraction(0)) for i in range(3))
    return (a, b, c + bias)


def pieces(
    polygon: Polygon, layers: Sequence[Layer], lines: Sequence[Line]
) -> Iterator[tuple[Polygon, list[Line]]]:
    """All parts of a polygon with the outputs there."""
    (weight, bias), rest = layers[0], layers[1:]
    made = [combined(row, lines, b) for row, b in zip(weight, bias, strict=True)]
    if not rest:
        yield polygon, made
        return
    parts: list[tuple[Polygon, list[Line]]] = [(polygon, [])]
    zero = (Fraction(0),) * 3
    for line in made:
        cut: list[tuple[Polygon, list[Line]]] = []
        for part, known in parts:
            values = [at(line, corner) for corner in part]
            if max(values) > 0:
                cut.append((above(part, line), [*known, line]))
            if min(values) < 0 or max(values) <= 0:
                cut.append((above(part, negative(line)), [*known, zero]))
        parts = cut
    for part, known in parts:
        yield from pieces(part, rest, known)


def excess(inequality: Inequality, outputs: Sequence[Line]) -> Line:
    weights = [Fraction(0)] * len(outputs)
    for index, coefficient in inequality.terms:
        weights[index] += coefficient
    return combined(weights, outputs, -inequality.bound)


def without(polygon: Polygon, excesses: Sequence[Line]) -> Iterator[Polygon]:
    """What a disjunct leaves of a polygon: where one of its excesses is positive."""
    for line in excesses:
        if any(at(line, corner) > 0 for corner in polygon):
            yield above(polygon, line)
        polygon = above(polygon, negative(line))


def analysed(question: Asked) -> tuple[Fraction, Fraction]:
    """The least margin on the box, and the share of it that violates."""
    low, high = question.case.box.lower, question.case.box.upper
    box = [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])]
    one, zero = Fraction(1), Fraction(0)
    least, kept = [], zero
    for part, outputs in pieces(box, question.layers, [(one, zero, zero), (zero, one, zero)]):
        for corner in part:
            least.append(question.margin([at(line, corner) for line in outputs]))
        unharmed = [part]
        for disjunct in question.case.violation.disjuncts:
            lines = [excess(inequality, outputs) for inequality in disjunct]
            unharmed = [rest for p in unharmed for rest in without(p, lines)]
        kept += sum(map(area, unharmed), zero)
    return min(least), 1 - kept / area(box)


def holds(claim: Claimed) -> bool:
    """Whether everything is true that a claim about two inputs says, its probability included."""
    question = asked(claim)
    if question is None or question.case.box.dimension != 2 or not margin_holds(claim):
        return False
    if any(a == b for a, b in zip(question.case.box.lower, question.case.box.upper, strict=True)):
        return False
    least, share = analysed(question)
    if claim.truth["answer"] == "robust":
        return "violation_probability" not in claim.truth and least >= Fraction(
            claim.truth["margin"]
        )
    stated = claim.truth.get("violation_probability", {"lower": "0", "upper": "1"})
    ends = {key: Fraction(text) for key, text in stated.items()}
    return ends.get("lower", share) <= share <= ends.get("upper", share) and (
        ends.get("exact", share) == share
    )


PLANE = Oracle(holds, float32_agrees)
