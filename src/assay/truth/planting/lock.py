"""A lock of parities: steep ramps make bits of the inputs, and the bump needs all parities right.

Bit i is z = relu(t) - relu(t - 1) of t = (x_i - start) / ramp; its distance from 0 and 1 is
relu(t) - 2 relu(t - 1/2) + relu(t - 1). A parity of three bits, some of them turned over, is a
zigzag of their sum. F = top - defects - 2 * (parities of bit i) * distance of bit i, so that no
half-way bits can stand in for a solution. The parities have one solution; the twin turns one of
them over that follows from the others, and has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.random import Generator

from assay.errors import CannotCertify
from assay.truth.dyadic import leading_exponent, nearest, power
from assay.truth.planting.hull import Slabs
from assay.truth.planting.placement import GRID, Site
from assay.truth.planting.plant import Heights, Layers, Plant

_HIGHEST_TOP = Fraction(3, 4)
_CHARGE = 2
"""What half-way bits are charged, over the number of their parities; 1 would do for the proof."""
_RAMP_SHARE = Fraction(1, 48)
"""Ramps together are so steep that the violating share is enclosed within half of its square."""
_LONGEST_RAMP = Fraction(1, 32)


@dataclass(frozen=True)
class Parity:
    """Three bits, which of them are turned over, and whether their sum is to be odd."""

    bits: tuple[int, ...]
    turned: tuple[bool, ...]
    odd: bool


@dataclass(frozen=True)
class Bits:
    """Ramps that begin at `starts`; free inputs have none. `planted` opens the lock."""

    inputs: tuple[int, ...]
    starts: tuple[Fraction, ...]
    ramp: Fraction
    planted: tuple[int, ...]


def xor_lock(draw: Generator, site: Site, parities: int) -> Plant:
    count = min(len(site.middle), parities - 1)
    inputs = sorted(int(i) for i in draw.permutation(len(site.middle))[:count])
    triples, spare = _system(draw, count, parities)
    chosen = Heights.with_top(site.constant, site.excess, _HIGHEST_TOP)
    sides = _sides(draw, site, count)
    bits = _bits(draw, site, inputs, sides, _ramp(sides, triples, chosen.level))
    system = [_planted(draw, triple, bits.planted) for triple in triples]
    turned = list(system)
    turned[spare] = Parity(system[spare].bits, system[spare].turned, not system[spare].odd)
    ramps = _ramps(bits, len(site.middle))
    violated, robust = (_layers(ramps, s, count, chosen.top) for s in (system, turned))
    return Plant(violated, robust, chosen, _witness(draw, site, bits), _hull(site, bits))


def _sides(draw: Generator, site: Site, count: int) -> list[Fraction]:
    """How long the planted side of each bit is; of one bit at least it misses the middle."""
    special = int(draw.integers(count))
    sides = []
    for number, step in enumerate(draw.integers(-8, 9, count)):
        share = 1 + Fraction(int(step), 64)
        if site.placement == "past_middle" or number == special:
            share = 1 - Fraction(3, 64)
        if site.placement == "corner" or (site.placement == "face" and number == special):
            share = site.width
        sides.append(nearest(site.epsilon * share, GRID))
    return sides


def _ramp(
    sides: Sequence[Fraction], triples: Sequence[tuple[int, ...]], level: Fraction
) -> Fraction:
    """The longest ramp, a power of two, that keeps half-way bits rare among violations."""
    rate = Fraction(0)
    for number, side in enumerate(sides):
        parities = sum(number in triple for triple in triples)
        rate += level / (_CHARGE * parities * side)
    longest = min(_RAMP_SHARE / rate, _LONGEST_RAMP * max(sides))
    ramp = power(leading_exponent(longest))
    if ramp < 4 * power(GRID):
        raise CannotCertify(
            "planted: the ramps of the lock are finer than its grid; raise epsilon or width"
        )
    return ramp


def _bits(
    draw: Generator,
    site: Site,
    inputs: Sequence[int],
    sides: Sequence[Fraction],
    ramp: Fraction,
) -> Bits:
    """The planted side reaches from a face of the box to its ramp."""
    planted = tuple(int(b) for b in draw.integers(0, 2, len(inputs)))
    starts = tuple(
        site.middle[i] + (site.epsilon - side - ramp if bit else side - site.epsilon)
        for i, side, bit in zip(inputs, sides, planted, strict=True)
    )
    return Bits(tuple(inputs), starts, ramp, planted)


def _system(draw: Generator, count: int, parities: int) -> tuple[list[tuple[int, ...]], int]:
    """Different triples of full rank, and the place of one that follows from the others."""
    chosen: list[tuple[int, ...]] = []
    basis: dict[int, int] = {}
    while len(chosen) < parities:
        triple = tuple(sorted(int(b) for b in draw.permutation(count)[:3]))
        row = sum(1 << b for b in triple)
        while row and row.bit_length() in basis:
            row ^= basis[row.bit_length()]
        if triple in chosen or (not row and len(basis) < count):
            continue
        if row:
            basis[row.bit_length()] = row
        chosen.append(triple)
    # the last one was drawn after the rank was full
    order = [int(i) for i in draw.permutation(parities)]
    return [chosen[i] for i in order], order.index(parities - 1)


def _planted(draw: Generator, triple: tuple[int, ...], planted: Sequence[int]) -> Parity:
    turned = tuple(bool(t) for t in draw.integers(0, 2, 3))
    total = sum(planted[b] ^ t for b, t in zip(triple, turned, strict=True))
    return Parity(triple, turned, total % 2 == 1)


def _ramps(bits: Bits, inputs: int) -> tuple[np.ndarray, np.ndarray]:
    """relu(t), relu(t - 1/2), relu(t - 1) for every bit."""
    slope = 1 / bits.ramp
    weight = np.zeros((3 * len(bits.inputs), inputs))
    bias = np.zeros(3 * len(bits.inputs))
    for number, (i, start) in enumerate(zip(bits.inputs, bits.starts, strict=True)):
        for unit, shift in enumerate((Fraction(0), Fraction(1, 2), Fraction(1))):
            weight[3 * number + unit, i] = float(slope)
            bias[3 * number + unit] = -float(slope * start + shift)
    return weight, bias


def _layers(
    ramps: tuple[np.ndarray, np.ndarray], system: Sequence[Parity], count: int, top: Fraction
) -> Layers:
    """Ramps; two kinks a parity and one sum a bit; the bump."""
    slopes, degrees = np.zeros(count), np.zeros(count)
    weight, bias, bump = [], [], []
    constant = float(top)
    for parity in system:
        row, turned = np.zeros(3 * count), sum(parity.turned)
        sign = -1 if parity.odd else 1
        for b, t in zip(parity.bits, parity.turned, strict=True):
            row[[3 * b, 3 * b + 2]] = (-1, 1) if t else (1, -1)
            slopes[b] -= sign * (-1 if t else 1)
            degrees[b] += 1
        weight += [row, row]
        bias += [turned - 1, turned - 2]
        bump += [2 * sign, -2 * sign]
        constant -= sign * turned + (1 if parity.odd else 0)
    for b in range(count):
        row, charge = np.zeros(3 * count), _CHARGE * degrees[b]
        row[3 * b : 3 * b + 3] = (slopes[b] - charge, 2 * charge, -slopes[b] - charge)
        # the least that slope * bit - charge * distance can be
        shift = abs(slopes[b]) + charge
        weight.append(row)
        bias.append(shift)
        bump.append(1)
        constant -= shift
    last = np.array([bump], np.float64), np.array([constant])
    return ramps, (np.array(weight), np.array(bias, np.float64)), last


def _witness(draw: Generator, site: Site, bits: Bits) -> tuple[Fraction, ...]:
    """The middle of the planted side of every bit; anything for inputs without one."""
    middle, epsilon = site.middle, site.epsilon
    steps = draw.integers(-60, 61, len(middle))
    point = [nearest(m + epsilon * int(s) / 64, GRID) for m, s in zip(middle, steps, strict=True)]
    for i, start, bit in zip(bits.inputs, bits.starts, bits.planted, strict=True):
        face = middle[i] + epsilon if bit else middle[i] - epsilon
        edge = start + bits.ramp if bit else start
        point[i] = nearest((face + edge) / 2, GRID)
    return tuple(point)


def _hull(site: Site, bits: Bits) -> Slabs:
    """The planted side of every bit, with its ramp: the parities have one solution only."""
    ends = [[m - site.epsilon, m + site.epsilon] for m in site.middle]
    for i, start, bit in zip(bits.inputs, bits.starts, bits.planted, strict=True):
        ends[i][1 - bit] = start if bit else start + bits.ramp
    lower, upper = zip(*ends, strict=True)
    return Slabs.around(np.eye(len(ends)), lower, upper)
