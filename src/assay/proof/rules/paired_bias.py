"""Robust because units with one shared response and different biases cannot fall together.

Units of the last hidden layer with the same weights (and, in a convolution, the same window)
compute relu(s + b_j) of one number s. Whatever the layers before make of the input, an excess
sees of them g(s) = sum_j c_j relu(s + b_j). g is zero far to the left and piecewise linear with
kinks at s = -b_j, so if its last slope, the sum of all c_j, is not negative, its least value over
ALL s is the smallest one at a kink, or zero. The excess is at least its constant plus these.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from assay.proof.arithmetic import Rejected, Unsupported
from assay.proof.claim import Claim, Proof


def prove(claim: Claim) -> Proof:
    if not claim.chain.below:
        raise Unsupported("a paired_bias certificate is for networks with a hidden layer")
    layer = claim.chain.below[-1]
    responses = [sorted(units, key=lambda unit: -layer.bias[unit]) for units in layer.responses()]
    margins = []
    for number, objective in enumerate(claim.objectives()):
        weights, total = objective.coefficients.numerators, 0
        for units in responses:
            least = _least([weights[u] for u in units], [layer.bias[u] for u in units])
            if least is None:
                raise Rejected(f"disjunct {number} falls without end with unit {units[0]}")
            total += least
        scale = objective.coefficients.denominator * layer.denominator
        margins.append(objective.constant + Fraction(total, scale))
    return Proof(min(margins))


def _least(weights: Sequence[int], biases: Sequence[int]) -> int | None:
    """min over s of sum_j weights_j relu(s + biases_j), biases falling; None if unbounded."""
    value = slope = least = 0
    before = biases[0]
    for weight, bias in zip(weights, biases, strict=True):
        value += slope * (before - bias)
        least = min(least, value)
        slope, before = slope + weight, bias
    return None if slope < 0 else least
