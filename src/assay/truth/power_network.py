"""Shallow polynomial networks in exact numbers: drawing them, and points of their boundary.

f(x) = W2 (W1 x + b1)^d + b2 with two outputs. Weights are drawn as integers times a power of two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import isqrt

import numpy as np
from flint import fmpz_mat, fmpz_poly
from numpy.random import Generator
from numpy.typing import NDArray

from assay.proof.arithmetic import Vector, entries
from assay.proof.chain import Affine
from assay.proof.power import PowerNetwork
from assay.question.floaterror import Layer
from assay.question.graph import GraphBuilder
from assay.truth.assemble import dyadic_integers
from assay.truth.dyadic import CENTRE_BITS, leading_exponent, power
from assay.truth.randomness import Integers, signed

GRID = power(-23)
"""Inputs are multiples of this between -2 and 2: all of them are float32 numbers."""
_WEIGHT_BITS = 12
_READOUT_BITS = 6
_FARTHEST_ROOT = 2

Point = tuple[Fraction, ...]


@dataclass(frozen=True)
class Shallow:
    """A network and the class whose score should stay the larger one."""

    first: Layer
    last: Layer
    degree: int
    label: int

    @cached_property
    def exact(self) -> PowerNetwork:
        return PowerNetwork(_affine(*self.first), self.degree, _affine(*self.last))

    @cached_property
    def coefficients(self) -> list[int]:
        """The readout of the label minus the other one's, over the last layer's denominator."""
        rows = self.exact.last.rows
        pairs = zip(rows[self.label], rows[1 - self.label], strict=True)
        return [own - other for own, other in pairs]

    @property
    def offset(self) -> int:
        """The label's last bias minus the other one's, over the last layer's denominator."""
        bias = self.exact.last.bias
        return bias[self.label] - bias[1 - self.label]

    def margin(self, point: Point) -> Fraction:
        outputs = self.exact.outputs(Vector.of(point)).fractions()
        return outputs[self.label] - outputs[1 - self.label]

    def hidden(self, point: Point) -> list[int]:
        """The exact pre-activations, over some common denominator."""
        return list(self.exact.first.at(Vector.of(point)).numerators)

    def uphill(self, point: Point) -> Integers:
        """The sign of every partial derivative of the margin; zero counts as rising."""
        slopes = [
            c * z ** (self.degree - 1)
            for c, z in zip(self.coefficients, self.hidden(point), strict=True)
        ]
        gradient = entries(fmpz_mat(1, len(slopes), slopes) * self.exact.first.weight)
        return np.array([1 if g >= 0 else -1 for g in gradient])

    def root_on_line(self, start: Point, direction: Point) -> Fraction | None:
        """The root of the margin on start + t direction that is nearest to t = 0, on a grid.

        The margin is a polynomial in t with integer coefficients; its roots are isolated by
        balls, so that a real one is known to be real.
        """
        origin, ends = (self.exact.first.at(Vector.of(v)) for v in (start, _sum(start, direction)))
        common = max(origin.denominator, ends.denominator)
        total = fmpz_poly([self.offset * common**self.degree])
        lines = zip(self.coefficients, origin.over(common), ends.over(common), strict=True)
        for c, at_zero, at_one in lines:
            total += c * fmpz_poly([at_zero, at_one - at_zero]) ** self.degree
        if total.degree() < 1:
            return None
        steps = 1 << 40
        roots = [
            Fraction(int((root.real * steps).mid().floor().unique_fmpz()), steps)
            for root, multiplicity in total.complex_roots()
            if root.imag == 0 and multiplicity == 1
        ]
        near = [root for root in roots if abs(root) <= _FARTHEST_ROOT]
        return min(near, key=abs, default=None)

    def lifted(self, point: Point, signs: Integers, steps: int) -> Shallow:
        """The compensated rank-one change that adds `steps` to growing units' weights.

        Units with c_j z_j^d > 0 get a row of steps times `signs`, turned so that they grow
        uphill; their biases are moved so that they keep their value at `point`, up to rounding.
        """
        values = self.hidden(point)
        grow = [
            0 if c * z**self.degree <= 0 else 1 if z > 0 else -1
            for c, z in zip(self.coefficients, values, strict=True)
        ]
        weight, bias = self.first
        step = Fraction(steps) * self.step
        along = sum((int(s) * x for s, x in zip(signs, point, strict=True)), Fraction(0))
        rows = weight + np.outer(grow, signs).astype(np.float32) * np.float32(float(step))
        moved = [Fraction(float(b)) - g * step * along for b, g in zip(bias, grow, strict=True)]
        biases = np.array([float(b) for b in moved]).astype(np.float32)
        return replace(self, first=(rows.astype(np.float32), biases))

    @property
    def step(self) -> Fraction:
        """The grid of the first layer's weights."""
        return power(weight_scale(self.first[0].shape[1])[0])

    def onnx(self, operator: str) -> bytes:
        """The network with one Pow node, or with Mul nodes that square and multiply."""
        graph = GraphBuilder((1, self.first[0].shape[1]))
        values = graph.gemm(graph.input, *self.first)
        if operator == "pow":
            powers = graph.pow(values, np.array(self.degree, dtype=np.float32))
        else:
            powers = values
            for bit in bin(self.degree)[3:]:
                powers = graph.mul(powers, powers)
                powers = graph.mul(powers, values) if bit == "1" else powers
        return graph.build(graph.gemm(powers, *self.last))


