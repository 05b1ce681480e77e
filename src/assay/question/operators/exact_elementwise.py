"""Exact operators that work number by number, with broadcasting."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from assay.errors import BadInput, Unsupported
from assay.question.operators.call import Call, Operator
from assay.question.operators.rational import Rational, aligned, as_objects, manageable
from assay.question.operators.selection import refuse_training


def add(call: Call[Rational]) -> Rational:
    (a, b), denominator = aligned(call.value(0), call.value(1))
    return Rational(a + b, denominator)


def sub(call: Call[Rational]) -> Rational:
    (a, b), denominator = aligned(call.value(0), call.value(1))
    return Rational(a - b, denominator)


def mul(call: Call[Rational]) -> Rational:
    a, b = call.value(0), call.value(1)
    return Rational(a.numerators * b.numerators, a.denominator * b.denominator)


def div(call: Call[Rational]) -> Rational:
    a, inverse = call.value(0), _inverse(call, call.value(1))
    return Rational(a.numerators * inverse.numerators, a.denominator * inverse.denominator)


def reciprocal(call: Call[Rational]) -> Rational:
    return _inverse(call, call.value(0))


def neg(call: Call[Rational]) -> Rational:
    x = call.value(0)
    return x.like(-x.numerators)


def absolute(call: Call[Rational]) -> Rational:
    x = call.value(0)
    return x.like(abs(x.numerators))


def relu(call: Call[Rational]) -> Rational:
    x = call.value(0)
    return x.like(np.maximum(x.numerators, 0))


def leaky_relu(call: Call[Rational]) -> Rational:
    slope = Fraction(float(np.float32(call.attribute("alpha", 0.01))))
    x = call.value(0)
    return _bent(x, Rational.from_fractions([slope], ()))


def prelu(call: Call[Rational]) -> Rational:
    return _bent(call.value(0), call.value(1))


def power(call: Call[Rational]) -> Rational:
    """base ** exponent for constant nonnegative integer exponents."""
    base, exponents = call.value(0), call.constant(1)
    flat = exponents.ravel().tolist()
    if any(e < 0 or e != int(e) for e in flat):
        raise Unsupported(f"{call.place} is not supported: its exponent is no natural number")
    highest = max(int(e) for e in flat)
    if not manageable(highest * base.bits, math.prod(call.output_shape())):
        raise Unsupported(f"{call.place} is not supported: its exponent {highest} is too large")
    powers = as_objects([int(e) for e in flat]).reshape(exponents.shape)
    numerators = base.numerators**powers * base.denominator ** (highest - powers)
    return Rational(numerators, base.denominator**highest)


def total(call: Call[Rational]) -> Rational:
    terms, denominator = aligned(*call.values())
    return Rational(reduce(np.add, terms), denominator)


def mean(call: Call[Rational]) -> Rational:
    return total(call).times(Fraction(1, len(call.node.inputs)))


def maximum(call: Call[Rational]) -> Rational:
    terms, denominator = aligned(*call.values())
    return Rational(reduce(np.maximum, terms), denominator)


def minimum(call: Call[Rational]) -> Rational:
    terms, denominator = aligned(*call.values())
    return Rational(reduce(np.minimum, terms), denominator)


def clip(call: Call[Rational]) -> Rational:
    x = call.value(0)
    for index, label, bound in ((1, "min", np.maximum), (2, "max", np.minimum)):
        x = _bounded(x, _clip_bound(call, index, label), bound)
    return x


def batch_normalization(call: Call[Rational]) -> Rational:
    refuse_training(call)
    x = call.value(0)
    scale, bias, centre, variance = (call.value(i) for i in range(1, 5))
    epsilon = Fraction(float(np.float32(call.attribute("epsilon", 1e-5))))
    roots = [_root(call, v + epsilon) for v in variance.fractions()]
    slopes = [s / r for s, r in zip(scale.fractions(), roots, strict=True)]
    shifts = [
        b - m * s for b, m, s in zip(bias.fractions(), centre.fractions(), slopes, strict=True)
    ]
    per_channel = (-1, *(1,) * (len(x.shape) - 2))
    slope = Rational.from_fractions(slopes, (len(slopes),))
    shift = Rational.from_fractions(shifts, (len(shifts),))
    scaled = Rational(
        x.numerators * slope.numerators.reshape(per_channel), x.denominator * slope.denominator
    )
    (a, b), denominator = aligned(scaled, shift.like(shift.numerators.reshape(per_channel)))
    return Rational(a + b, denominator)


def _bent(x: Rational, slope: Rational) -> Rational:
    """x where positive, slope * x elsewhere."""
    positive = np.maximum(x.numerators, 0) * slope.denominator
    negative = np.minimum(x.numerators, 0) * slope.numerators
    return Rational(positive + negative, x.denominator * slope.denominator)


def _inverse(call: Call[Rational], x: Rational) -> Rational:
    flat = x.numerators.ravel().tolist()
    if 0 in flat:
        raise BadInput(f"{call.place} divides by zero at this point; evaluate another point")
    common = 1
    for n in set(flat):
        common = math.lcm(common, n)
        if not manageable(common.bit_length(), len(flat)):
            raise Unsupported(f"{call.place} is not supported: its denominators are too many")
    numerators = as_objects([common // n * x.denominator for n in flat])
    return Rational(numerators.reshape(x.shape), common)


def _clip_bound(call: Call[Rational], index: int, label: str) -> Rational | None:
    if label in call.node.attributes:
        return Rational.from_floats(np.asarray(call.attribute(label, 0.0), np.float32))
    bound = call.optional(index)
    if bound is not None and bound.numerators.size != 1:
        raise BadInput(f"{call.place} takes single numbers as bounds; fix input {index}")
    return None if bound is None else bound.like(bound.numerators.reshape(()))


def _bounded(x: Rational, bound: Rational | None, choose: Callable[..., Any]) -> Rational:
    if bound is None:
        return x
    (a, b), denominator = aligned(x, bound)
    return Rational(choose(a, b), denominator)


def _root(call: Call[Rational], square: Fraction) -> Fraction:
    if square > 0:
        root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
        if root * root == square:
            return root
    raise Unsupported(
        f"{call.place} needs ball arithmetic: its variance plus epsilon has no rational root"
    )


ELEMENTWISE: dict[str, Operator[Rational]] = {
    "Abs": absolute,
    "Add": add,
    "BatchNormalization": batch_normalization,
    "Clip": clip,
    "Div": div,
    "LeakyRelu": leaky_relu,
    "Max": maximum,
    "Mean": mean,
    "Min": minimum,
    "Mul": mul,
    "Neg": neg,
    "PRelu": prelu,
    "Pow": power,
    "Reciprocal": reciprocal,
    "Relu": relu,
    "Sub": sub,
    "Sum": total,
}
