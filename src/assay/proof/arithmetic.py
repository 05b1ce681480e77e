"""Exact numbers: float32 words and decimal text become integers over a common denominator."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, lcm

from flint import fmpq, fmpz_mat

from assay.proof.refusals import Rejected as Rejected
from assay.proof.refusals import Unsupported as Unsupported
from assay.proof.work import charge, fit, keep, limbs

_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_RATIONAL = re.compile(r"-?\d{1,4000}(?:/(?=0*[1-9])\d{1,4000})?", re.ASCII)
_LONGEST_DECIMAL = 2000
_LONGEST_DENOMINATOR = 1 << 16


def decimal(text: str) -> Fraction:
    """The rational that a decimal text denotes."""
    if len(text) > _LONGEST_DECIMAL or not _DECIMAL.fullmatch(text):
        raise Rejected(f"{text[:40]!a} is not a decimal number")
    return Fraction(text)


def rational(text: str, place: str) -> Fraction:
    """A rational written as `p/q` or `p`."""
    if len(text) > 8002 or not _RATIONAL.fullmatch(text):
        raise Rejected(f"{place} is not a rational number of reasonable length")
    return Fraction(text)


def float32_vector(raw: bytes, place: str) -> Vector:
    """Little-endian float32 words, exactly.

    A finite word with exponent field e and fraction field f is
    (f + 2^23 [e > 0]) * 2^(max(e, 1) - 150); all words are put over the denominator of the
    smallest exponent that occurs among the words that are not zero.
    """
    fit(len(raw) // 4, 0)
    numbers = struct.unpack(f"<{len(raw) // 4}I", raw)
    heads = {word >> 23 for word in numbers if word & 0x7FFFFFFF}
    exponents = {head: max(head & 255, 1) for head in heads}
    if 255 in exponents.values():
        raise Rejected(f"{place} holds an infinity or a NaN")
    base = min([150, *exponents.values()])
    keep(len(numbers), max(exponents.values(), default=base) - base)
    implicit, scale = [0] * 512, [0] * 512
    for head, exponent in exponents.items():
        implicit[head] = (1 << 23) if head & 255 else 0
        scale[head] = (-1 if head >> 8 else 1) << (exponent - base)
    numerators = [
        ((word & 0x7FFFFF) + implicit[word >> 23]) * scale[word >> 23] for word in numbers
    ]
    return Vector(tuple(numerators), 1 << (150 - base))


def root_above(value: Fraction) -> Fraction:
    """A number just above the square root, off by less than 2^-63 of the denominator's inverse."""
    product = value.numerator * value.denominator
    return Fraction(isqrt(product << 128) + 1, value.denominator << 64)


def is_float32(value: Fraction) -> bool:
    """Whether a rational is exactly a finite float32 number."""
    power = value.denominator.bit_length() - 1
    if value.denominator != 1 << power or power > 149:
        return False
    magnitude = abs(value.numerator)
    odd_bits = magnitude.bit_length() - ((magnitude & -magnitude).bit_length() - 1)
    return magnitude == 0 or (odd_bits <= 24 and magnitude.bit_length() - power <= 128)


def to_flint(value: Fraction) -> fmpq:
    """The same number for flint, which is several times faster where there are many."""
    return fmpq(value.numerator, value.denominator)


def from_flint(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


@dataclass(frozen=True)
class Vector:
    """The rational vector numerators[i] / denominator."""

    numerators: tuple[int, ...]
    denominator: int

    @classmethod
    def of(cls, values: Sequence[Fraction]) -> Vector:
        common = 1
        for value in values:
            common = lcm(common, value.denominator)
            # denominators with no factor in common must not keep the checker busy for hours
            if common.bit_length() > _LONGEST_DENOMINATOR:
                raise Unsupported("the common denominator of some numbers is too long to follow")
            charge(20 * limbs(common.bit_length()))
        fit(len(values), common.bit_length())
        return cls(tuple(v.numerator * (common // v.denominator) for v in values), common)

    def over(self, denominator: int) -> tuple[int, ...]:
        """The numerators over a multiple of the denominator."""
        fit(len(self.numerators), denominator.bit_length())
        charge(len(self.numerators) * (5 + limbs(denominator.bit_length())))
        factor = denominator // self.denominator
        return tuple(n * factor for n in self.numerators)

    def fractions(self) -> list[Fraction]:
        return [Fraction(n, self.denominator) for n in self.numerators]


def column(values: Iterable[int]) -> fmpz_mat:
    numbers = list(values)
    return fmpz_mat(len(numbers), 1, numbers)


def entries(matrix: fmpz_mat) -> list[int]:
    """The entries of an integer matrix in row order."""
    return [int(entry) for entry in matrix.entries()]