def weight_scale(inputs: int) -> tuple[int, int]:
    """Exponent and largest integer of first-layer weights of variance 1 / inputs."""
    largest = Fraction(isqrt((3 << 40) // inputs), 1 << 20)
    exponent = leading_exponent(largest) - _WEIGHT_BITS + 1
    return exponent, round(largest / power(exponent))


def drawn(
    draw: Generator, inputs: int, hidden: int, degree: int, bias_size: Fraction, near: Point
) -> Shallow:
    """Random weights; the last biases are at most an eighth of what the units add up to `near`."""
    exponent, amplitude = weight_scale(inputs)
    weight = _float32(signed(draw, amplitude, (hidden, inputs)), exponent)
    highest = round(bias_size * (1 << _WEIGHT_BITS))
    bias = _float32(signed(draw, highest, (hidden,)), -_WEIGHT_BITS)
    readout = _float32(signed(draw, 1 << _READOUT_BITS, (2, hidden)), -_READOUT_BITS)
    label = int(draw.integers(2))
    shares = signed(draw, 1 << _READOUT_BITS, (2,))
    plain = Shallow((weight, bias), (readout, np.zeros(2, np.float32)), degree, label)
    pairs = zip(plain.coefficients, plain.exact.first.at(Vector.of(near)).fractions(), strict=True)
    size = sum((abs(c * z**degree) for c, z in pairs), Fraction(0)) / plain.exact.last.denominator
    scale = leading_exponent(size) if size else 0
    return replace(plain, last=(readout, _float32(shares, scale - _READOUT_BITS - 3)))


def line(draw: Generator, inputs: int) -> tuple[Point, Point]:
    """A point within [-1/2, 1/2] and a direction, both on the grid of centres."""
    half = 1 << (CENTRE_BITS - 1)
    start = draw.integers(-half, half, size=inputs, endpoint=True)
    direction = signed(draw, half, (inputs,))
    scale = power(-CENTRE_BITS)
    return tuple(int(a) * scale for a in start), tuple(int(v) * scale for v in direction)


def _sum(first: Point, second: Point) -> Point:
    return tuple(a + b for a, b in zip(first, second, strict=True))


def _float32(integers: Integers, exponent: int) -> NDArray[np.float32]:
    return np.ldexp(integers.astype(np.float64), exponent).astype(np.float32)


def _affine(weight: NDArray[np.float32], bias: NDArray[np.float32]) -> Affine:
    numbers, scale = dyadic_integers(weight)
    offsets, offset_scale = dyadic_integers(bias)
    common = min(scale, offset_scale)
    lifted = [n << (scale - common) for n in numbers]
    return Affine(
        fmpz_mat(*weight.shape, lifted),
        tuple(o << (offset_scale - common) for o in offsets),
        1 << -common,
    )
