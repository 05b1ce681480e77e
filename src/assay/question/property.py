"""What must not happen on the outputs: an OR of ANDs of linear inequalities.

A VNN-LIB file states the *violation* of a property. `Violation.margin` turns it into one
number: positive exactly when the violation does not hold, so ties (margin zero) violate, as
the VNN-LIB text says with its non-strict inequalities.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from assay.question.region import Box


@dataclass(frozen=True)
class Inequality:
    """sum of coefficient * Y[index] <= bound; `terms` is sorted by index, no zero coefficients."""

    terms: tuple[tuple[int, Fraction], ...]
    bound: Fraction

    def excess(self, outputs: Sequence[Fraction]) -> Fraction:
        """How far the left side is above the bound; at most zero when the inequality holds."""
        total = sum((c * outputs[i] for i, c in self.terms), start=Fraction(0))
        return total - self.bound


@dataclass(frozen=True)
class Violation:
    """The violation holds when all inequalities of at least one disjunct hold."""

    outputs: int
    disjuncts: tuple[tuple[Inequality, ...], ...]

    def margin(self, outputs: Sequence[Fraction]) -> Fraction:
        """min over disjuncts of the largest excess: positive iff the property is kept."""
        return min(max(i.excess(outputs) for i in disjunct) for disjunct in self.disjuncts)

    @classmethod
    def misclassification(cls, label: int, classes: int) -> Violation:
        """Some other class scores at least as much as `label`."""
        return cls(
            classes,
            tuple(
                (Inequality(tuple(sorted(((label, Fraction(1)), (k, Fraction(-1))))), Fraction(0)),)
                for k in range(classes)
                if k != label
            ),
        )


@dataclass(frozen=True)
class Case:
    """One input box with the violation asked about on it."""

    box: Box
    violation: Violation


@dataclass(frozen=True)
class Specification:
    """What a VNN-LIB file asks: is there a case whose box holds a violating input?"""

    cases: tuple[Case, ...]


def merged_by_box(cases: Iterable[Case]) -> tuple[Case, ...]:
    """One case a box: violations that are asked about on one and the same box are one OR."""
    boxes: dict[Box, list[Violation]] = {}
    for case in cases:
        boxes.setdefault(case.box, []).append(case.violation)
    return tuple(
        Case(box, Violation(asked[0].outputs, tuple(d for v in asked for d in v.disjuncts)))
        for box, asked in boxes.items()
    )
