"""Tensors of exact rationals: integer numerators over one common denominator.

One denominator a tensor turns a layer into integer matrix products, which FLINT does fast;
float32 weights are dyadic, so their denominator is a power of two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import fmpz_mat

from assay.question.operators.call import Shape

LONGEST_INTEGER = 2**18
LARGEST_NUMBERS = 2**31
"""Bits in one integer and in all of a tensor; beyond, evaluation is refused, not tried."""


@dataclass(frozen=True, eq=False)
class Rational:
    """numerators / denominator; `numerators` is an object array of Python integers."""

    numerators: np.ndarray
    denominator: int

    def __post_init__(self) -> None:
        # Arithmetic on an object array without dimensions gives a bare integer.
        object.__setattr__(self, "numerators", np.asarray(self.numerators, dtype=object))

    @classmethod
    def from_floats(cls, array: np.ndarray) -> Rational:
        """The exact values of finite float32 numbers."""
        mantissas, exponents = np.frexp(array.astype(np.float64))
        whole = (mantissas * 2.0**24).astype(np.int64)
        lowest = int(exponents.min(initial=0, where=whole != 0)) - 24
        shifts = np.where(whole != 0, exponents - 24 - lowest, 0)
        if int(shifts.max(initial=0)) < 38:
            numerators = (whole << shifts).astype(object)
        else:
            numerators = whole.astype(object) << shifts.astype(object)
        return cls(numerators, 2**-lowest).reduced()

    @classmethod
    def from_fractions(cls, values: Sequence[Fraction], shape: Shape) -> Rational:
        denominator = math.lcm(*(v.denominator for v in values))
        numerators = [v.numerator * (denominator // v.denominator) for v in values]
        return cls(as_objects(numerators).reshape(shape), denominator)

    def fractions(self) -> list[Fraction]:
        return [Fraction(n, self.denominator) for n in self.numerators.ravel().tolist()]

    @property
    def shape(self) -> Shape:
        return self.numerators.shape

    @cached_property
    def bits(self) -> int:
        """The length of the longest integer held."""
        integers: list[int] = [self.denominator, *self.numerators.ravel().tolist()]
        return max(n.bit_length() for n in integers)

    @cached_property
    def matrix(self) -> fmpz_mat:
        """The numerators of a matrix; kept, because weights are used again and again."""
        rows, columns = self.shape
        return fmpz_mat(rows, columns, self.numerators.ravel().tolist())

    def over(self, denominator: int) -> np.ndarray:
        """The numerators over a multiple of the own denominator."""
        return self.like(self.numerators * (denominator // self.denominator)).numerators

    def times(self, factor: Fraction) -> Rational:
        if factor == 1:
            return self
        return Rational(self.numerators * factor.numerator, self.denominator * factor.denominator)

    def reduced(self) -> Rational:
        """The same values without a common power of two, which layers would pile up."""
        joined = self.denominator
        for n in self.numerators.ravel().tolist():
            joined |= n
        shift = (joined & -joined).bit_length() - 1
        if shift == 0:
            return self
        return Rational(self.numerators >> shift, self.denominator >> shift)

    def like(self, numerators: np.ndarray) -> Rational:
        """Other numerators over the same denominator."""
        return Rational(numerators, self.denominator)


def aligned(*tensors: Rational) -> tuple[list[np.ndarray], int]:
    """The numerators of all tensors over their least common denominator."""
    denominator = math.lcm(*(t.denominator for t in tensors))
    return [t.over(denominator) for t in tensors], denominator


def manageable(bits: int, count: int) -> bool:
    """Whether `count` integers of `bits` bits stay within the limits."""
    return bits <= LONGEST_INTEGER and bits * count <= LARGEST_NUMBERS


def as_objects(values: Sequence[int]) -> np.ndarray:
    """A flat object array; numpy would otherwise turn short integers into int64, which wraps."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def product(a: Rational, b: Rational) -> Rational:
    """Matrix product with numpy's rules for vectors and stacks of matrices."""
    left = a.like(a.numerators[np.newaxis, :]) if len(a.shape) == 1 else a
    right = b.like(b.numerators[:, np.newaxis]) if len(b.shape) == 1 else b
    if len(left.shape) == len(right.shape) == 2:
        numerators = entries(left.matrix * right.matrix)
    else:
        numerators = _stacked(left, right)
    if len(a.shape) == 1:
        numerators = numerators[..., 0, :]
    if len(b.shape) == 1:
        numerators = numerators[..., 0]
    return Rational(numerators, a.denominator * b.denominator)


def entries(matrix: fmpz_mat) -> np.ndarray:
    return as_objects([int(n) for n in matrix.entries()]).reshape(matrix.nrows(), matrix.ncols())


def _stacked(left: Rational, right: Rational) -> np.ndarray:
    stack = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    lefts = np.broadcast_to(left.numerators, (*stack, *left.shape[-2:]))
    rights = np.broadcast_to(right.numerators, (*stack, *right.shape[-2:]))
    result = np.empty((*stack, left.shape[-2], right.shape[-1]), dtype=object)
    for index in np.ndindex(*stack):
        one, other = Rational(lefts[index], 1), Rational(rights[index], 1)
        result[index] = entries(one.matrix * other.matrix)
    return result
