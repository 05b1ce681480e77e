"""Residual blocks x - c W^T relu(W x + b) that move no two inputs apart in l2.

They go downhill on the convex function c/2 |relu(W x + b)|^2. What W^T W may stretch is known
exactly: for rows of Hadamard matrices by orthogonality, for dense random rows from their
characteristic polynomial. W is an 8-bit factor times small integers and c a power of two, so that
c times the largest eigenvalue is at most the one asked for, and -c W^T is exact in float32.

With orthogonal rows and an eigenvalue of 2 every unit is a mirror: where it is open, the block
reflects its input, and where it is shut, leaves it alone. Lengths of small differences are then
kept exactly, at any depth, so that no certificate could allow a smaller drop in l2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from flint import fmpz_mat
from numpy.random import Generator
from numpy.typing import NDArray

from assay.proof.nonexpansive import has_root_above
from assay.truth.contracting_filters import hadamard, short_root
from assay.truth.corner_search import Floats, relu, rounded
from assay.truth.dyadic import nearest, power
from assay.truth.randomness import Integers, signed

Mixing = Literal["hadamard", "dense"]
_LARGEST_INTEGER = 15
_BIAS_BITS = 16
_EIGENVALUE_STEPS = 256


@dataclass(frozen=True, eq=False)
class PotentialBlock:
    """x -> x - scale W^T relu(W x + b)."""

    weight: NDArray[np.float32]
    bias: NDArray[np.float32]
    scale: float

    @property
    def outer(self) -> NDArray[np.float32]:
        """-scale W^T, exact because the scale is a power of two."""
        return np.ascontiguousarray(self.weight.T) * np.float32(-self.scale)

    @cached_property
    def _wide(self) -> Floats:
        return self.weight.astype(np.float64)

    def responses(self, values: Floats) -> Floats:
        """Pre-activations of the units, rounded as a search needs them."""
        return rounded(self._wide @ values + self.bias)

    def after(self, values: Floats, responses: Floats) -> Floats:
        """The block's result."""
        return rounded(values - self.scale * (self._wide.T @ relu(responses)))

    def pulled_back(self, slope: Floats, responses: Floats) -> Floats:
        """The gradient before the block from the one after it."""
        opened = np.where(responses > 0, rounded(self._wide @ slope), 0.0)
        return rounded(slope - self.scale * (self._wide.T @ opened))


def drawn_block(
    draw: Generator, mixing: Mixing, units: int, features: int, step: Fraction
) -> PotentialBlock:
    """A block without biases whose largest eigenvalue of c W^T W is `step`, rounded down."""
    if mixing == "hadamard":
        stacked = [hadamard(draw, features) for _ in range(-(-units // features))]
        integers = np.concatenate(stacked)[:units]
        largest = features * len(stacked)
    else:
        integers = signed(draw, _LARGEST_INTEGER, (units, features))
        largest = _eigenvalue_above(integers)
    # with c = 1 or c = 2 the root that is needed may be a short number
    roots = {c: short_root(step / (c * largest)) for c in (1, 2)}
    reached = {c: c * (factor * power(exponent)) ** 2 for c, (factor, exponent) in roots.items()}
    scale = max(roots, key=reached.__getitem__)
    factor, exponent = roots[scale]
    weight = (factor * integers * float(power(exponent))).astype(np.float32)
    return PotentialBlock(weight, np.zeros(units, np.float32), float(scale))


def _eigenvalue_above(integers: Integers) -> int:
    """The largest eigenvalue of W^T W, rounded up by less than one part in 256."""
    matrix = fmpz_mat(*integers.shape, [int(v) for v in integers.ravel()])
    transposed = matrix.transpose()
    wide = len(integers) <= integers.shape[1]
    gram = matrix * transposed if wide else transposed * matrix
    polynomial = gram.charpoly()
    # the trace is the sum of all eigenvalues, none of them negative
    high = sum(int(gram[i, i]) for i in range(gram.nrows()))
    low = high // gram.nrows() - 1
    while high - low > 1 + low // _EIGENVALUE_STEPS:
        middle = (low + high) // 2
        low, high = (middle, high) if has_root_above(polynomial, middle) else (low, middle)
    return high


def placed(
    draw: Generator, block: PotentialBlock, values: Sequence[Floats], instability: float
) -> PotentialBlock:
    """The block with biases that make the wanted share of its units unstable.

    `values` are states: that of the box's middle, then those of random corners. A unit counts as
    unstable if its response at the middle is closer to zero than what the corners move it by.
    """
    middle, *others = [block.responses(value) for value in values]
    reach = np.max([np.abs(other - middle) for other in others], axis=0)
    units = len(middle)
    near = draw.integers(-4, 4, size=units, endpoint=True) / 8
    sides = 2 * draw.integers(0, 2, size=units) - 1
    far = sides * draw.integers(9, 16, size=units) / 8
    unstable = draw.permutation(units) < round(instability * units)
    shift = np.where(unstable, near, far) * reach - middle
    bias = [float(nearest(Fraction(float(s)), -_BIAS_BITS)) for s in shift]
    return replace(block, bias=np.array(bias, np.float32))
