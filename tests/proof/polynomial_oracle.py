"""Whether a claim about a polynomial network is true, decided without the checker.

Networks are evaluated by `assay.question` in rationals. With one input the margin is a polynomial
of one variable, found again by interpolation; its real roots decide whether it stays above the
claimed margin, completely. With more inputs corners and random points try to refute the claim.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product
from random import Random

from flint import fmpq, fmpq_poly
from small_claims import Claimed

from assay.errors import AssayError
from assay.question import vnnlib
from assay.question.exact import ExactFunction
from assay.question.network import load
from assay.question.property import Case

Margin = Callable[[list[Fraction]], Fraction]
_DEGREE = 24


def margin_of(claim: Claimed) -> tuple[Case, Margin] | None:
    """The question and its margin as a function, or None if the files state none."""
    try:
        network = load(claim.onnx, "mutant")
        (case,) = vnnlib.read(claim.vnnlib.decode(), "mutant").cases
        if (case.box.dimension, case.violation.outputs) != (network.inputs, network.outputs):
            return None
        function = ExactFunction(network)
        function(list(case.box.lower))
    except (AssayError, ValueError):
        return None
    return case, lambda point: case.violation.margin(function(point))


def holds(claim: Claimed) -> bool:
    """Whether the claim is true of its files, as far as it can be refuted."""
    asked = margin_of(claim)
    try:
        claimed = Fraction(claim.truth["margin"])
    except (TypeError, ValueError, ZeroDivisionError):
        return False
    if asked is None:
        return False
    case, margin = asked
    if claim.truth["answer"] == "robust":
        points = _critical(case, margin, claimed) if case.box.dimension == 1 else _sampled(case)
        return claimed > 0 and all(margin(point) >= claimed for point in points)
    try:
        point = [Fraction(text) for text in claim.truth["witness"]]
    except (TypeError, ValueError, KeyError):
        return False
    return case.box.contains(point) and margin(point) <= claimed <= 0


def _sampled(case: Case) -> list[list[Fraction]]:
    draw, sides = Random(0), list(zip(case.box.lower, case.box.upper, strict=True))
    corners = [list(corner) for corner in product(*sides)]
    shares = [[Fraction(draw.randrange(65), 64) for _ in sides] for _ in range(40)]
    inside = [[a + t * (b - a) for t, (a, b) in zip(row, sides, strict=True)] for row in shares]
    return corners + inside


def _critical(case: Case, margin: Margin, claimed: Fraction) -> list[list[Fraction]]:
    """Ends of the interval, and a point between every two roots of margin - claimed."""
    (low,), (high,) = case.box.lower, case.box.upper
    if low == high:
        return [[low]]
    nodes = [low + (high - low) * Fraction(k, _DEGREE) for k in range(_DEGREE + 1)]
    difference = _interpolated(nodes, [margin([x]) - claimed for x in nodes])
    for x in (low - 1, high + Fraction(1, 3)):
        value = difference(fmpq(x.numerator, x.denominator))
        if Fraction(int(value.p), int(value.q)) != margin([x]) - claimed:
            # a spoiled graph need not be a polynomial any more
            return [[node] for node in nodes]
    roots = [
        Fraction(int((root.real * 2**60).mid().floor().unique_fmpz()), 2**60)
        for root, _ in (difference.numer().complex_roots() if difference.degree() > 0 else [])
        if root.imag == 0
    ]
    stops = sorted([low, *(root for root in roots if low < root < high), high])
    return [[low], [high], *([(a + b) / 2] for a, b in pairwise(stops))]


def _interpolated(nodes: list[Fraction], values: list[Fraction]) -> fmpq_poly:
    """Newton's interpolation in rationals."""
    table = list(values)
    for order in range(1, len(nodes)):
        for i in range(len(nodes) - 1, order - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (nodes[i] - nodes[i - order])
    result = fmpq_poly([0])
    for x, value in zip(reversed(nodes), reversed(table), strict=True):
        shift = fmpq_poly([fmpq(-x.numerator, x.denominator), 1])
        result = result * shift + fmpq_poly([fmpq(value.numerator, value.denominator)])
    return result
