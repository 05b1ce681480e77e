"""What a rule is given: the question read from its bytes, and the certificate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from flint import fmpz_mat

from assay.proof.arithmetic import Unsupported, Vector, entries
from assay.proof.chain import Affine, Chain
from assay.proof.interval import Interval
from assay.proof.kernel import Objective
from assay.proof.network import Network, read_network
from assay.proof.power import PowerNetwork
from assay.proof.reader import Graph
from assay.proof.residual import ResidualNetwork
from assay.proof.vnnlib import Question
from assay.proof.work import charge, fit, limbs, longest

_MOST_COEFFICIENTS = 1 << 26


@dataclass(frozen=True)
class Proof:
    """A lower bound of the margin over the box, and intervals proved on the way.

    `bounds` maps a layer to intervals of its pre-activations that are better than plain interval
    arithmetic, `stretches` to bounds of the square of its l2 norm; the guard uses them.
    """

    margin: Fraction
    bounds: dict[int, Interval] = field(default_factory=dict)
    stretches: dict[int, Fraction] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    question: Question
    graph: Graph
    arrays: bytes | None

    @cached_property
    def network(self) -> Network:
        """The network as layers; rules about other structures read the graph themselves."""
        return read_network(self.graph)

    @property
    def chain(self) -> Chain:
        if not isinstance(self.network, Chain):
            raise Unsupported("the certificate is for networks of affine maps and ReLUs")
        return self.network

    @property
    def power_network(self) -> PowerNetwork:
        if not isinstance(self.network, PowerNetwork):
            raise Unsupported("the certificate is for one hidden layer with a power")
        return self.network

    @property
    def residual_network(self) -> ResidualNetwork:
        if not isinstance(self.network, ResidualNetwork):
            raise Unsupported("the certificate is for residual networks")
        return self.network

    @cached_property
    def box(self) -> Interval:
        return Interval.of(self.question.lower, self.question.upper)

    def objectives(self) -> Iterator[Objective]:
        """For each disjunct, its excess as a function of the last hidden layer.

        The claim is proved when every disjunct's excess is positive on the whole box.
        """
        return objectives(self.question, self.network.last)


def objectives(question: Question, last: Affine) -> Iterator[Objective]:
    """For each disjunct, its excess as a function of what enters the network's last affine map."""
    if len(question.disjuncts) * last.fan_in > _MOST_COEFFICIENTS:
        raise Unsupported("the VNN-LIB file has more disjuncts than the checker follows")
    for disjunct in question.disjuncts:
        if len(disjunct) != 1:
            raise Unsupported("a disjunct has several inequalities")
        coefficients, bound = disjunct[0].coefficients, disjunct[0].bound
        factors = Vector.of([c for _, c in coefficients])
        length = longest(factors.numerators) + last.length
        charge(last.fan_in * (50 + len(coefficients) * limbs(length)))
        fit(last.fan_in, length)
        chosen = [last.rows[i] for i, _ in coefficients]
        matrix = fmpz_mat(len(chosen), last.fan_in, [w for row in chosen for w in row])
        row = fmpz_mat(1, len(chosen), list(factors.numerators)) * matrix
        biases = (last.bias[i] for i, _ in coefficients)
        constant = sum(f * b for f, b in zip(factors.numerators, biases, strict=True))
        denominator = factors.denominator * last.denominator
        yield Objective(
            Vector(tuple(entries(row)), denominator), Fraction(constant, denominator) - bound
        )
