"""What a counterexample is worth: evaluated exactly, replayed in float32, held to the tolerance.

The point as written (decimals, read exactly) and the float32 numbers nearest to it are two
points; both matter. In the order of their worth:

exact                  as written it lies in the box and violates over the real numbers
float32 only           not so, or that cannot be decided; but its float32 numbers lie in the box
                       and what ONNX Runtime computes for them violates
within tolerance only  as written it lies outside of the box by at most the tolerance, and the
                       replay in ONNX Runtime violates without any tolerance on the outputs
no violation           near enough to the box, but nothing above shows a violation
outside box            farther out than the tolerance
missing                no point at all: absent, NaN, infinite, of wrong length, not numbers

The first two need no tolerance, as VNN-COMP 2026 asks of a witness that is to establish `sat`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from assay.errors import BadInput
from assay.judge.task import WitnessClass
from assay.judge.witness_classes import BEST_FIRST, ESTABLISHING
from assay.question.asked import read_specification, refuse_misfits
from assay.question.balls import Bounds
from assay.question.network import Network, load_file
from assay.question.point_evaluation import PointEvaluation
from assay.question.property import Case, Specification
from assay.question.region import Box
from assay.question.sexpr import Atom, Source

TOLERANCE = Fraction(1, 10_000)
"""How far outside of the box VNN-COMP lets an input be."""
_LONGEST_WRITTEN = 4096
"""Bits of a number that is written out; Python refuses to write the longest ones."""


@dataclass(frozen=True)
class WitnessReport:
    """The class of a witness and the numbers behind it, for the case that suits it best.

    `margin` encloses the property's margin at the point as written: one exact number twice, or
    the ends of a ball; None where it could not be computed. `float32_margin` is the margin of
    ONNX Runtime's outputs. `outside` is how far (in one coordinate at most) the point as written
    is out of the box, `float32_outside` the same for its float32 numbers. `rounded_is_exact` says
    of a witness that is `float32 only`: those float32 numbers are an exact counterexample.
    """

    witness_class: WitnessClass
    tolerance: Fraction = TOLERANCE
    margin: Bounds | None = None
    float32_margin: Fraction | None = None
    outside: Fraction | None = None
    float32_outside: Fraction | None = None
    rounded_is_exact: bool = False
    case: int | None = None
    detail: str = ""

    @property
    def establishes(self) -> bool:
        return self.witness_class in ESTABLISHING

    def document(self) -> dict[str, object]:
        """The report for JSON; exact numbers as text."""
        return {
            "class": self.witness_class,
            "tolerance": str(self.tolerance),
            "margin": None if self.margin is None else [_text(end) for end in self.margin],
            "float32_margin": _text(self.float32_margin),
            "outside": _text(self.outside),
            "float32_outside": _text(self.float32_outside),
            "rounded_is_exact": self.rounded_is_exact,
            "case": self.case,
            "detail": self.detail,
        }


def classify(
    network: Network,
    specification: Specification | Case,
    witness: Sequence[str] | None,
    tolerance: Fraction = TOLERANCE,
) -> WitnessReport:
    """The class of a witness, one decimal text an input; the best one over several cases."""
    cases = (specification,) if isinstance(specification, Case) else specification.cases
    refuse_misfits(network, cases)
    point, problem = _point(witness, network.inputs)
    if point is None:
        return WitnessReport("missing", tolerance, detail=problem)
    evaluation = PointEvaluation(network, point)
    reports = (_report(evaluation, case, number, tolerance) for number, case in enumerate(cases))
    return min(reports, key=lambda r: (BEST_FIRST.index(r.witness_class), r.outside))


def classify_files(onnx: Path, vnnlib: Path, witness: Sequence[str] | None) -> WitnessReport:
    """The class of a witness to the question in two files."""
    return classify(load_file(onnx), read_specification(vnnlib), witness)


def parsed_witness(witness: Sequence[str] | None, inputs: int) -> list[Fraction] | None:
    """The exact numbers of a witness, one decimal text an input; None where it has others."""
    return _point(witness, inputs)[0]


def _point(witness: Sequence[str] | None, inputs: int) -> tuple[list[Fraction] | None, str]:
    """The point as written, or None and the reason why there is none."""
    if not witness:
        return None, "no witness was given"
    if len(witness) != inputs:
        return None, f"{len(witness)} numbers where the network takes {inputs}"
    source = Source("", "witness")
    point = []
    for index, text in enumerate(witness):
        try:
            point.append(source.number(Atom(text.strip(), "", 0)))
        except BadInput:
            return None, f"input {index} is {text[:40]!a}, not a number of ordinary size"
    return point, ""


def _report(
    evaluation: PointEvaluation, case: Case, number: int, tolerance: Fraction
) -> WitnessReport:
    outside = _outside(case.box, evaluation.point)
    rounded = evaluation.rounded
    float32_outside = None if rounded is None else _outside(case.box, rounded)
    near = outside <= tolerance or float32_outside == 0
    if not near:
        return WitnessReport(
            "outside box",
            tolerance,
            outside=outside,
            float32_outside=float32_outside,
            case=number,
        )
    margin = evaluation.margin(case.violation)
    outputs = evaluation.float32_outputs
    float32_margin = None if outputs is None else case.violation.margin(outputs)
    replays = float32_margin is not None and float32_margin <= 0
    found: WitnessClass = "no violation"
    if outside == 0 and margin is not None and margin[1] <= 0:
        found = "exact"
    elif replays and float32_outside == 0:
        found = "float32 only"
    elif replays and outside <= tolerance:
        found = "within tolerance only"
    rounded_margin = None
    if found == "float32 only":
        rounded_margin = evaluation.margin(case.violation, rounded=True)
    return WitnessReport(
        found,
        tolerance,
        margin=margin,
        float32_margin=float32_margin,
        outside=outside,
        float32_outside=float32_outside,
        rounded_is_exact=rounded_margin is not None and rounded_margin[1] <= 0,
        case=number,
        detail="; ".join(evaluation.notes),
    )


def _outside(box: Box, point: Sequence[Fraction]) -> Fraction:
    """How far the point is out of the box in the coordinate where it is farthest; 0 inside."""
    farthest = Fraction(0)
    for low, value, high in zip(box.lower, point, box.upper, strict=True):
        if not low <= value <= high:
            farthest = max(farthest, low - value, value - high)
    return farthest


def _text(value: Fraction | None) -> str | None:
    if value is None:
        return None
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _LONGEST_WRITTEN:
        return _rounded(value)
    return str(value)


def _rounded(value: Fraction) -> str:
    try:
        return f"about {float(value):.17g}"
    except OverflowError:
        return f"beyond {'-' if value < 0 else ''}1e308"
