"""A network at one point in three ways: rationals, balls where those fail, float32 in a replay."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from assay.errors import BadInput, Unsupported
from assay.question.balls import Bounds, enclose
from assay.question.exact import evaluate
from assay.question.network import Network
from assay.question.property import Violation
from assay.question.runtime import FloatRunner

_RATIONAL = 0
_PRECISIONS = (_RATIONAL, 192, 768, 3072)
"""Bits for balls, tried in this order until the sign of the margin is certain."""


class PointEvaluation:
    """Each way is computed at most once, and only when something asks for it.

    `rounded` holds the float32 numbers nearest to `point`, None if one of them is infinite;
    they come by way of float64, as whoever reads the decimals with numpy gets them.
    `notes` says in words what could not be computed.
    """

    def __init__(self, network: Network, point: Sequence[Fraction]) -> None:
        self.network = network
        self.point = list(point)
        self.notes: list[str] = []
        self._enclosed: dict[tuple[bool, int], list[Bounds] | None] = {}
        with np.errstate(over="ignore"):
            doubles = np.array([_nearest_double(v) for v in point], np.float64)
            self._float32 = doubles.astype(np.float32)
        finite = bool(np.isfinite(self._float32).all())
        self.rounded = [Fraction(float(v)) for v in self._float32] if finite else None

    def margin(self, violation: Violation, *, rounded: bool = False) -> Bounds | None:
        """Bounds on the margin over the real numbers, as sharp as its sign needs if possible."""
        rounded = rounded and self.rounded != self.point
        found = None
        for bits in _PRECISIONS:
            outputs = self._outputs(rounded, bits)
            if outputs is not None:
                found = margin_bounds(violation, outputs)
                if found[1] <= 0 or found[0] > 0:
                    return found
        if found is not None:
            self._note(f"the margin's sign is undecided with {_PRECISIONS[-1]} bits")
        return found

    def outputs(self) -> list[Bounds] | None:
        """Every output over the real numbers: exact where it is rational, else within a ball."""
        for bits in _PRECISIONS[:2]:
            found = self._outputs(False, bits)
            if found is not None:
                return found
        return None

    @cached_property
    def float32_outputs(self) -> list[Fraction] | None:
        """What ONNX Runtime computes for the float32 numbers; None unless it is finite."""
        if self.rounded is None:
            self._note("too large for float32")
            return None
        try:
            outputs = FloatRunner(self.network).run(self._float32[np.newaxis])[0]
        except BadInput as error:
            self._note(f"no replay ({error})")
            return None
        if not np.isfinite(outputs).all():
            self._note("ONNX Runtime's outputs are not finite")
            return None
        return [Fraction(float(v)) for v in outputs]

    def _outputs(self, rounded: bool, bits: int) -> list[Bounds] | None:
        """Outputs in rationals or balls; None where that way does not work."""
        key = (rounded, bits)
        if key not in self._enclosed:
            point = self.rounded if rounded else self.point
            assert point is not None, "only finite float32 numbers are evaluated"
            try:
                if bits == _RATIONAL:
                    self._enclosed[key] = [(v, v) for v in evaluate(self.network, point)]
                else:
                    self._enclosed[key] = enclose(self.network, point, bits)
            except (Unsupported, BadInput) as error:
                self._enclosed[key] = None
                if bits != _RATIONAL:
                    self._note(f"not computed over the real numbers ({error})")
        return self._enclosed[key]

    def _note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)


def margin_bounds(violation: Violation, outputs: Sequence[Bounds]) -> Bounds:
    """The margin of a violation where every output is known within bounds."""
    if all(low == high for low, high in outputs):
        exact = violation.margin([low for low, _ in outputs])
        return exact, exact
    disjuncts = []
    for disjunct in violation.disjuncts:
        excesses = []
        for inequality in disjunct:
            low = high = -inequality.bound
            for index, coefficient in inequality.terms:
                ends = sorted(coefficient * end for end in outputs[index])
                low, high = low + ends[0], high + ends[1]
            excesses.append((low, high))
        disjuncts.append((max(e[0] for e in excesses), max(e[1] for e in excesses)))
    return min(d[0] for d in disjuncts), min(d[1] for d in disjuncts)


def _nearest_double(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf
