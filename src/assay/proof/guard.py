"""How far a float32 evaluation can stray from the real one, whatever the summation order.

What one layer loses is in `rounding`. ReLU makes no error, and a unit that cannot rise above zero
by more than its error is exactly zero in float32, too. Residual networks are in `residual_errors`.

In a convolution the l2 norm of the error is at most the l2 operator norm times that of the error
before, plus that of the terms after |W|E; no unit's error exceeds it. After convolutions an output
gets no more of it than its own weights' l2 norm times that.

A power z^d of |z| <= M that is off by E is off by dE(M+E)^(d-1) + g(M+E)^d + 2d 2^-149 with
g = 2du / (1 - 2du): twice what d - 1 multiplications in any order lose, and far more than the
one or two units in the last place of the usual powf.
All numbers are integers in units of 2^-180, rounded up.
"""

from __future__ import annotations

from fractions import Fraction

from assay.proof.arithmetic import Rejected, is_float32, root_above
from assay.proof.chain import Chain
from assay.proof.claim import Proof
from assay.proof.convolution import Convolution
from assay.proof.interval import Interval, preactivations, through
from assay.proof.network import Network
from assay.proof.operator_norms import squared_stretch
from assay.proof.power import PowerNetwork
from assay.proof.residual import ResidualNetwork
from assay.proof.residual_errors import residual_errors
from assay.proof.rounding import UNIT, l2_norm, layer_error, magnitudes, units_above
from assay.proof.vnnlib import Question


def check_float32(network: Network, question: Question, box: Interval, proof: Proof) -> None:
    """Reject unless float32 gives the answer of the real margin everywhere on `box`."""
    if not all(map(is_float32, box.lower.fractions() + box.upper.fractions())):
        raise Rejected("the guard float32 does not hold: the box or witness is not in float32")
    inequalities = [i for disjunct in question.disjuncts for i in disjunct]
    for i in inequalities:
        # one output against zero, or two against each other: compared without another error
        if i.bound or len(i.coefficients) > 2 or any(abs(c) != 1 for _, c in i.coefficients):
            raise Rejected("the guard float32 does not hold: the property needs arithmetic itself")
    errors = output_errors(network, box, proof)
    slack = max(sum(errors[index] for index, _ in i.coefficients) for i in inequalities)
    if abs(proof.margin) <= Fraction(slack, 1 << UNIT):
        raise Rejected("the guard float32 does not hold: rounding could change the answer")


def output_errors(network: Network, box: Interval, proof: Proof) -> list[int]:
    """A bound of each output's float32 error over a box of float32 inputs."""
    if isinstance(network, PowerNetwork):
        return _power_errors(network, box)
    if isinstance(network, ResidualNetwork):
        return residual_errors(network, box)
    return _chain_errors(network, box, proof)


def _power_errors(network: PowerNetwork, box: Interval) -> list[int]:
    size = magnitudes(box)
    carried, own = layer_error(network.first, size, [0] * len(size))
    error = [c + o for c, o in zip(carried, own, strict=True)]
    size, error = _power_error(network.degree, magnitudes(through(network.first, box)), error)
    carried, own = layer_error(network.last, size, error)
    return [c + o for c, o in zip(carried, own, strict=True)]


def _chain_errors(chain: Chain, box: Interval, proof: Proof) -> list[int]:
    size = magnitudes(box)
    error, length = [0] * len(size), 0
    intervals = preactivations(chain, box, proof.bounds)
    for index, (layer, interval) in enumerate(zip(chain.layers, intervals, strict=True)):
        carried, own = layer_error(layer, size, error)
        if layer is chain.last and any(isinstance(below, Convolution) for below in chain.below):
            norms = [l2_norm(row) for row in chain.last.rows]
            straight = [-(-length * norm // layer.denominator) for norm in norms]
            carried = list(map(min, carried, straight))
        error = [c + o for c, o in zip(carried, own, strict=True)]
        summed = l2_norm(error)
        if isinstance(layer, Convolution):
            norm = root_above(proof.stretches.get(index) or squared_stretch(layer))
            length = -(-length * norm.numerator // norm.denominator) + l2_norm(own)
            error = [min(e, length) for e in error]
            summed = min(summed, length)
        length = summed
        tops = [units_above(n, interval.denominator) for n in interval.upper.numerators]
        if layer is not chain.last:
            error = [e if top + e > 0 else 0 for top, e in zip(tops, error, strict=True)]
        size = [max(top, 0) for top in tops]
    return error


def _power_error(degree: int, size: list[int], error: list[int]) -> tuple[list[int], list[int]]:
    """Bounds of the powers of numbers up to `size`, and of their errors."""
    sizes, errors = [], []
    terms = 2 * degree
    for s, e in zip(size, error, strict=True):
        slope = -(-((s + e) ** (degree - 1)) >> (UNIT * (degree - 2)))
        top = -(-(slope * (s + e)) >> UNIT)
        if top >= 1 << (127 + UNIT):
            raise Rejected("the guard float32 does not hold: a power may overflow")
        carried = -(-(degree * e * slope) >> UNIT)
        rounded = -(-(top * terms) // ((1 << 24) - terms))
        sizes.append(top)
        errors.append(carried + rounded + (terms << (UNIT - 149)))
    return sizes, errors
