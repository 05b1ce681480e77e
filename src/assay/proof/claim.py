"""What a rule is given: the question read from its bytes, and the certificate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

from assay.proof.arithmetic import Rejected, Unsupported, Vector, column, entries
from assay.proof.chain import Chain
from assay.proof.interval import Interval
from assay.proof.kernel import Objective
from assay.proof.vnnlib import Question


@dataclass(frozen=True)
class Proof:
    """A lower bound of the margin over the box, and intervals proved on the way.

    `bounds` maps a layer to intervals of its pre-activations that are better than plain interval
    arithmetic; the guard uses them.
    """

    margin: Fraction
    bounds: dict[int, Interval] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    question: Question
    chain: Chain
    arrays: bytes | None

    @property
    def box(self) -> Interval:
        return Interval.of(self.question.lower, self.question.upper)

    def without_arrays(self) -> None:
        if self.arrays is not None:
            raise Rejected("this kind of certificate carries no arrays")

    def objectives(self) -> Iterator[Objective]:
        """For each disjunct, its excess as a function of the last hidden layer.

        The claim is proved when every disjunct's excess is positive on the whole box.
        """
        last = self.chain.layers[-1]
        for disjunct in self.question.disjuncts:
            if len(disjunct) != 1:
                raise Unsupported("a disjunct has several inequalities")
            inequality = disjunct[0]
            common = lcm(*(c.denominator for _, c in inequality.coefficients))
            weights = [0] * last.units
            for index, c in inequality.coefficients:
                weights[index] = c.numerator * (common // c.denominator)
            row = column(weights).transpose() * last.weight
            constant = sum(w * b for w, b in zip(weights, last.bias, strict=True))
            denominator = common * last.denominator
            yield Objective(
                Vector(tuple(entries(row)), denominator),
                Fraction(constant, denominator) - inequality.bound,
            )
